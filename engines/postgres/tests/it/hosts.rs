//! Hosts that say that they work on a board, by the server's clock, and a pause for all of them.

use std::cell::RefCell;
use std::sync::Barrier;
use std::time::Duration;

use base::error::{Kind, Result};
use base::time::Time;
use board::pause::Pause;
use board::{Attendance, Attended, Board, Duty, Mode, NewTask, Outcome, Rule, Status, Step, hermes};
use postgres::Client;
use testkit::memory::MemoryBoard;
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::races::{NOW, step, trail};
use crate::server::{PATIENCE, Place, passwords, shared};

const HOUR: i64 = 3_600;

/// A host that runs for an hour, of which another program than `heal` attends.
fn of<'a>(host: &'a str, boot: &'a str) -> Attendance<'a> {
    Attendance { host, boot, uptime: HOUR, age: HOUR, program: "board run", duty: Duty::Works }
}

fn heal<'a>(host: &'a str, boot: &'a str) -> Attendance<'a> {
    Attendance { program: "heal", duty: Duty::Heals, ..of(host, boot) }
}

fn attend(board: &mut dyn Board, me: &Attendance<'_>) -> Attended {
    board.attend(me).unwrap().unwrap()
}

/// Gives the server a clock that stands at [`NOW`], until [`set`] moves it.
fn stopped(place: &Place<'_>) -> Client {
    let mut hand = place.hand();
    let sql = "CREATE TABLE clock AS SELECT $1::bigint AS now; \
               CREATE OR REPLACE FUNCTION now_s() RETURNS bigint LANGUAGE sql VOLATILE RETURN (SELECT now FROM clock)";
    hand.batch_execute(&sql.replace("$1", &NOW.0.to_string())).unwrap();
    hand
}

fn set(hand: &mut Client, now: Time) {
    hand.execute("UPDATE clock SET now = $1", &[&now.0]).unwrap();
}

/// What an attendance told, with times as seconds since [`NOW`].
fn words(told: Result<Option<Attended>>) -> String {
    let told = match told {
        Ok(told) => told.unwrap(),
        Err(e) => return format!("{:?}: {}; {}", e.kind, e.what, e.hint.unwrap_or_default()),
    };
    let at = |time: Time| time.since(NOW).to_string();
    let or = |time: Option<Time>| time.map_or("never".to_owned(), at);
    let mut said = format!("{}, before {}", at(told.now), or(told.before));
    for h in told.hosts {
        assert!(h.skew_ms.abs() < 10_000, "{h:?}");
        let (seen, until) = (at(h.seen_at), at(h.lease_until));
        said += &format!(" | {} seen {seen} until {until} healed {}", h.host, or(h.healed_at));
        said += &h.forgotten_at.map_or(String::new(), |time| format!(" forgotten {}", at(time)));
    }
    said
}

