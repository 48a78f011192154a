//! `watchbill providers`: who works with which provider, how each stands, and what waits for it. Looking only.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::{Common, Here, env, print, print_json};
use base::cause::Cause;
use base::count::times;
use base::error::Result;
use base::time::{Time, words};
use board::{Detail, Mode, Status};
use logs::cache::Cache;
use logs::provider::Id;
use logs::provider::ledger::{Entry, RETRIED, State};
use ops::pass;
use ops::report::printable;
use policy::Profiles;
use policy::authorship::our_hold;
use policy::routing::facts::{self, About, Routing};
use policy::routing::reach::{self, Unreached};
use policy::routing::router::Router;

/// The state of a provider at whose address nobody answers.
const UNREACHABLE: &str = "unreachable";

/// The state of a provider whose name cannot be read or is not said, and of which nothing bad is known.
const UNKNOWN: &str = "unknown";

/// The schema of `--json`.
const SCHEMA: &str = "watchbill.providers/1";

#[derive(Debug, Args)]
pub(super) struct ProvidersArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

/// One provider, or one profile's own key.
struct Row {
    id: Id,
    state: State,
    entry: Option<Entry>,
    profiles: Vec<String>,
    held: usize,
    on_way: usize,
    /// The task that tries it after its hold.
    probing: Option<String>,
    /// Nobody has answered there for long.
    unreached: Option<Unreached>,
    /// Why nobody knows which provider it is.
    unreadable: Option<String>,
}

impl Row {
    /// A provider of which nothing is known.
    fn of(id: Id) -> Row {
        let (profiles, entry, probing, unreached, unreadable) = (Vec::new(), None, None, None, None);
        Row { id, state: State::Healthy, entry, profiles, held: 0, on_way: 0, probing, unreached, unreadable }
    }

    /// Whether that nobody answers is all there is to say of it: a refusal is an answer.
    fn is_unreached(&self) -> bool {
        let is_silent = matches!(self.state, State::Healthy | State::HalfOpen | State::Down);
        is_silent && self.unreached.is_some()
    }

    /// Whether nobody knows how it stands: its name cannot be read, or nobody says it.
    fn is_unknown(&self) -> bool {
        let is_nameless = self.unreadable.is_some() || !self.id.is_known();
        is_nameless && self.state == State::Healthy && self.entry.is_none()
    }

    /// Why nobody knows it.
    fn why_unknown(&self) -> String {
        let unsaid = || match self.profiles.first() {
            Some(profile) => format!("provider not known: set profiles.{profile}.provider"),
            None => "provider not known".to_owned(),
        };
        self.unreadable.clone().unwrap_or_else(unsaid)
    }

    /// The word for what no refusal tells.
    fn other_state(&self) -> Option<&'static str> {
        let unknown = || self.is_unknown().then_some(UNKNOWN);
        self.is_unreached().then_some(UNREACHABLE).or_else(unknown)
    }

    /// The word of `--json`.
    fn state(&self) -> &'static str {
        self.other_state().unwrap_or(self.state.as_str())
    }

    /// The word for people.
    fn label(&self) -> &'static str {
        self.other_state().unwrap_or(self.state.label())
    }
}

/// Everything the boards of one Hermes root show together.
#[derive(Default)]
struct Seen {
    routing: Routing,
    /// The provider that each task that we hold waits for, with the task's profile.
    held: Vec<(Id, String)>,
    /// Where nobody answers.
    unreached: Vec<Unreached>,
}

