//! What is decided for the whole board, by hosts that look at the same moment. Without the epoch each of these fails.

use board::several_hosts::OVERTAKEN;
use board::{Attendance, Board, Duty, Outcome, Status, StepAction, hermes};
use postgres::Client;
use watchbill_postgres::PostgresBoard;

use crate::programs::Machine;
use crate::races::{NOW, add, look, step};
use crate::server::{PATIENCE, Place, Server, shared};

/// A pass of a watcher begins on a host.
fn begins(board: &mut PostgresBoard, host: &str, program: &str) {
    let duty = if program == "heal" { Duty::Heals } else { Duty::Works };
    let me = Attendance { host, boot: "boot 1", uptime: 3_600, age: 3_600, program, duty };
    board.attend(&me).unwrap().unwrap();
}

fn says(board: &mut PostgresBoard, id: &str, action: &str) -> board::Step {
    let seen = look(board, id);
    let said = step(id, Some(&seen), hermes::commented("heal", "hello"));
    board::Step { action: StepAction::from(action), ..said }
}

fn done(board: &mut PostgresBoard, steps: &[board::Step]) -> Vec<Outcome> {
    board.apply(NOW, steps, PATIENCE).unwrap()
}

fn applied() -> Outcome {
    Outcome::Applied { run: None }
}

fn overtaken() -> Outcome {
    Outcome::Moved { what: OVERTAKEN.into() }
}

fn three_tasks(place: &Place<'_>) {
    let mut board = place.open();
    for id in ["t_000000a1", "t_000000b2", "t_000000c3"] {
        add(&mut board, id, Status::Ready, &[]);
    }
}

#[test]
fn of_two_hosts_that_look_at_once_one_decides_for_the_board() {
    let Some(server) = shared() else { return };
    let place = server.board();
    three_tasks(&place);
    let (mut here, mut there) = (place.open(), place.open());
    begins(&mut here, "h1", "synthesize-distress");
    begins(&mut there, "h2", "route-blocked");
    let a = says(&mut here, "t_000000a1", "card");
    let [b, c] = ["t_000000b2", "t_000000c3"].map(|id| says(&mut there, id, "move"));
    assert_eq!(done(&mut here, &[a]), [applied()]);
    assert_eq!(
        done(&mut there, std::slice::from_ref(&b)),
        [overtaken()],
        "on another task, whose row is as it was"
    );
    assert_eq!(
        done(&mut there, std::slice::from_ref(&c)),
        [overtaken()],
        "and so is the next part of the same pass"
    );
    // The next pass has seen all that.
    begins(&mut there, "h2", "route-blocked");
    assert_eq!(done(&mut there, std::slice::from_ref(&b)), [applied()]);
    assert_eq!(
        done(&mut there, std::slice::from_ref(&c)),
        [applied()],
        "what it did itself is no news to it"
    );
    let told =
        place.hand().query("SELECT program, n, host FROM epochs WHERE n > 0 ORDER BY program", &[]).unwrap();
    let told: Vec<(String, i64)> = told.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(told, [("route-blocked".to_owned(), 2), ("synthesize-distress".to_owned(), 1)]);
}

#[test]
fn what_heal_does_for_the_workers_of_its_host_waits_for_nobody() {
    let Some(server) = shared() else { return };
    let place = server.board();
    three_tasks(&place);
    let (mut here, mut there, mut hand) = (place.open(), place.open(), place.open());
    begins(&mut here, "h1", "heal");
    begins(&mut there, "h2", "heal");
    let requeue = says(&mut here, "t_000000a1", "requeue");
    let [reset, other] =
        [("t_000000b2", "reset"), ("t_000000c3", "requeue")].map(|(id, a)| says(&mut there, id, a));
    assert_eq!(done(&mut here, &[requeue]), [applied()]);
    // A requeue is nobody else's business, a reset is counted over the board.
    assert_eq!(done(&mut there, std::slice::from_ref(&reset)), [applied()]);
    let late = says(&mut here, "t_000000b2", "reset");
    let after = board::Step { after: vec!["t_000000b2".into()], ..says(&mut here, "t_000000a1", "requeue") };
    let waits = Outcome::Moved { what: "t_000000b2 was not changed".into() };
    assert_eq!(done(&mut here, &[late, other.clone(), after]), [overtaken(), applied(), waits]);
    // What a person does by hand is held up by nothing.
    let by_hand = says(&mut hand, "t_000000a1", "reset");
    assert_eq!(done(&mut hand, &[by_hand]), [applied()]);
}

