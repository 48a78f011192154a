//! The kinds of events in a task's history, and the groups of them that more than one module asks for.

use base::open_enum;

open_enum! {
    /// What an event says. The names without a prefix are those of Hermes 0.13 to 0.22 (`hermes_cli/kanban_db.py`).
    EventKind {
        /// The worker of a task that was put away was told to end.
        ArchivedWorkerEnded = "archive_worker_termination",
        /// The task was put away.
        Archived = "archived",
        /// The task was given to a profile, or to nobody.
        Assigned = "assigned",
        /// A file was attached.
        Attached = "attached",
        /// A file was taken off.
        AttachmentRemoved = "attachment_removed",
        /// Hermes sent the task to triage, because it was blocked for the same reason too often.
        BlockLoopDetected = "block_loop_detected",
        /// A worker or a person stopped the task.
        Blocked = "blocked",
        /// A reviewer sent the work back.
        ChangesRequested = "changes_requested",
        /// The dispatcher prolonged a claim, because the worker lives.
        ClaimExtended = "claim_extended",
        /// An attempt began.
        Claimed = "claimed",
        /// A comment was written.
        Commented = "commented",
        /// The task is finished.
        Completed = "completed",
        /// Hermes refused a completion that names cards which do not exist.
        CompletionBlockedHallucination = "completion_blocked_hallucination",
        /// A worker was found dead.
        Crashed = "crashed",
        /// The task was made.
        Created = "created",
        /// The folder of the task was not removed, because another task may use it.
        CleanupDeferred = "workspace_cleanup_deferred_shared",
        /// The task was split into others.
        Decomposed = "decomposed",
        /// The task waits for its parents again.
        DependencyWait = "dependency_wait",
        /// Title, body or result was changed.
        Edited = "edited",
        /// Hermes' failure breaker blocked the task.
        GaveUp = "gave_up",
        /// A worker said that it lives.
        Heartbeat = "heartbeat",
        /// The task got a parent.
        Linked = "linked",
        /// The dispatcher freed a task whose parents are done.
        Promoted = "promoted",
        /// A person freed a task before its parents were done.
        PromotedManual = "promoted_manual",
        /// A worker ended well without saying that its task is done or blocked.
        ProtocolViolation = "protocol_violation",
        /// A worker ended because its provider limits it.
        RateLimited = "rate_limited",
        /// The dispatcher did not release a claim yet.
        ReclaimDeferred = "reclaim_deferred",
        /// A claim was released, and its task requeued.
        Reclaimed = "reclaimed",
        /// The priority was changed.
        Reprioritized = "reprioritized",
        /// The dispatcher did not start a worker, because the last failure looks as if it would repeat.
        RespawnGuarded = "respawn_guarded",
        /// Hermes told for the first time what a scratch folder is.
        ScratchTold = "tip_scratch_workspace",
        /// The task was held.
        Scheduled = "scheduled",
        /// A worker was started.
        Spawned = "spawned",
        /// A worker could not be started.
        SpawnFailed = "spawn_failed",
        /// The dispatcher did not start a worker, because it knows no such profile.
        SkippedNonspawnable = "skipped_nonspawnable",
        /// The task got its specification.
        Specified = "specified",
        /// A claim ran out.
        Stale = "stale",
        /// The state was set by hand, on the dashboard.
        Status = "status",
        /// A summary names tasks that do not exist.
        SuspectedReferences = "suspected_hallucinated_references",
        /// The dispatcher ended a worker whose attempt was over.
        TerminalWorkerReaped = "terminal_worker_reaped",
        /// An attempt took longer than its task allows.
        TimedOut = "timed_out",
        /// The task's own model and provider were set, or taken off.
        ModelOverrideSet = "model_override_set",
        /// The task was freed from a block or a hold.
        Unblocked = "unblocked",
        /// The task lost a parent.
        Unlinked = "unlinked",
        /// Checks of the work ran.
        Verification = "verification",
        /// A worker noted its process.
        WorkerRegistered = "worker_registered",

        /// A session was stopped, or was found dead when it was to be stopped.
        SessionAborted = "coord.aborted",
        /// An anomaly of a session was found, or ended.
        SessionDetection = "coord.detection",
        /// A session was sent a message.
        SessionMessaged = "coord.messaged",
        /// A session told its coordinator something.
        SessionNotified = "coord.notified",
        /// A session was made for a task.
        SessionSpawned = "coord.spawned",

        /// `route-blocked` noted what an orchestrator decided.
        DecisionNoted = "watchbill_decided",
        /// A watcher noted what it found, once.
        Detected = "watchbill_detected",
        /// `board run` noted how its command ended.
        CommandEnded = "watchbill_ended",
        /// A watcher asked for a card, for an operator or for an orchestrator.
        Escalated = "watchbill_escalated",
        /// `heal` cleared a failure text at which Hermes' respawn guard refuses for ever.
        GuardCleared = "watchbill_guard_cleared",
        /// `heal` cleared a heartbeat that an earlier attempt left.
        HeartbeatCleared = "watchbill_heartbeat_cleared",
        /// A packet for the next attempt was recorded.
        PacketRecorded = "watchbill_packet",
        /// What a worker or a watcher says of a provider.
        Signal = "watchbill_signal",
        /// `route-blocked` noted that a card has no usable decision.
        Unanswered = "watchbill_unanswered",
        /// An operator undid a step of a watcher.
        Undone = "watchbill_undone",
    }
}

impl EventKind {
    /// The words of a list of kinds, as SQL has them.
    pub fn quoted(kinds: &[EventKind]) -> String {
        kinds.iter().map(|kind| format!("'{kind}'")).collect::<Vec<_>>().join(", ")
    }

    /// Kinds that repeat on every tick and never mean that a task was touched.
    pub const NOISE: &'static [EventKind] = &[
        EventKind::Heartbeat,
        EventKind::ClaimExtended,
        EventKind::RespawnGuarded,
        EventKind::ReclaimDeferred,
    ];

    /// Whether it tells what is written around the work, or what became of what an ended attempt left: nothing happened to the work itself.
    pub fn is_aside(&self) -> bool {
        matches!(
            self,
            EventKind::Commented
                | EventKind::Edited
                | EventKind::Reprioritized
                | EventKind::Linked
                | EventKind::Unlinked
                | EventKind::Attached
                | EventKind::AttachmentRemoved
                | EventKind::ArchivedWorkerEnded
                | EventKind::CleanupDeferred
                | EventKind::ScratchTold
                | EventKind::SkippedNonspawnable
                | EventKind::SuspectedReferences
                | EventKind::TerminalWorkerReaped
        )
    }

    /// Kinds with which work gets another worker or stops, what watchers say of providers, and which session works on what.
    pub const TURNS: &'static [EventKind] = &[
        EventKind::Assigned,
        EventKind::Unblocked,
        EventKind::Scheduled,
        EventKind::Created,
        EventKind::Linked,
        EventKind::Blocked,
        EventKind::GaveUp,
        EventKind::Signal,
        EventKind::Undone,
        EventKind::ModelOverrideSet,
        EventKind::SessionSpawned,
        EventKind::SessionAborted,
    ];

    /// Kinds that say what happened to sessions.
    pub const SESSION: &'static [EventKind] = &[
        EventKind::SessionSpawned,
        EventKind::SessionMessaged,
        EventKind::SessionNotified,
        EventKind::SessionAborted,
        EventKind::SessionDetection,
    ];
}