pub(super) fn run(args: &ProvidersArgs) -> Result<u8> {
    let common = &args.common;
    let config = common.load()?.config;
    let here = Here::look(common, &config)?;
    let pass = here.pass("providers", None, true);
    let mut cache = Cache::open(Cache::place(&env));
    let mut tools = here.tools(&pass, &config, &mut cache, false);
    let mut roots: BTreeMap<Option<PathBuf>, Seen> = BTreeMap::new();
    for id in common.boards(&config)? {
        let seen = roots.entry(id.real_root()).or_default();
        let mut board = tools.open(&id, Mode::Look)?;
        pass::look::around(&mut *board, &mut tools, |world, pass| {
            let rows = world.board.glance(&Status::OPEN)?;
            let waits = rows.iter().filter(|t| t.status == Status::Scheduled && !t.is_card());
            let waits: Vec<String> = waits.map(|t| t.id.clone()).collect();
            let waiting = world.board.look(&waits)?;
            let suspects = world.board.look(&reach::suspects(&rows))?;
            let known = (world.runtime)().profiles;
            let details = waiting.iter().chain(&suspects).collect();
            let about = About { rows: &rows, details, known: &known, clock_given: true };
            let routing = facts::observe(world, &about, pass.now)?;
            let router = Router::new(&routing, world.config, pass.now, &known, Vec::new());
            let held = waiting.iter().filter(|d| our_hold(d).is_some());
            seen.held.extend(held.filter_map(|d| waits_for(d, &router)));
            let readings: Vec<_> = suspects.iter().map(|d| (d, reach::reading(world, d, pass.now))).collect();
            let readings: Vec<_> = readings.iter().map(|(d, reading)| (*d, reading)).collect();
            seen.unreached.extend(reach::observe(world, &readings, &routing, pass.now));
            seen.routing.profiles.extend(routing.profiles);
            seen.routing.sightings.extend(routing.sightings);
            // The last board knows what all before it left for the others.
            (seen.routing.others, seen.routing.sent) = (routing.others, routing.sent);
            seen.routing.quiet_until = routing.quiet_until;
            Ok(())
        })?;
    }
    let of_root = |seen: &Seen| {
        rows(seen, &Router::new(&seen.routing, &config, here.now, Profiles::none(), Vec::new()))
    };
    let rows: Vec<Row> = roots.values().flat_map(of_root).collect();
    let quiet = roots.values().find_map(|seen| seen.routing.quiet_until);
    if common.json {
        let all: Vec<Value> = rows.iter().map(|r| whole(r, here.now)).collect();
        let report = json!({
            "schema": SCHEMA, "now": here.now, "quiet_until": quiet, "providers": all,
        });
        return print_json(&report);
    }
    if common.quiet {
        return Ok(0);
    }
    let quiet = quiet.map_or_else(String::new, |q| {
        format!("Quiet hours until {}: nothing resumes by itself.\n", q.local_minute())
    });
    print(&(table(&rows, here.now) + &quiet))
}

/// The provider that a held task waits for, with its profile: whom its log named, where nothing says whom that profile asks.
fn waits_for(d: &Detail, router: &Router<'_>) -> Option<(Id, String)> {
    let profile = d.task.assignee.clone()?;
    let id = router.worker(&d.task).id();
    if id.is_known() {
        return Some((id, profile));
    }
    let mut said = d.events.iter().rev().filter_map(|e| facts::of_event(&d.task.id, e));
    let said = said.find(|s| s.profile.as_ref() == Some(&profile));
    Some((said.map_or(id, |s| s.id), profile))
}

