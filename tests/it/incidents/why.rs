//! Whether `watchbill why` answers: in its first two lines stands the true cause of every incident, and it writes nothing.

use super::world::World;
use crate::support::ran;

/// Words of the true cause that must stand in the first two lines about every task of the incident; one of them is enough.
pub fn words(id: &str) -> &'static [&'static str] {
    match id {
        "E1" | "E2" | "E2-loop" | "E2-storm" | "A1e" | "E14" | "H-once" | "G14" => &["worker_gone"],
        "E2-exit" => &["exit_code"],
        "E3a" | "E3b" | "A1" | "A1d" | "A8-warn" | "A8b" | "A9" | "A18" | "R13" => {
            &["its pid is another process"]
        }
        "E4" | "E5" => &["reclaimed"],
        "E6" | "E6-cron" | "C1" => &["orphan-row"],
        "A7" => &["resume-cap"],
        "A8" | "A8c" => &["tree-drift, changed"],
        "A2" => &["its health is unknown"],
        "A2b" | "A3b" | "A4b" | "slow" => &["worker alive", "Worker alive"],
        "A3" | "A3-stop" | "A6" => &["Stalled"],
        "A4" => &["Stalled"],
        "A5" => &["ignored: Cost spike"],
        "E8" | "E8-pid" | "E8-author" => &["held by Hermes' guard"],
        "E8-key" => &["guard has held it back"],
        "E11" => &["no such profile"],
        "E12" => &["assigned to nobody"],
        "E13" => &["active_pr"],
        "E14-hand" | "H-person" => &["blocked by hand"],
        "E16" | "E16-unblock" => &["a claim on a ready task"],
        "D1" => &["MODEL_DEGRADATION"],
        "D2" => &["HIGH_ERROR_COUNT"],
        "D3" => &["SESSION_STALL"],
        "D3-slow" => &["is at work"],
        "D4" => &["is orphaned"],
        "D5" => &["PROVIDER_PRESSURE", "rate_limit"],
        "D6" => &["RUNAWAY"],
        "D3-question" => &["WAITING_HUMAN"],
        // Wrong arguments are the model's own to mend, and of a session without rows nothing is known: the claim ran out.
        "D1-args" | "D8" => &["its claim was revoked"],
        "E17" | "F1" => &["nothing on the board says why"],
        "W-429" | "W-429-cron" | "W-429-real" | "W-429-lone" | "W-429-storm" | "W-goal-429" | "E7"
        | "A17" => &["rate_limit"],
        // Hermes' own fallback got over it within the attempt: nothing ever stood still.
        "W-fallback" => &["Nothing went wrong with it"],
        "W-429-both" => &["rate_limit", "overloaded"],
        "W-quota" | "W-402" | "W-goal-402" => &["quota"],
        "W-503" | "W-529" => &["overloaded"],
        "W-401" | "W-403" | "W-nokey" => &["credential"],
        "W-404" | "W-404-card" => &["model_missing"],
        "W-refused" => &["connection_refused"],
        "W-badcfg" => &["misconfigured"],
        "W-chat" => &["protocol_violation"],
        "W-loop" => &["iteration_budget"],
        "W-time" => &["timed_out"],
        "H-question" => &["which lanterns?"],
        "W-block" => &["need credentials"],
        "H-mark" => &["no-heal"],
        "H6" => &["dispatcher-restart"],
        "E9" => &["blocked twice for one reason"],
        "E15" => &["scheduled outside Watchbill"],
        "R12" => &["dispatcher-wedged"],
        _ => panic!("{id}: say which words `watchbill why` must have in its first two lines"),
    }
}

/// Asks about every task, and says what is wrong with the answers.
pub fn wrong(w: &World, id: &str) -> Option<String> {
    let before = w.home.dump();
    let expect = words(id);
    for task in &w.tasks {
        let said = ran(w.command("watchbill").args(["why", task]));
        let first: Vec<&str> = said.out.lines().take(2).collect();
        println!("{id} why:\n  {}", first.join("\n  "));
        if said.code != 0 || !said.err.is_empty() {
            return Some(format!("why {task}: {said:?}"));
        }
        if !first.iter().any(|line| expect.iter().any(|word| line.contains(word))) {
            return Some(format!("why {task} does not say {expect:?} in its first two lines:\n{}", said.out));
        }
    }
    (w.home.dump() != before).then(|| "`watchbill why` wrote".to_owned())
}