/// What every board that several hosts share says to the same hosts.
fn story(board: &mut dyn Board, other: &mut dyn Board, clock: &dyn Fn(Time)) -> Vec<String> {
    assert!(board.is_shared());
    let claim = |other: &mut dyn Board, host: &str, until: Time| {
        let id = format!("t_{host}");
        let new = hermes::created(Status::Ready, NewTask::default(), &[], &trail());
        let mut changed = other.apply(NOW, &[step(&id, None, new)], PATIENCE).unwrap();
        let seen = other.look(std::slice::from_ref(&id)).unwrap().remove(0);
        let lock = format!("{host}:5:x");
        let taken = hermes::claimed(&seen, &lock, until, Some(7), None, &trail());
        changed.extend(other.apply(NOW, &[step(&id, Some(&seen), taken)], PATIENCE).unwrap());
        assert!(changed.iter().all(|c| matches!(c, Outcome::Applied { .. })), "{changed:?}");
    };
    let mut heard = Vec::new();
    let mut say = |seconds: i64, me: Attendance<'_>| {
        clock(NOW.plus(seconds));
        heard.push(words(board.attend(&me)));
    };
    say(0, of("h2@b", "boot 1"));
    say(10, heal("h1@a", "boot 7"));
    // Another program of the same host: when heal ran is kept.
    say(70, of("h1@a", "boot 7"));
    say(600, heal("h1@a", "boot 7"));
    // Another machine of its name was just started. Or it is the same one after a reboot, which goes on once its lease is over.
    say(700, Attendance { uptime: 30, age: 30, ..of("h1@a", "boot 8") });
    say(700, Attendance { uptime: 30, age: 30, duty: Duty::Asks, ..of("h1@a", "boot 8") });
    say(899, Attendance { uptime: 229, age: 229, ..of("h1@a", "boot 8") });
    say(900, Attendance { uptime: 230, age: 230, ..of("h1@a", "boot 8") });
    // A clone of it, which runs for an hour already: as long as the other one attends.
    say(910, of("h1@a", "boot 9"));
    say(910, Attendance { duty: Duty::Asks, ..heal("h1@a", "boot 9") });
    // A container of another machine in its place: the command of the first one may run until its claim ends.
    claim(other, "h1@a", NOW.plus(2_000));
    claim(other, "h1@aa", NOW.plus(9_000));
    say(1_199, Attendance { age: 100, ..of("h1@a", "boot 9") });
    say(1_200, Attendance { age: 101, ..of("h1@a", "boot 9") });
    say(1_200, Attendance { uptime: 150, age: 101, ..of("h1@a", "boot 9") });
    say(1_200, Attendance { age: 101, duty: Duty::Looks, ..of("h1@a", "boot 9") });
    say(1_999, heal("h1@a", "boot 9"));
    say(2_000, heal("h1@a", "boot 9"));
    // From here on that one has the name.
    say(2_001, of("h1@a", "boot 8"));
    for name in ["h2@b", "h1@a", "h3", "", "h1"] {
        heard.push(format!("forget {name}: {:?}", other.forget_host(name)));
    }
    // One of them comes back with its boot, one as another machine.
    let mut say = |seconds: i64, me: Attendance<'_>| {
        clock(NOW.plus(seconds));
        heard.push(words(board.attend(&me)));
    };
    say(2_010, of("h2@b", "boot 1"));
    say(2_020, of("h1@a", "boot 8"));
    // Two containers of one kernel: the second one waits for the first. What an agent calls may run in a sandbox.
    say(2_030, of("h4", "boot 1:77"));
    let second = Attendance { age: 20, ..of("h4", "boot 1:99") };
    say(2_040, second);
    say(2_040, Attendance { duty: Duty::Asks, ..second });
    claim(other, "h4", NOW.plus(9_000));
    say(2_330, Attendance { age: 361, ..second });
    say(2_330, Attendance { age: 360, ..second });
    heard
}

