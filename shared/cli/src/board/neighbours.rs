//! The hosts of a board that several share: which there are, and the word of an operator that one will not come back.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Hand, refused};
use base::count::things;
use base::error::{Error, Result};
use base::time::{Time, words};
use board::several_hosts::{self, Duty, of_one_host, shown};
use board::{Attended, Neighbour, Status, Task};
use ops::report::printable;

/// From this on the clock of a host is told as wrong, in milliseconds.
const SKEW: i64 = 2_000;

impl Hand<'_> {
    pub(super) fn hosts(&mut self) -> Result<u8> {
        let Attended { now, hosts, .. } = self.attended()?;
        let running = self.board.glance(&[Status::Running])?;
        let all: Vec<(&Neighbour, usize)> = hosts.iter().map(|host| (host, held(&running, host))).collect();
        let rows: Vec<Value> = all.iter().map(|(host, tasks)| row(host, *tasks, now)).collect();
        if rows.is_empty() {
            return self.nothing(&json!(rows), "no host attended yet");
        }
        self.answer(&json!(rows), &table(&all, now))
    }

    pub(super) fn forget(&mut self, name: &str) -> Result<u8> {
        let Attended { now, hosts, .. } = self.attended()?;
        let neighbour = named(&hosts, name)?;
        let host = &neighbour.host;
        let is_this = |hand: &mut Self| {
            let asked = several_hosts::attend(&mut *hand.board, &hand.here.host, hand.by, Duty::Asks);
            *host == hand.here.host.facts().hostname && asked.is_ok()
        };
        if is_this(self) {
            return Err(refused(name, "is this host, which is there"));
        }
        // A board that this program must not write says so first.
        self.board.writable()?;
        if let Some(error) = still_there(neighbour, now) {
            return Err(error);
        }
        self.board.forget_host(host)?;
        let text = format!(
            "{} is forgotten: heal on another host requeues its work when the claims end\n",
            printable(host)
        );
        self.answer(&json!({"host": host, "state": "forgotten"}), &text)
    }

    fn attended(&mut self) -> Result<Attended> {
        let attended = several_hosts::attend(&mut *self.board, &self.here.host, self.by, Duty::Looks)?;
        attended.ok_or_else(|| of_one_host(&self.board.id().at))
    }
}

/// The host that is meant: by its whole name, or by the part that people know it by.
fn named<'h>(hosts: &'h [Neighbour], name: &str) -> Result<&'h Neighbour> {
    if let Some(host) = hosts.iter().find(|h| h.host == name) {
        return Ok(host);
    }
    let all: Vec<&Neighbour> = hosts.iter().filter(|h| shown(&h.host) == name).collect();
    match all[..] {
        [one] => Ok(one),
        [] => Err(refused(name, "no such host on this board").hint("`board host list` shows them")),
        _ => {
            let all: Vec<String> = all.iter().map(|h| printable(&h.host)).collect();
            Err(refused(name, "is the name of several hosts").hint(format!("one of {}", all.join(", "))))
        }
    }
}

/// Why a host is not forgotten that is there: it would be back with its next pass.
fn still_there(host: &Neighbour, now: Time) -> Option<Error> {
    if host.is_forgotten() || !host.attends(now) {
        return None;
    }
    let (seen, wait) = (words(now.since(host.seen_at)), words(host.lease_until.since(now)));
    let error = refused(shown(&host.host), format!("attends: it was seen {seen} ago; nothing was changed"));
    let when = format!("forget it when its lease is over: in {wait}, unless it attends again");
    Some(error.hint(format!("stop its timers and workers, and {when}")))
}

/// How many running tasks it has.
fn held(running: &[Task], host: &Neighbour) -> usize {
    running.iter().filter(|t| t.claim_host() == Some(host.host.as_str())).count()
}

fn state(host: &Neighbour, now: Time) -> &'static str {
    match () {
        () if host.is_forgotten() => "forgotten",
        () if host.attends(now) => "attends",
        () => "silent",
    }
}

fn row(host: &Neighbour, tasks: usize, now: Time) -> Value {
    let mut row = json!(host);
    (row["state"], row["tasks"]) = (json!(state(host, now)), json!(tasks));
    row
}

