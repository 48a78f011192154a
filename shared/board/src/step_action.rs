//! What watchers do, and the rules by which they do it: the words of reports, plans, events and metrics.

use base::open_enum;

open_enum! {
    /// What a step does to its task.
    StepAction {
        /// An orchestrator is asked once more.
        AskAgain = "ask-again",
        /// A task is blocked for a person.
        Block = "block",
        /// A card is written.
        Card = "card",
        /// A card is written, and its task waits for it.
        CardAndPark = "card+park",
        /// What keeps Hermes from starting a worker is cleared.
        Clear = "clear",
        /// A card is closed.
        CloseCard = "close-card",
        /// A comment is written.
        Comment = "comment",
        /// A card or a person is asked for.
        Escalate = "escalate",
        /// A hold is made longer.
        Extend = "extend",
        /// An unassigned task is given to a profile.
        Give = "give",
        /// A person has to decide.
        HandOver = "hand-over",
        /// A task joins the card of an incident.
        Join = "join",
        /// A task is made to wait for a card.
        Link = "link",
        /// A second card about the same thing is closed.
        MergeCard = "merge-card",
        /// Work goes to another provider.
        Move = "move",
        /// A card gets the form that Hermes and orchestrators expect.
        Normalise = "normalise",
        /// Something is noted in the history, and nothing is changed.
        Note = "note",
        /// The decision on a card is noted.
        NoteDecision = "note-decision",
        /// A task waits: for a card, or until a time.
        Park = "park",
        /// A card waits for another one.
        ParkCard = "park-card",
        /// One task tries a provider, before the others go on.
        Probe = "probe",
        /// A task whose parents are done is freed.
        Promote = "promote",
        /// A card waits for its turn.
        QueueCard = "queue-card",
        /// A claim or a hold ends.
        Release = "release",
        /// A card that waited for its turn is freed.
        ReleaseCard = "release-card",
        /// A task whose worker is gone is ready again.
        Requeue = "requeue",
        /// A task that Hermes gave up is ready again.
        Reset = "reset",
        /// A session goes on with its task.
        Resume = "resume",
        /// A task is split into several, as its card says.
        Split = "split",
        /// Another orchestrator gets a card.
        StandIn = "stand-in",
        /// A session of a runaway worker is stopped.
        Stop = "stop",
        /// A person is told.
        Tell = "tell",
        /// An operator undoes a step.
        Undo = "undo",
    }
}