#[test]
fn a_server_says_of_hosts_what_the_board_in_memory_says() {
    let Some(server) = shared() else { return };
    let mut memory = MemoryBoard::new(true).shared(NOW);
    let clock = memory.clone();
    let in_memory = story(&mut memory, &mut clock.clone(), &|now| clock.hosts_mut().now = now);

    let place = server.board();
    let hand = RefCell::new(stopped(&place));
    let on_server = story(&mut place.open(), &mut place.open(), &|now| set(&mut hand.borrow_mut(), now));

    let twin = |seen: &str, wait: &str| {
        format!(
            "Config: two machines call themselves h1@a: the other one was seen {seen} ago; \
             set host.name on one of them; if the other one has ended, this one goes on in {wait}"
        )
    };
    let waits = |name: &str, seen: &str, wait: &str| {
        format!(
            "Busy: host {name} was seen {seen} ago, and is another start of it: this one goes on in {wait}; \
             If two machines call themselves {name}, set host.name on one of them"
        )
    };
    // Once its lease is over, a person may say that it is gone.
    let or_forget = |name: &str, seen: &str, wait: &str| {
        let forget =
            format!("; or, if nothing of the earlier one works any more: board host forget {name}. If");
        waits(name, seen, wait).replace("; If", &forget)
    };
    let unknown = |name: &str| {
        format!(
            "forget {name}: Err(Error {{ kind: Partial, at: {name:?}, what: \"no such host on this board\", hint: None }})"
        )
    };
    let h2 = "h2@b seen 0 until 300 healed never";
    let both = "h1@a seen 2020 until 2320 healed 2000 | h2@b seen 2010 until 2310 healed never";
    let want = [
        format!("0, before never | {h2}"),
        format!("10, before never | h1@a seen 10 until 310 healed 10 | {h2}"),
        format!("70, before 10 | h1@a seen 70 until 370 healed 10 | {h2}"),
        format!("600, before 10 | h1@a seen 600 until 900 healed 600 | {h2}"),
        waits("h1", "1m", "3m"),
        format!("700, before 600 | h1@a seen 600 until 900 healed 600 | {h2}"),
        waits("h1", "4m", "1s"),
        format!("900, before 600 | h1@a seen 900 until 1200 healed 600 | {h2}"),
        twin("10s", "4m"),
        twin("10s", "4m"),
        waits("h1", "4m", "13m"),
        or_forget("h1", "5m", "13m"),
        or_forget("h1", "5m", "13m"),
        format!("1200, before 900 | h1@a seen 900 until 1200 healed 600 | {h2}"),
        or_forget("h1", "18m", "1s"),
        format!("2000, before 600 | h1@a seen 2000 until 2300 healed 2000 | {h2}"),
        twin("1s", "4m"),
        "forget h2@b: Ok(())".to_owned(),
        "forget h1@a: Ok(())".to_owned(),
        unknown("h3"),
        unknown(""),
        unknown("h1"),
        "2010, before 0 | h1@a seen 2000 until 2300 healed 2000 forgotten 2001 | h2@b seen 2010 until 2310 healed never"
            .to_owned(),
        format!("2020, before 2000 | {both}"),
        format!("2030, before never | {both} | h4 seen 2030 until 2330 healed never"),
        waits("h4", "10s", "4m"),
        format!("2040, before 2030 | {both} | h4 seen 2030 until 2330 healed never"),
        or_forget("h4", "5m", "1h 51m"),
        format!("2330, before 2030 | {both} | h4 seen 2330 until 2630 healed never"),
    ];
    assert_eq!(in_memory, want);
    assert_eq!(on_server, want);
}

#[test]
fn a_lease_is_told_by_the_clock_of_the_server() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut board = place.open();
    let before = Time::of_clock();
    let told = attend(&mut board, &heal("h1@a", "boot 1"));
    // Server and test are on one machine.
    assert!(told.now >= before.plus(-1) && told.now <= Time::of_clock().plus(1), "{told:?}");
    assert_eq!(told.hosts.len(), 1);
    assert!(told.hosts[0].skew_ms.abs() < 10_000, "{told:?}");
    // Its clock goes wrong by a day: leases go with it, and the host is told by how much it is off.
    let sql = "CREATE OR REPLACE FUNCTION now_s() RETURNS bigint LANGUAGE sql VOLATILE \
               RETURN floor(extract(epoch FROM clock_timestamp()))::bigint + 86400";
    place.hand().batch_execute(sql).unwrap();
    let late = attend(&mut board, &of("h1@a", "boot 1"));
    assert!(late.now >= told.now.plus(86_400), "{late:?}");
    assert_eq!(
        (late.before, late.hosts[0].healed_at),
        (Some(told.hosts[0].seen_at), Some(told.hosts[0].seen_at))
    );
    assert_eq!(late.hosts[0].lease_until, late.hosts[0].seen_at.plus(board::HOST_LEASE));
}