/// Hosts as aligned columns.
fn table(hosts: &[(&Neighbour, usize)], now: Time) -> String {
    let ago = |at: Time| format!("{} ago", words(now.since(at)));
    let lines: Vec<[String; 5]> = hosts
        .iter()
        .map(|(h, tasks)| {
            let healed =
                h.healed_at.map_or_else(|| "no heal yet".to_owned(), |at| format!("heal {}", ago(at)));
            let tasks = things(*tasks, "task");
            [printable(&h.host), state(h, now).to_owned(), format!("seen {}", ago(h.seen_at)), healed, tasks]
        })
        .collect();
    let wide = |nth: usize| lines.iter().map(|l| l[nth].chars().count()).max().unwrap_or(0);
    let [a, b, c, d] = [0, 1, 2, 3].map(wide);
    let mut text = String::new();
    for ([name, state, seen, healed, tasks], (h, _)) in lines.iter().zip(hosts) {
        let _ = write!(text, "{name:a$}  {state:b$}  {seen:c$}  {healed:d$}  {tasks}");
        if h.skew_ms.abs() >= SKEW {
            let way = if h.skew_ms > 0 { "ahead" } else { "behind" };
            let _ = write!(text, ", clock {} {way}", words(h.skew_ms.abs() / 1_000));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::error::Kind;
    use board::testing::{NOW, ago, detail};

    fn host(name: &str, seen: i64, healed: Option<i64>) -> Neighbour {
        Neighbour {
            host: name.into(),
            since: ago(9_000),
            seen_at: ago(seen),
            lease_until: ago(seen - 300),
            healed_at: healed.map(ago),
            skew_ms: 0,
            forgotten_at: None,
        }
    }

    #[test]
    fn hosts_are_told_with_what_they_hold() {
        let hosts = [
            Neighbour { skew_ms: -12_300, ..host("moon@1f3a", 12, Some(72)) },
            host("sol@77aa", 3_900, None),
            Neighbour { forgotten_at: Some(ago(60)), ..host("io\u{7}", 90, Some(90)) },
        ];
        let claimed = |by: &str| Task {
            claim_lock: Some(format!("{by}:7:abc")),
            ..detail("t_1", Status::Running).task.clone()
        };
        let running = [claimed("moon@1f3a"), claimed("moon@1f3a"), claimed("sol@77aa"), claimed("moon")];
        let all: Vec<_> = hosts.iter().map(|h| (h, held(&running, h))).collect();
        let want = "moon@1f3a  attends    seen 12s ago    heal 1m ago  2 tasks, clock 12s behind\n\
                    sol@77aa   silent     seen 1h 5m ago  no heal yet  1 task\n";
        let told = table(&all, NOW);
        assert!(told.starts_with(want), "{told}");
        let last = told.lines().last().unwrap();
        assert!(last.contains("forgotten  seen 1m ago") && !last.contains('\u{7}'), "{last}");
        assert_eq!(row(all[1].0, all[1].1, NOW)["state"], "silent");
    }

    #[test]
    fn a_host_that_attends_is_not_forgotten() {
        let there = host("sol@1f3a", 60, Some(60));
        let said = still_there(&there, NOW).unwrap().to_string();
        assert!(
            said.contains("sol: attends: it was seen 1m ago; nothing was changed; stop its timers"),
            "{said}"
        );
        assert!(
            said.ends_with("and forget it when its lease is over: in 4m, unless it attends again"),
            "{said}"
        );
        let forgotten = Neighbour { forgotten_at: Some(ago(30)), ..there };
        for gone in [&forgotten, &host("sol@1f3a", 301, None)] {
            assert_eq!(still_there(gone, NOW), None);
        }
    }

    #[test]
    fn a_host_is_meant_by_its_whole_name_or_by_the_part_before_the_machine() {
        let hosts = ["moon@1f3a", "moon@77aa", "sol@1f3a", "io"].map(|name| host(name, 1, None));
        for (name, want) in [("moon@77aa", "moon@77aa"), ("sol", "sol@1f3a"), ("io", "io")] {
            assert_eq!(named(&hosts, name).unwrap().host, want);
        }
        for (name, word) in
            [("moon", "one of moon@1f3a, moon@77aa"), ("so", "no such host"), ("", "no such host")]
        {
            let error = named(&hosts, name).unwrap_err();
            assert!(error.kind == Kind::Partial && error.to_string().contains(word), "{error}");
        }
    }
}
