//! The commands of Hermes on the pages that tell what to do: each is one that the real Hermes takes.

use std::collections::BTreeSet;

use super::home::Home;
use crate::contrib::console::{commands_of, pages};
use crate::support::Ran;

/// The task of the pages.
const TASK: &str = "t_1a2b3c4d";

/// Runs a command about a task as it stands, on a task that is as the page has it; of any other the help is asked for.
fn taken(home: &Home, line: &str) -> Ran {
    let task = match line.split(' ').nth(2).unwrap_or_default() {
        "reclaim" => home.claimed(&["--assignee", "luna"], None),
        _ if !line.contains(TASK) => {
            return home.ran(home.run("hermes").args(line.split(' ').skip(1)).arg("--help"));
        }
        _ => home.create(&["--assignee", "luna"]),
    };
    if line.contains(" unblock ") {
        home.hermes(&["block", &task, "for a moment"]).ok();
    }
    let line = line.replace(TASK, &task);
    let said = home.ran(home.run("hermes").args(line.split(' ').skip(1)));
    match said.code {
        0 if home.task(&task, "status") == "ready" => said,
        _ => panic!("{line}: {said:?}"),
    }
}

#[test]
fn commands_of_hermes_on_the_pages_work_as_they_stand() {
    let Some(home) = Home::new() else { return };
    home.profile("sol", "http://127.0.0.1:8/nobody/v1");
    let text = |page: &String| {
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap()
    };
    let all: BTreeSet<String> =
        pages().iter().flat_map(|page| commands_of(&text(page), &|first| first == "hermes")).collect();
    assert!(all.len() >= 6, "{all:?}");
    for line in all {
        let said = taken(&home, &line);
        assert_eq!(said.code, 0, "{line}: {said:?}");
    }
}

/// What each subcommand of `hermes gateway` does, as its help says.
fn gateway(home: &Home) -> String {
    let said = home.ran(home.run("hermes").args(["gateway", "--help"])).ok();
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_advised_for_a_dead_gateway_is_what_hermes_offers() {
    #[cfg(feature = "real")]
    let homes = [Home::new(), Home::newer()];
    #[cfg(not(feature = "real"))]
    let homes = [Home::new()];
    for home in homes.into_iter().flatten() {
        let said = gateway(&home);
        assert!(said.contains(" run Run gateway in foreground "), "{said}");
        assert!(said.contains(" start Start the installed systemd/launchd background service "), "{said}");
        assert!(said.contains(" install Install gateway as a systemd/launchd background service "), "{said}");
    }
}
