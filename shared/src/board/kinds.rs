//! Kinds of events that more than one room knows.

/// A session was made for a task.
pub const SPAWNED: &str = "coord.spawned";
/// Something was said to a session.
pub const MESSAGED: &str = "coord.messaged";
/// A session told its coordinator something.
pub const NOTIFIED: &str = "coord.notified";
/// A session was stopped, or found dead when it was to be stopped.
pub const ABORTED: &str = "coord.aborted";
/// An anomaly of a session was found, or ended.
pub const DETECTION: &str = "coord.detection";

/// Event kinds that are noise: they repeat on every tick and never mean that a task was touched.
pub const NOISE: [&str; 4] = ["heartbeat", "claim_extended", "respawn_guarded", "reclaim_deferred"];

/// Event kinds with which work changes hands or stops, what watchers say of providers, and which session works on what.
pub const TURNS: [&str; 11] = [
    "assigned",
    "unblocked",
    "scheduled",
    "created",
    "linked",
    "blocked",
    "gave_up",
    "watchbill_signal",
    UNDONE,
    SPAWNED,
    ABORTED,
];

/// What says that a change was undone by hand.
pub const UNDONE: &str = "watchbill_undone";

/// Event kinds that say what happened to sessions.
pub const COORD: [&str; 5] = [SPAWNED, MESSAGED, NOTIFIED, ABORTED, DETECTION];