#[test]
fn of_two_clones_that_attend_at_once_one_is_refused() {
    let Some(server) = shared() else { return };
    let place = server.board();
    for nth in 0..10 {
        let (host, start) = (format!("h{nth}"), Barrier::new(2));
        let told: Vec<_> = std::thread::scope(|scope| {
            let clone = |boot: &'static str| {
                let mut board = place.open();
                let (host, start) = (&host, &start);
                scope.spawn(move || {
                    start.wait();
                    board.attend(&of(host, boot))
                })
            };
            let both = [clone("boot 1"), clone("boot 2")];
            both.map(|thread| thread.join().unwrap()).into()
        });
        assert_eq!(told.iter().filter(|t| t.is_ok()).count(), 1, "{told:?}");
        assert!(told.iter().filter_map(|t| t.as_ref().err()).all(|e| e.kind == Kind::Config), "{told:?}");
    }
}

#[test]
fn who_only_looks_renews_nothing() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut hand = stopped(&place);
    let mut look = PostgresBoard::open(&place.url, Mode::Look, PATIENCE, &Secrets::default()).unwrap();
    assert_eq!(words(look.attend(&heal("h1", "boot 1"))), "0, before never");
    attend(&mut place.open(), &of("h1", "boot 1"));
    set(&mut hand, NOW.plus(40));
    let still = "40, before never | h1 seen 0 until 300 healed never";
    assert_eq!(words(look.attend(&of("h1", "boot 1"))), still.replace("before never", "before 0"));
    assert_eq!(words(look.attend(&heal("h1", "boot 1"))), still);
    assert_eq!(words(look.attend(&heal("h2", "boot 2"))), still);
    assert!(words(look.attend(&heal("h1", "boot 2"))).starts_with("Config: two machines"));
    let asks = Attendance { uptime: 5, age: 5, duty: Duty::Asks, ..heal("h1", "boot 2") };
    assert_eq!(words(look.attend(&asks)), still.replace("before never", "before 0"));
    assert_eq!(look.forget_host("h1").unwrap_err().kind, Kind::Bug);
    assert_eq!(look.set_pause(None).unwrap_err().kind, Kind::Bug);
}

#[test]
fn heal_removes_what_is_kept_of_old_writes() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut hand = stopped(&place);
    let fill = "INSERT INTO writes (id, at, host) SELECT gen_random_uuid(), now_s() - 86401, 'h1' FROM generate_series(1, 1500); \
                INSERT INTO writes (id, at, host) SELECT gen_random_uuid(), now_s() - 86400, 'h1' FROM generate_series(1, 7)";
    hand.batch_execute(fill).unwrap();
    let mut board = place.open();
    let mut left = |me: Attendance<'_>| {
        attend(&mut board, &me);
        hand.query_one("SELECT count(*) FROM writes", &[]).unwrap().get::<_, i64>(0)
    };
    assert_eq!(left(of("h1", "boot 1")), 1_507);
    assert_eq!(left(heal("h1", "boot 1")), 507);
    assert_eq!(left(heal("h1", "boot 1")), 7);
    assert_eq!(left(heal("h1", "boot 1")), 7);
}

#[test]
fn what_another_pass_removes_is_not_waited_for() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut hand = stopped(&place);
    hand.batch_execute("INSERT INTO writes (id, at, host) VALUES (gen_random_uuid(), 1, 'h1')").unwrap();
    hand.batch_execute("BEGIN; DELETE FROM writes").unwrap();
    let quick = Duration::from_millis(500);
    let mut board = PostgresBoard::open(&place.url, Mode::Change, quick, &Secrets::default()).unwrap();
    attend(&mut board, &heal("h1", "boot 1"));
    hand.batch_execute("ROLLBACK").unwrap();
}