open_enum! {
    /// The rule that a step follows. A rule about a health check carries the check's name behind a colon.
    Rule {
        /// The agent of a living worker asked a person.
        AskingWorker = "asking-worker",
        /// A worker stopped its task with a card of its own, by `board block`.
        ByHand = "by-hand",
        /// Hermes sent the task to triage, because it was blocked for the same reason too often.
        BlockLoop = "block-loop",
        /// The same calls again and again.
        Churning = "churning",
        /// A task died too often, for causes that no reset mends.
        CrashLoop = "crash-loop",
        /// The worker said that its claim is dead.
        DeadWorker = "dead-worker",
        /// An orchestrator decided.
        Decision = "decision",
        /// An attempt died of what its provider answered.
        DiedOfIt = "died-of-it",
        /// The dispatcher was started again, and its workers went with it.
        DispatcherRestart = "dispatcher-restart",
        /// Another watcher asked for a card.
        Escalated = "escalated",
        /// A worker ended by itself, and the dispatcher booked nothing.
        ExitedWorker = "exited-worker",
        /// Another provider takes the work.
        Fallback = "fallback",
        /// Hermes' failure breaker blocked the task.
        GaveUp = "gave-up",
        /// A goal-mode worker used up its turns.
        GoalMode = "goal-mode",
        /// Hermes' respawn guard refuses for ever.
        GuardJam = "guard-jam",
        /// A person set how often the task may be tried.
        HandLimit = "hand-limit",
        /// Another watcher left the task to a person.
        HandedOver = "handed-over",
        /// The measure of health that a check found wrong.
        Health = "health",
        /// A hold is over.
        HoldOver = "hold-over",
        /// The host that worked on the task is gone.
        HostGone = "host-gone",
        /// The machine refuses to start workers.
        HostRefuses = "host-refuses",
        /// Many tasks stopped for one cause.
        Incident = "incident",
        /// A heartbeat of an earlier attempt makes Hermes believe that a task lives.
        InheritedHeartbeat = "inherited-heartbeat",
        /// A row holds a claim that no attempt has.
        LeakedClaim = "leaked-claim",
        /// The worker's log cannot be read.
        LogUnreadable = "log-unreadable",
        /// The task went on by itself.
        MovedOn = "moved-on",
        /// Nobody but a person can go on.
        NeedsAPerson = "needs-a-person",
        /// The task needs a person (`budget-check`).
        NeedsPerson = "needs_a_person",
        /// A card ended without a decision that can be read.
        NoDecision = "no-decision",
        /// No orchestrator is left that could answer.
        NoOrchestrator = "no-orchestrator",
        /// No process was recorded for the attempt.
        NoPid = "no-pid",
        /// A card has not the form that Hermes and orchestrators expect.
        Normalise = "normalise",
        /// Something that a person should know, once.
        Notice = "notice",
        /// A worker of an earlier attempt still runs.
        OlderWorker = "older-worker",
        /// The task has an open card.
        OpenCard = "open-card",
        /// A row points at an attempt that is not there.
        OrphanRow = "orphan-row",
        /// Files outside the task's scope were changed.
        OutOfScope = "out_of_scope",
        /// More was used than the task may use.
        OverBudget = "over_budget",
        /// More money was used than the task may use.
        OverCost = "over_cost",
        /// More turns were used than the task may use.
        OverIterations = "over_iterations",
        /// More time was used than the task may use.
        OverTime = "over_time",
        /// Another watcher holds the task.
        Parked = "parked",
        /// One task tries a provider, before the others go on.
        Probe = "probe",
        /// The provider failed too often to be tried again.
        ProviderGivenUp = "provider-given-up",
        /// The provider takes no work until a time.
        ProviderHold = "provider-hold",
        /// Cards wait for their turn.
        Queue = "queue",
        /// The recorded process id belongs to another process now.
        RecycledPid = "recycled-pid",
        /// A living worker is refused again and again.
        Repeated = "repeated",
        /// The task was resumed as often as is allowed.
        ResumeCap = "resume-cap",
        /// A second card about the same thing.
        SecondCard = "second-card",
        /// A session is stuck.
        Session = "session",
        /// A session's server was started again, and no longer works on it.
        SessionOrphaned = "session-orphaned",
        /// Nothing was heard of a living worker for hours.
        SilentWorker = "silent-worker",
        /// A signal stopped a living worker.
        StoppedWorker = "stopped-worker",
        /// What a card asked is settled.
        Settled = "settled",
        /// Another orchestrator takes the card.
        StandIn = "stand-in",
        /// No progress is made.
        StuckProgress = "stuck_progress",
        /// More files were changed than the task may change.
        TooManyFiles = "too_many_files",
        /// The working tree was changed since the attempt ended.
        TreeDrift = "tree-drift",
        /// A task is blocked, and no event says why.
        UnexplainedBlock = "unexplained-block",
        /// A task whose parents are done was not freed.
        Unpromoted = "unpromoted",
        /// A worker stopped its task.
        WorkerBlock = "worker-block",
        /// The worker is gone.
        WorkerGone = "worker-gone",
    }
}

open_enum! {
    /// Why a watcher or a worker handed a task to a person: the `cause` of the block that it wrote.
    HandOver {
        /// A card was stopped, and no card asks about a card.
        CardBlocked = "card-blocked",
        /// The attempts at its card failed.
        CardFailed = "card-failed",
        /// No orchestrator claimed its card.
        CardUnclaimed = "card-unclaimed",
        /// The cards that it may have are used up.
        CardsUsedUp = "cards-used-up",
        /// Its holds are used up.
        HoldCap = "hold-cap",
        /// The claim on the board that lent it is lost.
        LeaseLost = "lease-lost",
        /// The log of its worker cannot be read.
        LogUnreadable = "log-unreadable",
        /// Its card ended without a decision that can be read.
        NoDecision = "no-decision",
        /// No orchestrator works.
        NoOrchestrator = "no-orchestrator",
        /// The orchestrator decided so.
        Orchestrator = "orchestrator",
        /// Its provider failed too often to be tried again.
        ProviderGivenUp = "provider-given-up",
        /// It was resumed as often as is allowed.
        ResumeCap = "resume-cap",
        /// Its working tree was changed since the attempt ended.
        TreeDrift = "tree-drift",
        /// It was blocked, and no event says why.
        UnexplainedBlock = "unexplained-block",
    }
}

impl HandOver {
    /// Whether the person now has to answer what a card asked.
    pub fn leaves_a_question(&self) -> bool {
        use HandOver::{CardFailed, CardUnclaimed, NoDecision, NoOrchestrator, Orchestrator};
        matches!(self, CardFailed | CardUnclaimed | NoDecision | NoOrchestrator | Orchestrator)
    }
}

impl Rule {
    /// The rule without what it carries behind a colon: `health` of `health:stalled`.
    pub fn rule(&self) -> Rule {
        match self.as_str().split_once(':') {
            Some((rule, _)) => Rule::from(rule),
            None => self.clone(),
        }
    }
}
