//! Every test that runs the real programs, in one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::print_stdout)]
#![allow(unreachable_pub, missing_docs, reason = "a test's name is its documentation")]

mod support; // a board in a temporary folder, the programs run against it, and facts back out

#[cfg(feature = "real")]
mod agents; // the real Claude Code and Codex, killed in a tool and gone on with
#[cfg(feature = "real")]
mod boot; // a booted systemd and a running cron, whose timers fire by themselves
#[cfg(feature = "real")]
mod browser; // a headless Chromium with one page in it
mod budget; // work against its scope and budget, and nothing changed but words
mod card; // a worker's own card, from its stop to its decision
mod causes; // labelled error texts of every provider
mod check; // one line for a monitoring system
mod contract; // one story, told to every board engine
mod contrib; // units, crontab, sample configuration, and that every flag is documented
mod coord; // agent sessions, against a real opencode server
mod copy; // a board moved to another place, whole or not at all
#[cfg(feature = "real")]
mod counters; // system calls and functions of a pass, counted from outside
#[cfg(feature = "real")]
mod crash; // killed, starved of disk or robbed of its board at every call that writes
mod damaged; // a board whose file is damaged
mod demo; // the demo shows what it says and leaves nothing behind
mod distress; // one card for one cause, whatever happens around it
mod doctor; // whether everything is in place, each finding brought about
mod dry; // looking never writes
mod exits; // every exit code and every bad board
mod hand; // `board`, the commands of a worker or the operator
mod harness; // `board run`: claims, works, and is seen to end
mod heal; // acts, acts once, doubts, and skips what is not its own
mod health; // a living worker that is not well: told, handed to a person, or stopped
mod hermes; // against the real Hermes from its package
mod hosts; // other machines, asked over ssh
mod ids; // tasks whose ids other runtimes made
mod incidents; // what goes wrong in the field, with Hermes alone and with us beside it
mod init;
mod installed; // programs of others, pinned and installed once
mod life; // real processes: killed, recycled, orphaned, in another namespace
mod limits; // providers that refuse for hours, beside a dispatcher that only sees that a pid is gone
mod match_log; // what is read out of a log, line by line
mod metrics; // what a pass leaves for Prometheus
#[cfg(feature = "real")]
mod model; // every order of a few steps, and the guards without which it goes wrong
mod morning; // the page for the morning, as it is written
#[cfg(feature = "real")]
mod newcomer; // a fifth watcher, added to a copy of the sources
mod notices; // what lasts is said when it begins, changes and ends
mod notify; // people who are told, by receivers on this machine
mod own_folder; // a board without Hermes whose tasks are worked on in git worktrees
mod packet; // where a worker says it stands, and what is left of that for its successor
#[cfg(feature = "real")]
mod page; // the page for the morning, as a browser shows it
mod pause; // the red switch
mod plans; // plan and apply
#[cfg(feature = "real")]
mod prune; // what is over for long is removed
mod races; // watchers at once over the same rows
mod replay; // another policy on what was seen
mod report; // the mail of the morning
mod resume; // resume, not restart: attempts, working trees, and what the next one is told
mod robbed; // the files of a board taken away while it is open
mod route; // another provider, an orchestrator's decisions, closed loops
mod run; // one round of all watchers
mod scale; // a pass costs what is active, not what is stored
mod simulate; // simulated nights, and the promises held after every step
mod size; // what a pass holds and does on boards that grew beyond all reason
mod status; // what needs a person, on one screen
mod terminal; // a program at a terminal of its own, and what is typed there
mod threats; // a worker or another user means harm
mod timers; // units and crontab lines, written and taken away
mod tools; // stand-ins for systemctl, loginctl and crontab
mod undo; // what a watcher did, undone
mod why; // the true cause of one task, on one screen
mod wrong_inputs; // what people type wrong, and what they are told
