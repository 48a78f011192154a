//! Real workers where the package `setproctitle` is installed: their title is `hermes`, and nothing else.

use rustix::process::{Pid, Signal};

use super::home::Home;
use super::provider::Provider;
use crate::support::{dead_pid, ran, until};

#[test]
fn a_renamed_worker_of_an_earlier_attempt_holds_its_task() {
    let Some(home) = Home::renaming() else { return };
    let provider = Provider::new(&home);
    home.profile("luna", &provider.mode("slow"));
    let task = home.create(&[]);
    // The package looks for the arguments in front of the first variable, which must not be one that Hermes sets anew.
    ran(home.run("hermes").env("COLORTERM", "truecolor").args(["kanban", "dispatch"])).ok();
    let pid: i64 = home.task(&task, "worker_pid").parse().unwrap();
    provider.await_question("slow");
    let title = format!("/proc/{pid}/cmdline");
    until("its title", || {
        std::fs::read_to_string(&title).is_ok_and(|c| c.trim_end_matches([' ', '\0']) == "hermes")
    });

    home.age(300);
    let said = home.pass();
    assert!(said.of(&task).starts_with("left: worker alive"), "{}", said.of(&task));

    // Its attempt is taken for dead, and the worker of the next one dies.
    home.sql(&format!(
        "UPDATE task_runs SET status = 'crashed', outcome = 'crashed', ended_at = unixepoch(), claim_lock = NULL,
           claim_expires = NULL, worker_pid = NULL WHERE task_id = '{task}';
         UPDATE tasks SET status = 'ready', claim_lock = NULL, claim_expires = NULL, worker_pid = NULL,
           current_run_id = NULL WHERE id = '{task}'"
    ));
    home.hermes(&["claim", &task]).ok();
    home.spawned(&task, dead_pid());
    home.age(1_200);
    let said = home.pass();
    assert!(said.of(&task).starts_with(&format!("tell older-worker: process {pid}")), "{}", said.of(&task));
    assert_eq!(home.task(&task, "status"), "running");
    let before = home.dump();
    assert_eq!(home.pass().steps(), 0);
    assert!(home.dump() == before, "rows changed");

    let group = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    home.await_end(pid);
    home.age(300);
    let said = home.pass();
    assert!(said.of(&task).starts_with("requeue dead-worker"), "{}", said.of(&task));
    home.accepts(&[&task]);
}