#[test]
fn a_pause_is_one_for_all_hosts_until_it_is_ended() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let mut hand = stopped(&place);
    let (mut here, mut there) = (place.open(), place.open());
    assert_eq!(there.pause().unwrap(), None);
    let pause = Pause {
        until: Some(NOW.plus(HOUR)),
        reason: Some("the \"database\"\n is moved, ' too".into()),
        by: Some("anna".into()),
        since: Some(NOW.plus(-5)),
        moved_to: None,
    };
    here.set_pause(Some(&pause)).unwrap();
    assert_eq!(there.pause().unwrap(), Some(pause.clone()));
    // One that ended by itself is told as well: the caller has the time.
    set(&mut hand, NOW.plus(2 * HOUR));
    assert_eq!(there.pause().unwrap(), Some(pause));
    // A pause that says nothing pauses, and since now.
    there.set_pause(Some(&Pause::default())).unwrap();
    let since = Some(NOW.plus(2 * HOUR));
    assert_eq!(here.pause().unwrap(), Some(Pause { since, ..Pause::default() }));
    here.set_pause(None).unwrap();
    assert_eq!(there.pause().unwrap(), None);
    // What an operator wrote by hand.
    hand.batch_execute("UPDATE meta SET paused_why = 'moving'").unwrap();
    let reason = Some("moving".to_owned());
    assert_eq!(here.pause().unwrap(), Some(Pause { reason, ..Pause::default() }));
}

#[test]
fn a_worker_speaks_for_no_host_and_pauses_nothing() {
    let Some(server) = shared() else { return };
    let place = server.board();
    PostgresBoard::grant(&place.url, &[], &[], PATIENCE, &Secrets::default()).unwrap();
    let name = &place.name;
    let kept = passwords("*:*:*:*:geheim", 0o600);
    let open = |role: &str, mode: Mode| {
        let login = format!("CREATE ROLE {role}_{name} LOGIN PASSWORD 'geheim' IN ROLE {name}_{role}");
        if mode == Mode::Change {
            place.hand().batch_execute(&login).unwrap();
        }
        let url = server.url(&format!("{role}_{name}"), name);
        PostgresBoard::open(&url, mode, PATIENCE, &Secrets { file: Some(kept.path().into()) }).unwrap()
    };
    let mut watcher = open("watch", Mode::Change);
    place
        .hand()
        .batch_execute("INSERT INTO writes (id, at, host) VALUES (gen_random_uuid(), 1, 'h1')")
        .unwrap();
    attend(&mut watcher, &heal("h1", "boot 1"));
    assert_eq!(place.hand().query("SELECT 1 FROM writes", &[]).unwrap().len(), 0);
    watcher.set_pause(Some(&Pause::default())).unwrap();
    watcher.forget_host("h1").unwrap();

    let mut worker = open("work", Mode::Change);
    let error = worker.attend(&of("h1", "boot 1")).unwrap_err();
    assert_eq!(error.kind, Kind::Permission, "{error}");
    let url = server.url("", name).replace("postgres://@", "postgres://");
    let said = format!(
        "the role work_{name} may not speak for a host; a watcher and `board run` need a role in {name}_watch; \
         its owner grants that: board grant --db '{url}' --watcher work_{name}"
    );
    assert!(error.to_string().ends_with(&said), "{error}");
    assert_eq!(worker.forget_host("h1").unwrap_err().kind, Kind::Permission);
    assert_eq!(worker.set_pause(None).unwrap_err().kind, Kind::Permission);
    // It may see both, and goes on with its work.
    assert!(worker.pause().unwrap().is_some());
    worker.writable().unwrap();
    assert_eq!(attend(&mut open("work", Mode::Look), &of("h1", "boot 1")).hosts.len(), 1);
}

