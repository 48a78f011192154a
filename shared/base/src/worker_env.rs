//! The variables that tell a worker what it works on.

/// Names of variables. Hermes opens a file of the name that stands in its own ones, so that a worker of a board without a file has
/// others.
#[derive(Debug, PartialEq, Eq)]
pub struct Names {
    /// Of the task.
    pub task: &'static str,
    /// Of the run.
    pub run: &'static str,
    /// Of the board: its file, or its address.
    pub db: &'static str,
    /// Of the folder that the task is worked on in.
    pub workspace: &'static str,
    /// Of the profile.
    pub profile: &'static str,
}

/// What the names of Hermes for its board begin with.
pub const HERMES_BOARD: &str = "HERMES_KANBAN_";

/// Hermes' own.
pub const HERMES: Names = Names {
    task: "HERMES_KANBAN_TASK",
    run: "HERMES_KANBAN_RUN_ID",
    db: "HERMES_KANBAN_DB",
    workspace: "HERMES_KANBAN_WORKSPACE",
    profile: "HERMES_PROFILE",
};

/// Ours, on a board that several hosts share.
pub const SHARED: Names = Names {
    task: "WATCHBILL_TASK",
    run: "WATCHBILL_RUN",
    db: "WATCHBILL_DB",
    workspace: "WATCHBILL_WORKSPACE",
    profile: "WATCHBILL_PROFILE",
};

/// The task, a space, and what its claim is held by; on every board.
pub const CLAIM: &str = "WATCHBILL_CLAIM";

/// What tells a worker its own attempt. A harness that it starts for another task is not told that.
pub const ATTEMPT: [&str; 7] =
    [HERMES.task, HERMES.run, HERMES.workspace, SHARED.task, SHARED.run, SHARED.workspace, CLAIM];

/// Set for a harness that a worker started. It works for another task, and is not stopped with that worker.
pub const HARNESS: &str = "WATCHBILL_HARNESS";