#[test]
fn what_changed_nothing_holds_nobody_up() {
    let Some(server) = shared() else { return };
    let place = server.board();
    three_tasks(&place);
    let (mut here, mut there) = (place.open(), place.open());
    begins(&mut here, "h1", "route-blocked");
    begins(&mut there, "h2", "route-blocked");
    let (stale, fresh) = (says(&mut here, "t_000000a1", "move"), says(&mut there, "t_000000b2", "move"));
    place.hand().batch_execute("UPDATE tasks SET status = 'done' WHERE id = 't_000000a1'").unwrap();
    assert_eq!(done(&mut here, &[stale]), [Outcome::Moved { what: "status".into() }]);
    assert_eq!(done(&mut there, &[fresh]), [applied()]);
}

/// How often both hosts start at once.
const ROUNDS: usize = 12;

/// Tables of a board that are restored as they were.
const TABLES: [&str; 5] = ["tasks", "task_links", "task_comments", "task_events", "task_runs"];

/// Two hosts on one board, and a user with `psql`.
struct Scene {
    hosts: [Machine; 2],
    hand: Client,
}

impl Scene {
    fn new(server: &Server, board: &str) -> Scene {
        let url = server.url("watchbill", board);
        let hosts = ["h1", "h2"].map(|name| Machine::new(name, &url));
        hosts[0].said(&["board", "init", &url]);
        for host in &hosts {
            let folder = host.home().join(".config/watchbill");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("config.toml"), "[profiles.luna]\nprovider = 'moon'\n").unwrap();
        }
        let mut hand = Client::connect(&server.plain(), postgres::NoTls).unwrap();
        hand.batch_execute(&format!("SET search_path = {board}")).unwrap();
        Scene { hosts, hand }
    }

    /// An attempt on this host that its provider refuses.
    fn is_refused(&self, host: usize) -> String {
        let host = &self.hosts[host];
        let task = host.said(&["board", "add", "write the report", "--assignee", "luna"]);
        let script = "echo 'error: 429 Too Many Requests'; exit 1";
        let log = host.home().join(format!("{task}.log"));
        let file = log.to_str().unwrap();
        host.call(&["board", "run", "--assignee", "luna", "--log", file, "--", "sh", "-c", script]);
        // What it says is as old as the board says after the next step.
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
        std::fs::File::options().write(true).open(log).unwrap().set_modified(then).unwrap();
        task
    }

    /// Everything on the board is so many seconds older.
    fn later(&mut self, seconds: i64) {
        let sql = format!(
            "SET session_replication_role = replica;
             UPDATE tasks SET created_at = created_at - {seconds}, started_at = started_at - {seconds},
               last_heartbeat_at = last_heartbeat_at - {seconds}, claim_expires = claim_expires - {seconds};
             UPDATE task_runs SET started_at = started_at - {seconds}, ended_at = ended_at - {seconds},
               last_heartbeat_at = last_heartbeat_at - {seconds};
             UPDATE task_comments SET created_at = created_at - {seconds};
             UPDATE task_events SET created_at = created_at - {seconds},
               payload = regexp_replace(payload, '\"(until|next)\":([0-9]+)', '\"\\1\":1000000000', 'g');
             SET session_replication_role = DEFAULT"
        );
        self.hand.batch_execute(&sql).unwrap();
    }

    fn keep(&mut self) {
        for table in TABLES {
            self.hand.batch_execute(&format!("CREATE TABLE kept_{table} AS TABLE {table}")).unwrap();
        }
    }

    fn put_back(&mut self) {
        let mut sql = format!("SET session_replication_role = replica; TRUNCATE {};", TABLES.join(", "));
        for table in TABLES {
            sql += &format!("INSERT INTO {table} OVERRIDING SYSTEM VALUE TABLE kept_{table};");
        }
        self.hand.batch_execute(&format!("{sql} SET session_replication_role = DEFAULT")).unwrap();
    }

    /// A program on both hosts, started together. Gives what both said.
    fn both(&self, program: &str) -> String {
        let start = |host: &Machine| {
            let mut command = host.command(&[program, "-v"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        };
        let started = self.hosts.each_ref().map(start);
        let ended = started.map(|child| child.wait_with_output().unwrap());
        ended
            .iter()
            .map(|o| String::from_utf8_lossy(&o.stdout) + String::from_utf8_lossy(&o.stderr))
            .collect()
    }

    fn count(&mut self, of: &str) -> i64 {
        self.hand.query_one(&format!("SELECT count(*) FROM {of}"), &[]).unwrap().get(0)
    }

    fn open_cards(&mut self) -> i64 {
        self.count("tasks WHERE idempotency_key LIKE 'distress:%' AND status NOT IN ('done', 'archived')")
    }
}

#[test]
fn two_hosts_whose_workers_one_provider_refuses_ask_about_it_once() {
    let Some(server) = shared() else { return };
    let mut scene = Scene::new(server, "one_cause");
    for _ in 0..3 {
        scene.is_refused(0);
        scene.is_refused(1);
    }
    scene.later(120);
    let healed = scene.hosts.each_ref().map(|host| host.said(&["heal", "-v"]));
    assert_eq!(scene.count("tasks WHERE status = 'scheduled'"), 6, "{healed:?}");
    scene.keep();
    let mut met = 0;
    for round in 0..ROUNDS {
        scene.put_back();
        let said = scene.both("synthesize-distress");
        met += usize::from(said.contains(OVERTAKEN));
        let cards = scene.open_cards();
        assert_eq!(cards, 1, "round {round}: {said}");
        let said = scene.both("synthesize-distress");
        assert_eq!(scene.open_cards(), 1, "round {round}: {said}");
        let tied = scene.count("task_links l JOIN tasks p ON p.id = l.parent_id WHERE p.idempotency_key LIKE 'distress:incident:%'");
        assert_eq!(tied, 6, "round {round}: {said}");
    }
    println!("the two met in {met} of {ROUNDS} rounds");

    // All holds are over: one of the six tries the provider, whichever host sends it.
    scene.later(3_600);
    let said = scene.both("route-blocked");
    assert_eq!(scene.count("tasks WHERE status = 'ready' AND assignee = 'luna'"), 1, "{said}");
    let said = scene.both("route-blocked");
    assert_eq!(scene.count("tasks WHERE status = 'ready' AND assignee = 'luna'"), 1, "{said}");
}

/// Every watcher, one after the other, on one host.
fn round(host: &Machine) -> String {
    ["heal", "synthesize-distress", "route-blocked"].map(|program| host.said(&[program, "-v"])).join("\n")
}

#[test]
fn a_host_that_saw_no_refusal_itself_undoes_nothing_and_holds_what_the_board_says() {
    let Some(server) = shared() else { return };
    let mut scene = Scene::new(server, "unseen_refusal");
    let refused = scene.is_refused(0);
    scene.later(120);
    // Before h1 has looked: the claim is its own to judge.
    let said = round(&scene.hosts[1]);
    let state = |scene: &mut Scene, task: &str| -> String {
        let row = scene.hand.query_one("SELECT status || ' ' || assignee FROM tasks WHERE id = $1", &[&task]);
        row.unwrap().get(0)
    };
    assert_eq!(state(&mut scene, &refused), "running luna", "{said}");
    scene.hosts[0].said(&["heal"]);
    // Held because of a log on h1, and no card says so yet.
    let said = round(&scene.hosts[1]);
    assert_eq!((state(&mut scene, &refused), scene.open_cards()), ("scheduled luna".into(), 0), "{said}");
    assert!(said.contains("its log is on h1"), "{said}");
    scene.hosts[0].said(&["synthesize-distress"]);
    assert_eq!(scene.open_cards(), 1);
    // What is new for that provider waits, whichever host looks, and neither undoes what the other one did.
    let new = scene.hosts[1].said(&["board", "add", "write another", "--assignee", "luna"]);
    let events = "task_events WHERE kind <> 'heartbeat'";
    let mut before = 0;
    for nth in 0..3 {
        let said = round(&scene.hosts[1]) + &round(&scene.hosts[0]);
        let states = [&refused, &new].map(|task| state(&mut scene, task));
        assert_eq!(
            (states, scene.open_cards()),
            (["scheduled luna".into(), "scheduled luna".into()], 1),
            "{said}"
        );
        let after = scene.count(events);
        assert!(nth == 0 || after == before, "round {nth}: {said}");
        before = after;
    }
}

#[test]
fn one_host_tells_a_person_and_another_one_goes_on_where_it_stops() {
    let Some(server) = shared() else { return };
    let mut scene = Scene::new(server, "told_once");
    for host in &scene.hosts {
        let file = host.home().join(".config/watchbill/config.toml");
        let told = host.home().join("told");
        let keys = format!("[notify.phone]\ncommand = ['sh', '-c', 'echo x >>{}']\n", told.display());
        std::fs::write(file, keys).unwrap();
    }
    let told = |scene: &Scene| {
        let lines = |host: &Machine| {
            std::fs::read_to_string(host.home().join("told")).unwrap_or_default().lines().count()
        };
        scene.hosts.each_ref().map(lines)
    };
    let needs = |scene: &Scene, title: &str| {
        let task = scene.hosts[0].said(&["board", "add", title, "--assignee", "luna"]);
        scene.hosts[0].said(&["board", "claim", &task, "--worker", "luna"]);
        scene.hosts[0].said(&["board", "block", &task, "--kind", "needs_input", "which name?"]);
    };
    let both = |scene: &Scene| {
        scene.hosts.each_ref().map(|host| {
            let done = host.call(&["watchbill", "notify", "-v"]);
            String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr)
        })
    };
    // What each machine says of itself is its own to tell.
    both(&scene);
    let before = told(&scene);
    let more = |scene: &Scene| {
        let now = told(scene);
        [now[0] - before[0], now[1] - before[1]]
    };
    needs(&scene, "pick a name");
    let said = both(&scene);
    assert_eq!(more(&scene), [1, 0], "{said:?}");
    needs(&scene, "pick a colour");
    let said = both(&scene);
    assert_eq!(more(&scene), [2, 0], "{said:?}");
    // h1 is off for a quarter of an hour.
    scene.hand.batch_execute("UPDATE epochs SET at = at - 900 WHERE program = 'notify:phone'").unwrap();
    let said = scene.hosts[1].said(&["watchbill", "notify", "-v"]);
    assert_eq!(more(&scene), [2, 1], "{said}");
    needs(&scene, "pick a size");
    let said = both(&scene);
    assert_eq!(more(&scene), [2, 2], "h2 goes on with it: {said:?}");
    // h2 may send no more within the hour, and so after a quarter of one h1 tells what it has to keep.
    let file = scene.hosts[1].home().join(".config/watchbill/config.toml");
    let keys = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{keys}max_per_hour = 1\n")).unwrap();
    needs(&scene, "pick a shape");
    for age in [600, 300] {
        let sql = format!("UPDATE epochs SET at = at - {age} WHERE program = 'notify:phone'");
        scene.hand.batch_execute(&sql).unwrap();
        let said = scene.hosts[1].said(&["watchbill", "notify", "-v"]);
        assert!(said.contains("messages were sent within the hour"), "{said}");
    }
    let said = scene.hosts[0].said(&["watchbill", "notify", "-v"]);
    assert_eq!(more(&scene), [3, 2], "{said}");
    assert_eq!(scene.count("epochs WHERE n > 0"), 0, "that is no decision about the board");
}