/// A pass called a host gone and was suspended before it wrote; or that host came back meanwhile.
fn what_a_late_pass_is_told(
    board: &mut dyn Board,
    other: &mut dyn Board,
    clock: &dyn Fn(Time),
) -> Vec<String> {
    const GONE: i64 = 3_600;
    let unhealed = Attendance { program: "board run", ..of("h3@c", "boot 3") };
    let mut told = Vec::new();
    type Meanwhile<'m> = &'m dyn Fn(&mut dyn Board);
    for (nth, (holder, late, meanwhile)) in [
        ("h2@b", 300, &(|_: &mut dyn Board| ()) as Meanwhile<'_>),
        ("h2@b", 301, &|_| ()),
        // Its own lease was renewed by others of its programs. What it looked at is as old as before.
        ("h2@b", 301, &|other| drop(attend(other, &of("h1@a", "boot 1")))),
        ("h2@b", 60, &|other| drop(attend(other, &of("h2@b", "boot 2")))),
        ("h2@b", 60, &|other| drop(attend(other, &heal("h2@b", "boot 2")))),
        // No heal ran there: who only works there goes on with nothing.
        ("h3@c", 60, &|other| drop(attend(other, &unhealed))),
        ("h3@c", 60, &|other| drop(attend(other, &heal("h3@c", "boot 3")))),
        ("h2@b", 60, &|other| {
            attend(other, &heal("h2@b", "boot 2"));
            other.forget_host("h2@b").unwrap();
        }),
        ("h4", 60, &|_| ()),
    ]
    .into_iter()
    .enumerate()
    {
        let began = NOW.plus(i64::try_from(nth).unwrap() * 10 * GONE);
        clock(began);
        attend(other, &heal("h2@b", "boot 2"));
        attend(other, &heal("h3@c", "boot 3"));
        let id = format!("t_{nth:08x}");
        let new = hermes::created(Status::Ready, NewTask::default(), &[], &trail());
        other.apply(NOW, &[step(&id, None, new)], PATIENCE).unwrap();
        let look = |board: &mut dyn Board| board.look(std::slice::from_ref(&id)).unwrap().remove(0);
        let seen = look(other);
        let lock = format!("{holder}:5:x");
        let claim = hermes::claimed(&seen, &lock, began.plus(900), Some(7), None, &trail());
        other.apply(NOW, &[step(&id, Some(&seen), claim)], PATIENCE).unwrap();

        clock(began.plus(GONE));
        attend(other, &unhealed);
        attend(board, &heal("h1@a", "boot 1"));
        let seen = look(board);
        clock(began.plus(GONE + late));
        meanwhile(other);
        let taken = step(&id, Some(&seen), hermes::reclaimed(&seen, &trail()));
        let gone = Step { case: Rule::HostGone, ..taken };
        // What is said of it beside that rests on its row alone.
        let outcomes = board.apply(NOW, &[gone], PATIENCE).unwrap();
        let after = look(board);
        assert_eq!(outcomes[0].word() == "applied", after.task.status == Status::Ready, "{outcomes:?}");
        assert_eq!(outcomes[0].word() == "moved", after == seen, "{outcomes:?}");
        told.push(match &outcomes[0] {
            Outcome::Moved { what } => what.clone(),
            other => other.word().to_owned(),
        });
    }
    told
}

#[test]
fn a_pass_that_was_suspended_takes_nothing_from_a_host_that_is_gone() {
    let Some(server) = shared() else { return };
    let place = server.board();
    let hand = RefCell::new(stopped(&place));
    let on_server = what_a_late_pass_is_told(&mut place.open(), &mut place.open(), &|now| {
        set(&mut hand.borrow_mut(), now);
    });
    let away = "the lease of this host, which looked 5m ago";
    let (back, heals) = ("host h2 attends again", "host h2: heal runs there again");
    let third = "host h3: heal runs there again";
    assert_eq!(on_server, ["applied", away, away, back, heals, "applied", third, "applied", "applied"]);
    let mut memory = MemoryBoard::new(true).shared(NOW);
    let clock = memory.clone();
    let set = |now| clock.hosts_mut().now = now;
    assert_eq!(what_a_late_pass_is_told(&mut memory, &mut clock.clone(), &set), on_server);
}