/// One row for each provider that a profile works with or that was in trouble, and one for each key that was refused.
fn rows(seen: &Seen, router: &Router<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let is_row = |r: &Row, id: &Id| r.id.is_same(id) || (!id.is_known() && !r.id.is_known());
    for p in seen.routing.profiles.values() {
        let id = p.id();
        match rows.iter_mut().find(|r| is_row(r, &id)) {
            Some(row) => row.profiles.push(p.name.clone()),
            None => rows.push(Row {
                profiles: vec![p.name.clone()],
                unreadable: p.unreadable.clone(),
                ..Row::of(id)
            }),
        }
    }
    // A task may be pinned to a provider that no profile works with.
    for (id, profile) in &seen.held {
        let at = rows.iter().position(|r| is_row(r, id)).unwrap_or_else(|| {
            rows.push(Row::of(id.clone()));
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.held += 1;
        if !id.is_known() && !row.profiles.contains(profile) {
            row.profiles.push(profile.clone());
        }
    }
    for entry in router.entries() {
        let state = router.state_of(entry);
        let mut is_shown = false;
        for row in rows.iter_mut().filter(|r| entry.profile.is_none() && r.id.is_same(&entry.id)) {
            // What one profile alone is known to meet stands with that one first.
            if row.entry.is_none() || row.id.profile == entry.id.profile {
                (row.state, row.entry) = (state, Some(entry.clone()));
                // What cannot be read of its profile is known by the log of that one.
                row.id.host = row.id.host.take().or_else(|| entry.id.host.clone());
            }
            is_shown = true;
        }
        if !is_shown {
            rows.push(Row {
                state,
                entry: Some(entry.clone()),
                profiles: entry.profile.clone().into_iter().collect(),
                ..Row::of(entry.id.clone())
            });
        }
    }
    for u in &seen.unreached {
        match rows
            .iter_mut()
            .find(|r| r.id.is_same(&u.id) && r.entry.as_ref().is_none_or(|e| e.profile.is_none()))
        {
            Some(row) => row.unreached = Some(u.clone()),
            None => rows.push(Row { unreached: Some(u.clone()), ..Row::of(u.id.clone()) }),
        }
    }
    for row in &mut rows {
        row.on_way = router.on_way(&row.id);
        let probed = row.entry.as_ref().filter(|_| row.state == State::HalfOpen);
        row.probing = probed.and_then(|e| router.probing(&row.id, e)).map(str::to_owned);
    }
    rows
}

fn whole(r: &Row, now: Time) -> Value {
    let e = r.entry.as_ref();
    let held = r.state.is_held();
    let mut whole = json!({
        "name": r.id.name, "host": r.id.host, "state": r.state(), "profiles": r.profiles,
        "credential_of": e.and_then(|e| e.profile.as_deref()),
        "cause": e.map(|e| e.cause), "since": e.map(|e| e.since), "until": e.filter(|_| held).map(|e| e.until),
        "refusals": e.map_or(0, |e| e.strikes), "task": e.map(|e| e.task.as_str()),
        "recovered": e.and_then(|e| e.good), "next_probe": next_probe(r, now),
        "held": r.held, "on_the_way": r.on_way, "probing": r.probing, "unreadable": r.unreadable,
    });
    if let Some(u) = r.unreached.as_ref().filter(|_| r.is_unreached()) {
        whole["cause"] = json!(Cause::ConnectionRefused);
        (whole["since"], whole["task"]) = (json!(u.since), json!(u.task));
    }
    whole
}

/// When the next task tries it: at the end of the hold; at once where that is over and no task tries it already.
fn next_probe(r: &Row, now: Time) -> Option<Time> {
    let entry = r.entry.as_ref()?;
    match r.state {
        State::Healthy | State::GivenUp => None,
        State::HalfOpen => r.probing.is_none().then_some(now),
        _ => Some(entry.until),
    }
}

fn table(rows: &[Row], now: Time) -> String {
    if rows.is_empty() {
        return "no profile names a provider\n".into();
    }
    let head = ["provider", "state", "until", "held", "profiles", "why"].map(str::to_owned);
    let mut cells: Vec<[String; 6]> = vec![head];
    for r in rows {
        let e = r.entry.as_ref();
        let until =
            e.filter(|_| r.state.is_held() && r.state != State::GivenUp).map(|e| e.until.local_moment(now));
        let unreached = r.unreached.as_ref().filter(|_| r.is_unreached());
        let silent = |u: &Unreached| {
            let since = words(now.since(u.since));
            format!("nobody has answered for {since}, in {} attempts, seen on {}", u.tries, u.task)
        };
        let why = match (e, r.state) {
            _ if unreached.is_some() => unreached.map(silent).unwrap_or_default(),
            _ if r.is_unknown() => r.why_unknown(),
            (None, _) => String::new(),
            (Some(e), State::Healthy) => {
                format!("{} is over since {}", e.cause, words(e.good.map_or(0, |g| now.since(g))))
            }
            (Some(e), State::HalfOpen) => {
                let by = r.probing.as_deref().unwrap_or("the next task");
                format!("{by} probes it after {}", e.cause)
            }
            (Some(e), _) => {
                let times = times(e.strikes);
                let again = match r.state {
                    State::CredentialBroken => format!("; {RETRIED}"),
                    _ => String::new(),
                };
                let since = words(now.since(e.since));
                format!("{} since {since}, refused {times}, seen on {}{again}", e.cause, e.task)
            }
        };
        let why = match r.unreadable.as_deref().filter(|_| !r.is_unknown()) {
            Some(blind) => format!("{why}; {blind}"),
            None => why,
        };
        let name = match e.and_then(|e| e.profile.as_ref()) {
            Some(profile) => format!("key of {profile}"),
            None => r.id.to_string(),
        };
        cells.push([
            printable(&name),
            r.label().to_owned(),
            until.unwrap_or_else(|| "-".into()),
            r.held.to_string(),
            printable(&r.profiles.join(", ")),
            printable(&why),
        ]);
    }
    let wide = |i: usize| cells.iter().map(|c| c[i].chars().count()).max().unwrap_or(0);
    let w = [wide(0), wide(1), wide(2), wide(3), wide(4)];
    let mut out = String::new();
    for [a, b, c, d, e, f] in &cells {
        let line = format!("{a:0$}  {b:1$}  {c:2$}  {d:>3$}  {e:4$}  {f}", w[0], w[1], w[2], w[3], w[4]);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use logs::provider::Profile;
    use logs::provider::ledger::{News, Sighting};

    fn profile(name: &str, host: &str) -> (String, Profile) {
        let p = Profile { name: name.into(), endpoint: Some(host.into()), ..Profile::default() };
        (name.to_owned(), p)
    }

    #[test]
    fn two_names_of_one_endpoint_are_one_row() {
        let mut seen = Seen::default();
        seen.routing.profiles.extend([profile("luna", "a"), profile("mira", "a"), profile("sol", "b")]);
        seen.held.extend([0; 3].map(|_| (Id::new(None, Some("a")), "luna".to_owned())));
        seen.held.push((Id::new(Some("star"), None), "luna".to_owned()));
        let config = config::Config::default();
        let router = Router::new(&seen.routing, &config, Time(0), Profiles::none(), Vec::new());
        let all = rows(&seen, &router);
        assert_eq!(all.len(), 3);
        assert_eq!((all[2].id.to_string(), all[2].held), ("star".to_owned(), 1), "only a pin names it");
        assert_eq!((all[0].profiles.join(" "), all[0].held), ("luna mira".to_owned(), 3));
        let text = table(&all, Time(0));
        assert_eq!(text.lines().nth(1), Some("a         healthy  -         3  luna, mira"));
    }

    #[test]
    fn a_provider_that_cannot_be_read_is_not_healthy() {
        let blind = || Profile {
            name: "luna".into(),
            unreadable: Some("/h/config.yaml cannot be read: denied".into()),
            ..Profile::default()
        };
        let mut seen = Seen::default();
        seen.routing.profiles.extend([("luna".to_owned(), blind()), profile("mira", "a")]);
        let config = config::Config::default();
        let shown = |seen: &Seen| {
            let router = Router::new(&seen.routing, &config, Time(1_000), Profiles::none(), Vec::new());
            rows(seen, &router)
        };
        let all = shown(&seen);
        let text = table(&all, Time(1_000));
        let want =
            "the provider of luna  unknown  -         0  luna      /h/config.yaml cannot be read: denied";
        assert_eq!(text.lines().nth(1), Some(want), "{text}");
        assert_eq!(whole(&all[0], Time(1_000))["state"], json!("unknown"));
        // What its log said of the endpoint stands with it.
        let refused = Sighting {
            id: Id { host: Some("a".into()), ..blind().id() },
            profile: Some("luna".into()),
            task: "t_00000001".into(),
            at: Time(990),
            began: Time(900),
            news: News::Bad { cause: Cause::RateLimit, resets: None },
        };
        seen.routing.sightings.push(refused);
        let all = shown(&seen);
        let (text, said) = (table(&all, Time(1_000)), whole(&all[0], Time(1_000)));
        assert_eq!((&said["state"], &said["unreadable"]), (&json!("limited"), &json!(blind().unreadable)));
        assert!(text.contains("seen on t_00000001; /h/config.yaml cannot be read"), "{text}");
    }

    #[test]
    fn a_provider_that_nobody_names_is_not_healthy() {
        let mut seen = Seen::default();
        seen.held.extend(["luna", "luna", "sol"].map(|name| (Id::default(), name.to_owned())));
        let config = config::Config::default();
        let router = Router::new(&seen.routing, &config, Time(0), Profiles::none(), Vec::new());
        let all = rows(&seen, &router);
        assert_eq!(
            (all.len(), all[0].held, whole(&all[0], Time(0))["state"].clone()),
            (1, 3, json!("unknown"))
        );
        let text = table(&all, Time(0));
        let want =
            "unknown   unknown  -         3  luna, sol  provider not known: set profiles.luna.provider";
        assert_eq!(text.lines().nth(1), Some(want), "{text}");
    }

    #[test]
    fn where_nobody_answers_it_is_not_healthy() {
        let id = Id::new(None, Some("a"));
        let silent = |since| Unreached {
            id: id.clone(),
            since,
            tries: 4,
            task: "t_00000001".into(),
            tasks: ["t_00000001".to_owned()].into(),
        };
        let mut seen = Seen::default();
        seen.routing.profiles.extend([profile("luna", "a"), profile("sol", "b")]);
        seen.unreached.push(silent(Time(1_000)));
        let config = config::Config::default();
        let router = Router::new(&seen.routing, &config, Time(0), Profiles::none(), Vec::new());
        let all = rows(&seen, &router);
        let text = table(&all, Time(2_860));
        let want = "a         unreachable  -         0  luna      nobody has answered for 31m, in 4 attempts, seen on t_00000001";
        assert_eq!(text.lines().nth(1), Some(want), "{text}");
        assert!(text.lines().nth(2).is_some_and(|l| l.contains(" healthy ")), "{text}");
        let said = whole(&all[0], Time(2_860));
        assert_eq!((&said["state"], &said["cause"]), (&json!("unreachable"), &json!("connection_refused")));
        assert_eq!(said["since"], json!(Time(1_000)));
    }

    #[test]
    fn what_is_held_says_until_when_and_why() {
        let entry = Entry {
            id: Id::new(None, Some("a")),
            profile: None,
            cause: Cause::Quota,
            since: Time(1_000),
            bad: Time(1_000),
            until: Time(4_600),
            strikes: 2,
            task: "t_00000001".into(),
            good: None,
        };
        let row = |state| Row {
            state,
            entry: Some(entry.clone()),
            profiles: vec!["luna".into()],
            held: 1,
            ..Row::of(entry.id.clone())
        };
        let held = whole(&row(State::OutOfQuota), Time(1_060));
        assert_eq!((&held["state"], &held["until"]), (&json!("out_of_quota"), &json!(Time(4_600))));
        assert_eq!(held["next_probe"], json!(Time(4_600)));
        let said = table(&[row(State::OutOfQuota)], Time(1_060));
        assert!(said.contains("quota since 1m, refused 2 times, seen on t_00000001"), "{said}");
        assert!(whole(&row(State::GivenUp), Time(1_060))["next_probe"].is_null());
        let probed = |by: Option<&str>| Row { probing: by.map(str::to_owned), ..row(State::HalfOpen) };
        assert_eq!(whole(&probed(None), Time(5_000))["next_probe"], json!(Time(5_000)));
        let said = table(&[probed(None)], Time(5_000));
        assert!(
            said.contains("trying again") && said.contains("the next task probes it after quota"),
            "{said}"
        );
        assert_eq!(
            whole(&probed(None), Time(5_000))["state"],
            json!("half_open"),
            "a program reads the other word"
        );
        let tried = whole(&probed(Some("t_00000002")), Time(5_000));
        assert_eq!((&tried["probing"], &tried["next_probe"]), (&json!("t_00000002"), &Value::Null));
        let said = table(&[probed(Some("t_00000002"))], Time(5_000));
        assert!(said.contains("t_00000002 probes it after quota"), "{said}");
    }
}
