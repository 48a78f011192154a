//! The figures of docs/evidence/several-hosts.md. Each is measured only where `WATCHBILL_MEASURE` names it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base::time::Time;
use board::{
    Answer, Attendance, Begin, Board, BoardId, Detail, Duty, Mode, NewTask, Outcome, Status, Step, hermes,
};
use postgres::Client;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use watchbill_postgres::{PostgresBoard, Secrets};

use crate::clients::{fill, is_sound};
use crate::distance::Distance;
use crate::partitions::{Space, may_unshare};
use crate::pool::Pool;
use crate::programs::Machine;
use crate::races::{look, step, trail};
use crate::server::{PATIENCE, Place, Server, started};

fn is_asked_for(figure: &str) -> bool {
    let named = std::env::var("WATCHBILL_MEASURE").unwrap_or_default();
    let is_named = named.split(',').any(|name| name == figure);
    if !is_named {
        println!("skipped: it is measured with WATCHBILL_MEASURE={figure}");
    }
    is_named
}

/// Numbers of a variable, or these.
fn numbers(variable: &str, default: &str) -> Vec<usize> {
    let said = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    said.split(',').map(|n| n.parse().expect("a number")).collect()
}

fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap().split(' ').take(1).collect()
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn at(mut all: Vec<f64>, share: f64) -> f64 {
    all.sort_by(f64::total_cmp);
    all[((all.len() - 1) as f64 * share).round() as usize]
}

const COUNTS: [&str; 3] = [
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track_planning=on",
    "max_connections=500",
];

/// A server that counts what its statements cost.
fn counting(fsync: &str) -> Option<Server> {
    let server = started(&[&COUNTS[..], &[fsync]].concat())?;
    let mut hand = Client::connect(&server.plain(), postgres::NoTls).unwrap();
    hand.batch_execute("CREATE EXTENSION pg_stat_statements").unwrap();
    Some(server)
}

/// What statements cost since they were forgotten.
#[derive(Debug, Default, Clone, Copy)]
struct Cost {
    statements: f64,
    /// In planning and carrying out.
    ms: f64,
    buffers: f64,
    wal: f64,
}

fn forget(hand: &mut Client) {
    hand.batch_execute("SELECT public.pg_stat_statements_reset()").unwrap();
}

fn cost(hand: &mut Client) -> Cost {
    let sql = "SELECT sum(calls)::float8, sum(total_exec_time + total_plan_time), \
               sum(shared_blks_hit + shared_blks_read)::float8, sum(wal_bytes)::float8 \
               FROM public.pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'";
    let row = hand.query_one(sql, &[]).unwrap();
    let number = |nth: usize| row.get::<_, Option<f64>>(nth).unwrap_or_default();
    Cost { statements: number(0), ms: number(1), buffers: number(2), wal: number(3) }
}

/// The dearest statements since they were forgotten.
fn dearest(hand: &mut Client, most: i64) {
    let sql = "SELECT calls, (total_exec_time + total_plan_time) / calls, (shared_blks_hit + shared_blks_read) / calls, \
               rows / calls, regexp_replace(left(query, 110), '\\s+', ' ', 'g') FROM public.pg_stat_statements \
               WHERE query NOT LIKE '%pg_stat_statements%' ORDER BY total_exec_time + total_plan_time DESC LIMIT $1";
    println!("| calls | ms each | buffers each | rows each | statement |\n|---:|---:|---:|---:|---|");
    for row in hand.query(sql, &[&most]).unwrap() {
        let (calls, ms, buffers, rows): (i64, f64, i64, i64) =
            (row.get(0), row.get(1), row.get(2), row.get(3));
        println!("| {calls} | {ms:.3} | {buffers} | {rows} | `{}` |", row.get::<_, &str>(4));
    }
}

/// Milliseconds that a process spent on a processor.
fn cpu(pid: u32) -> f64 {
    let said = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    said.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or_default() / 1e6
}

/// Runs a program to its end: milliseconds of wall clock and of processor time.
fn timed(mut command: Command) -> (f64, f64) {
    let began = Instant::now();
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    let (wall, cpu) = (began.elapsed().as_secs_f64() * 1e3, cpu(child.id()));
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    (wall, cpu)
}

/// One pass that only looks.
struct Pass {
    wall: f64,
    cpu: f64,
    trips: usize,
    bytes: usize,
    cost: Cost,
}

impl Pass {
    fn of(machine: &Machine, place: &Place<'_>, way: &Distance, hand: &mut Client) -> Pass {
        _ = way.counted();
        forget(hand);
        let (wall, cpu) = timed(machine.command_on(&way.url(place), &["heal", "--dry-run"]));
        let (trips, bytes) = way.counted();
        Pass { wall, cpu, trips, bytes, cost: cost(hand) }
    }
}

fn median_of(all: &[Pass], part: fn(&Pass) -> f64) -> f64 {
    median(all.iter().map(part).collect())
}

/// Tasks that were done days ago: three events, an attempt and a comment each. Each second one waited for the one before it.
fn history(hand: &mut Client, tasks: usize) {
    let sql = "
INSERT INTO tasks (id, title, body, status, assignee, created_at, started_at, completed_at)
  SELECT 't_' || lpad(to_hex(n), 8, '0'), 'Write chapter ' || n, repeat('word ', 60), 'done', 'luna', now_s() - 864000,
  now_s() - 863000, now_s() - 862000 FROM generate_series(1, $1) n;
INSERT INTO task_events (task_id, kind, payload, created_at)
  SELECT 't_' || lpad(to_hex(n), 8, '0'), kind, '{\"by\":\"luna\"}', now_s() - 864000
  FROM generate_series(1, $1) n, unnest(ARRAY['created', 'claimed', 'completed']) kind;
INSERT INTO task_runs (task_id, profile, status, outcome, started_at, ended_at, summary)
  SELECT 't_' || lpad(to_hex(n), 8, '0'), 'luna', 'done', 'completed', now_s() - 863000, now_s() - 862000, 'written'
  FROM generate_series(1, $1) n;
INSERT INTO task_comments (task_id, author, body, created_at)
  SELECT 't_' || lpad(to_hex(n), 8, '0'), 'rosa', 'note', now_s() - 863000 FROM generate_series(1, $1) n;
INSERT INTO task_links SELECT 't_' || lpad(to_hex(n - 1), 8, '0'), 't_' || lpad(to_hex(n), 8, '0')
  FROM generate_series(2, $1, 2) n;
";
    hand.batch_execute("SET synchronous_commit = off").unwrap();
    hand.batch_execute(&sql.replace("$1", &tasks.to_string())).unwrap();
}

fn done(board: &mut dyn Board, now: Time, steps: &[Step]) {
    let told = board.apply(now, steps, PATIENCE).unwrap();
    assert!(told.iter().all(|one| one.word() == "applied"), "{told:?}");
}

/// 600 open tasks: 180 run on another host, 120 are blocked, 100 ready, 200 wait for one of these.
fn open_tasks(board: &mut PostgresBoard) {
    let now = Time::of_clock();
    let id = |n: usize| format!("t_f{n:07x}");
    let other =
        Attendance { host: "h2", boot: "b", uptime: 9_999, age: 9_999, program: "heal", duty: Duty::Heals };
    board.attend(&other).unwrap();
    let new = |n: usize| {
        let (status, parents) = match n {
            0..400 => (Status::Ready, Vec::new()),
            _ => (Status::Todo, vec![id(300 + n % 100)]),
        };
        let task = NewTask {
            title: format!("Task {n}"),
            // As long as those of the history: a shorter one would go into what is left of an old page.
            body: Some("word ".repeat(60)),
            assignee: Some("luna".into()),
            ..NewTask::default()
        };
        step(&id(n), None, hermes::created(status, task, &parents, &trail()))
    };
    done(board, now, &(0..600).map(new).collect::<Vec<_>>());
    let ids: Vec<String> = (0..300).map(id).collect();
    let seen = board.look(&ids).unwrap();
    let claim = |(n, d): (usize, &Detail)| {
        let lock = format!("h2:{n}:x");
        step(&d.task.id, Some(d), hermes::claimed(d, &lock, now.plus(86_400), Some(7), None, &trail()))
    };
    // One by one, as on a board: many rows changed at once would leave their pages, each for one of its own.
    seen.iter().enumerate().map(claim).for_each(|one| done(board, now, &[one]));
    let seen = board.look(&ids[180..]).unwrap();
    let block = |d: &Detail| {
        let blocked = hermes::blocked(d, "Which name?", Some("needs_input"), &trail());
        step(&d.task.id, Some(d), blocked)
    };
    seen.iter().map(block).for_each(|one| done(board, now, &[one]));
}

/// What is open began 20 minutes ago, so that no pass sees it at another age than the next one; and h2 still attends.
const AGED: [&str; 2] = [
    "
DO $$ DECLARE one text; BEGIN
  FOR one IN SELECT id FROM tasks WHERE status <> 'done' LOOP
    UPDATE tasks SET started_at = started_at - 1200, last_heartbeat_at = last_heartbeat_at - 1200, created_at = created_at - 1200
      WHERE id = one;
    COMMIT;
  END LOOP;
END $$",
    "
UPDATE task_runs SET started_at = started_at - 1200, last_heartbeat_at = last_heartbeat_at - 1200 WHERE ended_at IS NULL;
UPDATE task_events SET created_at = created_at - 1200 WHERE created_at > now_s() - 3600;
UPDATE hosts SET seen_at = seen_at - 1200, lease_until = now_s() + 86400, healed_at = healed_at - 1200;
",
];

/// Workers of this host, each with a task.
struct Workers(Vec<Child>);

impl Workers {
    fn on(machine: &Machine, most: usize) -> Workers {
        let one = |_| {
            let task = machine.said(&["board", "add", "write the report", "--assignee", "nova"]);
            let worker = Command::new("sleep").arg("3600").env("WATCHBILL_TASK", &task).spawn().unwrap();
            let pid = worker.id().to_string();
            machine.said(&["board", "claim", &task, "--worker", "nova", "--ttl", "24h", "--pid", &pid]);
            worker
        };
        Workers((0..most).map(one).collect())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            _ = worker.kill();
            _ = worker.wait();
        }
    }
}

/// `passes`: an idle pass of `heal --dry-run` on boards of several sizes (`WATCHBILL_MEASURE_TASKS`), from several distances
/// in milliseconds (`WATCHBILL_MEASURE_DISTANCES`).
#[test]
fn an_idle_pass_by_size_and_distance() {
    if !is_asked_for("passes") {
        return;
    }
    let Some(server) = counting("fsync=off") else { return };
    let sizes = numbers("WATCHBILL_MEASURE_TASKS", "1000,100000,1000000");
    let rounds = numbers("WATCHBILL_MEASURE_ROUNDS", "11")[0];
    let mut hand = Client::connect(&server.plain(), postgres::NoTls).unwrap();
    let boards: Vec<_> = sizes
        .iter()
        .map(|tasks| {
            let place = server.board();
            let began = Instant::now();
            history(&mut place.hand(), tasks - 620);
            open_tasks(&mut place.open());
            let machine = Machine::new("h1", &place.url);
            let workers = Workers::on(&machine, 20);
            AGED.into_iter().for_each(|sql| place.hand().batch_execute(sql).unwrap());
            machine.said(&["heal"]);
            // Events lie as they were written: on a board none is ever changed.
            place.hand().batch_execute("CLUSTER task_events USING task_events_pkey").unwrap();
            place.hand().batch_execute("VACUUM ANALYZE").unwrap();
            let pages = "SELECT count(DISTINCT (ctid::text::point)[0]) FROM tasks WHERE status <> 'done'";
            let pages: i64 = place.hand().query_one(pages, &[]).unwrap().get(0);
            println!(
                "{tasks} tasks made in {:.0} s, its open ones on {pages} pages, load {}",
                began.elapsed().as_secs_f64(),
                load()
            );
            (*tasks, place, machine, workers)
        })
        .collect();
    hand.batch_execute("CHECKPOINT").unwrap();
    let distances = numbers("WATCHBILL_MEASURE_DISTANCES", "0,5,150").into_iter().map(|ms| ms as u64);
    let ways: Vec<(u64, Distance)> =
        distances.map(|ms| (ms, Distance::to(&server.folder, Duration::from_millis(ms)))).collect();
    let mut figures: BTreeMap<(usize, u64), Vec<Pass>> = BTreeMap::new();
    for (ms, way) in &ways {
        // The first round counts for nothing.
        for round in 0..=if *ms > 50 { 3 } else { rounds } {
            let mut order: Vec<usize> = (0..boards.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for nth in order {
                let (tasks, place, machine, _) = &boards[nth];
                let pass = Pass::of(machine, place, way, &mut hand);
                if round > 0 {
                    figures.entry((*tasks, *ms)).or_default().push(pass);
                }
            }
        }
    }
    println!(
        "| tasks | distance ms | round trips | statements | buffers | KB of answers | server ms | heal's processor ms | whole ms | load |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for ((tasks, ms), all) in &figures {
        let least = all.iter().map(|one| one.trips).min().unwrap();
        let most = all.iter().map(|one| one.trips).max().unwrap();
        let trips = if least == most { least.to_string() } else { format!("{least} to {most}") };
        println!(
            "| {tasks} | {ms} | {trips} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1} | {:.1} | {} |",
            median_of(all, |one| one.cost.statements),
            median_of(all, |one| one.cost.buffers),
            median_of(all, |one| one.bytes as f64) / 1_000.0,
            median_of(all, |one| one.cost.ms),
            median_of(all, |one| one.cpu),
            median_of(all, |one| one.wall),
            load()
        );
    }
    let by_size = boards.iter().map(|(tasks, place, machine, _)| {
        forget(&mut hand);
        timed(machine.command_on(&place.url, &["heal", "--dry-run"]));
        (*tasks, buffers(&mut hand))
    });
    grown(&by_size.collect::<Vec<_>>());
    println!("\nThe statements of one pass on the largest board:\n");
    dearest(&mut hand, 40);
}

/// Buffers of each statement since they were forgotten.
fn buffers(hand: &mut Client) -> BTreeMap<String, i64> {
    let sql = "SELECT regexp_replace(left(query, 60) || '... ' || right(query, 110), '\\s+', ' ', 'g'), \
               sum(shared_blks_hit + shared_blks_read)::bigint FROM public.pg_stat_statements \
               WHERE query NOT LIKE '%pg_stat_statements%' GROUP BY 1";
    hand.query(sql, &[]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// What each statement of a pass reads on the smallest board and on the others; first what grows most.
fn grown(by_size: &[(usize, BTreeMap<String, i64>)]) {
    let statements: BTreeSet<&String> = by_size.iter().flat_map(|(_, all)| all.keys()).collect();
    let of = |statement: &String| -> Vec<i64> {
        by_size.iter().map(|(_, all)| all.get(statement).copied().unwrap_or_default()).collect()
    };
    let mut rows: Vec<(Vec<i64>, &String)> = statements.into_iter().map(|one| (of(one), one)).collect();
    rows.sort_by_key(|(all, _)| all[0] - all[all.len() - 1]);
    println!("\nThe buffers of each statement, by the number of tasks:\n");
    let sizes: Vec<String> = by_size.iter().map(|(tasks, _)| tasks.to_string()).collect();
    println!("| {} | statement |\n|{}---|", sizes.join(" | "), "---:|".repeat(sizes.len()));
    for (all, statement) in rows {
        let all: Vec<String> = all.iter().map(i64::to_string).collect();
        println!("| {} | `{statement}` |", all.join(" | "));
    }
}

/// `words`: what one claim, heartbeat and end costs the server, on a board of `WATCHBILL_MEASURE_TASKS`.
#[test]
fn what_each_word_of_a_worker_costs_the_server() {
    if !is_asked_for("words") {
        return;
    }
    let Some(server) = counting("fsync=on") else { return };
    let place = server.board();
    let mut hand = place.hand();
    history(&mut hand, *numbers("WATCHBILL_MEASURE_TASKS", "1000000").last().unwrap());
    open_tasks(&mut place.open());
    let rounds = 300_i64;
    let ready = "INSERT INTO tasks (id, title, status, assignee, created_at) SELECT 't_e' || lpad(to_hex(n), 7, '0'), 'Task', 'ready', 'vega', now_s() FROM generate_series(1, $1::bigint) n";
    hand.execute(ready, &[&rounds]).unwrap();
    hand.batch_execute("VACUUM ANALYZE").unwrap();
    let way = Distance::to(&server.folder, Duration::ZERO);
    let mut board =
        PostgresBoard::open(&way.url(&place), Mode::Change, PATIENCE, &Secrets::default()).unwrap();
    let backend = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() \
                   ORDER BY backend_start DESC LIMIT 1";
    let backend = u32::try_from(hand.query_one(backend, &[]).unwrap().get::<_, i32>(0)).unwrap();
    let now = Time::of_clock();
    let me = Attendance {
        host: "h1",
        boot: "b",
        uptime: 9_999,
        age: 9_999,
        program: "board run",
        duty: Duty::Works,
    };
    let mut held: Vec<String> = Vec::new();
    let mut take = |board: &mut PostgresBoard, nth: usize| {
        let taken = board.take_next(now, &[Some("vega")], Begin::At(0), PATIENCE, &mut |seen| {
            let claim = hermes::claimed(seen, &format!("h1:{nth}:x"), now.plus(900), Some(7), None, &trail());
            Answer::Take(step(&seen.task.id, Some(seen), claim).into())
        });
        held.push(taken.unwrap().unwrap().0.task.id.clone());
    };
    println!(
        "| word | round trips | statements | buffers | server ms | backend's processor ms | bytes of WAL | whole ms | load |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    let mut measured =
        |word: &str, board: &mut PostgresBoard, of: &mut dyn FnMut(&mut PostgresBoard, usize)| {
            forget(&mut hand);
            _ = way.counted();
            let (before, began) = (cpu(backend), Instant::now());
            (0..rounds as usize).for_each(|nth| of(board, nth));
            let (whole, used) = (began.elapsed().as_secs_f64() * 1e3, cpu(backend) - before);
            let (trips, all, each) = (way.counted().0, cost(&mut hand), rounds as f64);
            println!(
                "| {word} | {:.1} | {:.1} | {:.0} | {:.2} | {:.2} | {:.0} | {:.1} | {} |",
                trips as f64 / each,
                all.statements / each,
                all.buffers / each,
                all.ms / each,
                used / each,
                all.wal / each,
                whole / each,
                load()
            );
            if std::env::var_os("WATCHBILL_MEASURE_STATEMENTS").is_some() {
                dearest(&mut hand, 30);
            }
        };
    measured("claim", &mut board, &mut take);
    let says = |board: &mut PostgresBoard, id: &str, of: &dyn Fn(&Detail) -> Vec<board::Change>| {
        let seen = look(board, id);
        done(board, now, &[step(id, Some(&seen), of(&seen))]);
    };
    measured("heartbeat", &mut board, &mut |board, nth| {
        says(board, &held[nth], &|seen| hermes::heartbeat(seen, now.plus(901), None));
    });
    measured("lease of the host", &mut board, &mut |board, _| drop(board.attend(&me).unwrap()));
    measured("end", &mut board, &mut |board, nth| {
        says(board, &held[nth], &|seen| hermes::completed(seen, None, None, &trail()));
    });
    // Connections: what the server's processes that ended have used.
    let used = || -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid)).unwrap();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        10.0 * (fields[13].parse::<f64>().unwrap() + fields[14].parse::<f64>().unwrap())
    };
    let before = used();
    for _ in 0..rounds {
        PostgresBoard::open(&place.url, Mode::Look, PATIENCE, &Secrets::default()).unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    println!(
        "a connection that reads `meta`: {:.2} ms of the server's processor",
        (used() - before) / rounds as f64
    );
}

/// `scale`: an idle pass beside more and more running tasks of 1,000 hosts.
#[test]
fn an_idle_pass_by_running_tasks() {
    if !is_asked_for("scale") {
        return;
    }
    let Some(server) = counting("fsync=off") else { return };
    let mut hand = Client::connect(&server.plain(), postgres::NoTls).unwrap();
    println!(
        "| hosts | running tasks | round trips | MB of answers | buffers | server ms | heal's processor ms | whole ms | load |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (hosts, running) in [(10, 200), (100, 2_000), (1_000, 20_000), (1_000, 100_000)] {
        let place = server.board();
        let sql = "
INSERT INTO hosts (name, boot_id, program, since, seen_at, lease_until, healed_at)
  SELECT 'h' || n, 'b', 'heal', now_s(), now_s(), now_s() + 86400, now_s() + 3600 FROM generate_series(2, $1) n;
INSERT INTO tasks (id, title, body, status, assignee, created_at, started_at, claim_lock, claim_expires, worker_pid, last_heartbeat_at)
  SELECT 't_' || lpad(to_hex(n), 8, '0'), 'Write chapter ' || n, repeat('word ', 60), 'running', 'luna', now_s() - 600, now_s() - 300,
  'h' || (2 + n % ($1 - 1)) || ':7:x' || n, now_s() + 86400, 7, now_s() FROM generate_series(1, $2) n;
INSERT INTO task_runs (task_id, profile, status, claim_lock, claim_expires, worker_pid, started_at)
  SELECT id, 'luna', 'running', claim_lock, claim_expires, 7, started_at FROM tasks ORDER BY id;
UPDATE tasks SET current_run_id = r.id FROM task_runs r WHERE r.task_id = tasks.id;
INSERT INTO task_events (task_id, run_id, kind, payload, created_at)
  SELECT t.id, t.current_run_id, 'claimed', json_build_object('lock', t.claim_lock, 'by', 'board', 'pass', 'x')::text, t.started_at FROM tasks t;
";
        let sql = sql.replace("$1", &hosts.to_string()).replace("$2", &running.to_string());
        let mut its = place.hand();
        its.batch_execute(&sql).unwrap();
        its.batch_execute("VACUUM ANALYZE").unwrap();
        let machine = Machine::new("h1", &place.url);
        machine.call(&["heal"]);
        let way = Distance::to(&server.folder, Duration::ZERO);
        let all: Vec<Pass> = (0..5).map(|_| Pass::of(&machine, &place, &way, &mut hand)).collect();
        println!(
            "| {hosts} | {running} | {:.0} | {:.2} | {:.0} | {:.1} | {:.1} | {:.1} | {} |",
            median_of(&all, |one| one.trips as f64),
            median_of(&all, |one| one.bytes as f64) / 1e6,
            median_of(&all, |one| one.cost.buffers),
            median_of(&all, |one| one.cost.ms),
            median_of(&all, |one| one.cpu),
            median_of(&all, |one| one.wall),
            load()
        );
    }
    println!("\nThe statements of the last pass:\n");
    dearest(&mut hand, 8);
}

/// How a client comes to its next task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    Server,
    /// Look at the head of the list, and take it if it is still as it was.
    CompareAndSwap,
    File,
}

/// Claims by so many clients in so many seconds: those that went through, those that another was faster in, and how long each took.
fn claims(
    how: How,
    clients: usize,
    seconds: u64,
    open: &(dyn Fn() -> Box<dyn Board> + Sync),
    hand: &(dyn Fn() -> Option<Client> + Sync),
) -> (usize, usize, Vec<f64>) {
    let (over, lost) = (AtomicBool::new(false), AtomicUsize::new(0));
    let now = Time::of_clock();
    let all: Vec<(String, f64)> = std::thread::scope(|scope| {
        let one = |n: usize| {
            let (over, lost) = (&over, &lost);
            scope.spawn(move || {
                let (mut board, mut hand, mut took) = (open(), hand(), Vec::new());
                let head = "SELECT id FROM tasks WHERE status = 'ready' AND claim_lock IS NULL AND assignee = 'luna' \
                            ORDER BY priority DESC, created_at, id LIMIT 1";
                let (mut began, mut turn) = (Instant::now(), 0);
                while !over.load(Ordering::Relaxed) {
                    turn += 1;
                    let lock = format!("h{n}:{turn}:x");
                    let claim = |seen: &Detail| {
                        step(
                            &seen.task.id,
                            Some(seen),
                            hermes::claimed(seen, &lock, now.plus(900), Some(7), None, &trail()),
                        )
                    };
                    let (id, outcome) = if how == How::CompareAndSwap {
                        let id: String = hand.as_mut().unwrap().query_one(head, &[]).unwrap().get(0);
                        let seen = board.look(&[id]).unwrap().remove(0);
                        // As every caller does: a guard alone lets a claim through over a claim that was seen.
                        if seen.may_be_claimed(true).is_err() {
                            lost.fetch_add(1, Ordering::Relaxed);
                            continue;
                        }
                        let outcome = board.apply(now, &[claim(&seen)], PATIENCE).unwrap().remove(0);
                        (seen.task.id.clone(), outcome)
                    } else {
                        let taken = board.take_next(now, &[Some("luna")], Begin::At(0), PATIENCE, &mut |seen| {
                            Answer::Take(claim(seen).into())
                        });
                        // A file that others write all the time: its turn did not come within the patience.
                        let Ok(taken) = taken else {
                            lost.fetch_add(1, Ordering::Relaxed);
                            continue;
                        };
                        let (seen, outcome) = taken.expect("tasks are left");
                        (seen.task.id.clone(), outcome)
                    };
                    if matches!(outcome, Outcome::Applied { .. }) {
                        took.push((id, began.elapsed().as_secs_f64() * 1e3));
                        began = Instant::now();
                    } else {
                        lost.fetch_add(1, Ordering::Relaxed);
                    }
                }
                took
            })
        };
        let all: Vec<_> = (0..clients).map(one).collect();
        std::thread::sleep(Duration::from_secs(seconds));
        over.store(true, Ordering::Relaxed);
        all.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let ids: BTreeSet<&String> = all.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), all.len(), "{how:?}: a task was claimed twice");
    (all.len(), lost.load(Ordering::Relaxed), all.into_iter().map(|(_, ms)| ms).collect())
}

/// `claims`: how many claims a second, beside a board in a file and beside a plain compare-and-swap.
#[test]
fn claims_a_second() {
    if !is_asked_for("claims") {
        return;
    }
    let Some(server) = started(&["fsync=on", "max_connections=200"]) else { return };
    let (seconds, tasks) = (3, 20_000);
    let mut figures: BTreeMap<(usize, How), Vec<[f64; 4]>> = BTreeMap::new();
    for round in 0..3 {
        for clients in [16, 64] {
            let mut order = [How::Server, How::CompareAndSwap, How::File];
            if round % 2 == 1 {
                order.reverse();
            }
            for how in order {
                let (count, lost, took) = if how == How::File {
                    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
                    let at = base::location::Location::from(folder.path().join("own.db"));
                    board::create(&at, PATIENCE).unwrap();
                    let sql = format!(
                        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {tasks}) \
                         INSERT INTO tasks (id, title, status, assignee, created_at) \
                         SELECT printf('t_%08x', n), 'Task', 'ready', 'luna', 1800000000 + n FROM n"
                    );
                    rusqlite::Connection::open(folder.path().join("own.db"))
                        .unwrap()
                        .execute_batch(&sql)
                        .unwrap();
                    let id = BoardId { at, slug: None, root: None };
                    let open = || board::open(&id, Mode::Change, PATIENCE).unwrap();
                    claims(how, clients, seconds, &open, &|| None)
                } else {
                    let place = server.board();
                    fill(&mut place.hand(), tasks);
                    place.hand().batch_execute("VACUUM ANALYZE").unwrap();
                    let open = || -> Box<dyn Board> { Box::new(place.open()) };
                    let told = claims(how, clients, seconds, &open, &|| Some(place.hand()));
                    is_sound(&mut place.hand());
                    told
                };
                let a_second = count as f64 / seconds as f64;
                let told = [a_second, lost as f64, at(took.clone(), 0.5), at(took, 0.99)];
                println!("{clients} clients, {how:?}: {told:?}, load {}", load());
                figures.entry((clients, how)).or_default().push(told);
            }
        }
    }
    println!(
        "| clients | how | claims a second | lost tries | p50 ms | p99 ms |\n|---:|---|---:|---:|---:|---:|"
    );
    for ((clients, how), all) in &figures {
        let [a_second, lost, p50, p99] =
            [0, 1, 2, 3].map(|nth| median(all.iter().map(|one| one[nth]).collect()));
        println!("| {clients} | {how:?} | {a_second:.0} | {lost:.0} | {p50:.0} | {p99:.0} |");
    }
}

/// Notes when the transaction of each claim began. When it was committed the server knows itself (`track_commit_timestamp`).
const CLAIMS: &str = "CREATE TABLE public.claims (began timestamptz NOT NULL DEFAULT transaction_timestamp()); \
    CREATE FUNCTION public.note_claim() RETURNS trigger LANGUAGE plpgsql AS \
    'BEGIN INSERT INTO public.claims DEFAULT VALUES; RETURN NULL; END'; \
    CREATE TRIGGER note_claim AFTER INSERT ON task_runs FOR EACH ROW EXECUTE FUNCTION public.note_claim()";

/// Milliseconds from the begin of each claim to its commit.
fn claims_took(hand: &mut Client) -> Vec<f64> {
    let sql = "SELECT (EXTRACT(EPOCH FROM pg_xact_commit_timestamp(xmin) - began) * 1000)::float8 FROM public.claims";
    hand.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

/// `crowd`: 8 hosts with `WATCHBILL_MEASURE_WORKERS` workers each on `WATCHBILL_MEASURE_TASKS` tasks, by real `board run` processes. Each
/// host has processes of its own. Each task takes `WATCHBILL_MEASURE_MS`. `WATCHBILL_MEASURE_THROUGH=N`: through a pool of N connections.
#[test]
fn eight_hosts_with_many_workers() {
    if !is_asked_for("crowd") {
        return;
    }
    if !may_unshare() {
        return;
    }
    let Some(server) = started(&["fsync=on", "max_connections=500", "track_commit_timestamp=on"]) else {
        return;
    };
    let tasks = numbers("WATCHBILL_MEASURE_TASKS", "5000")[0];
    let through = numbers("WATCHBILL_MEASURE_THROUGH", "0")[0];
    let work = (numbers("WATCHBILL_MEASURE_MS", "10")[0] as f64 / 1e3).to_string();
    let pool = (through > 0).then(|| Pool::of(&server, through, 2_000).expect("a pool"));
    println!(
        "| pool | workers | tasks | done | attempts | server busy | tasks a second | transactions a task | claim p50 ms | p99 ms | \
         most | longest wait for the pool ms: p50 | p99 | `board run` p50 ms | p99 ms | load |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for workers in numbers("WATCHBILL_MEASURE_WORKERS", "50") {
        let place = server.board();
        let url = pool.as_ref().map_or(place.url.clone(), |pool| pool.url(&place.name));
        let mut hand = place.hand();
        fill(&mut hand, tasks);
        hand.batch_execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public").unwrap();
        hand.batch_execute(CLAIMS).unwrap();
        hand.batch_execute("VACUUM ANALYZE").unwrap();
        hand.batch_execute("SELECT pg_stat_reset()").unwrap();
        let spaces = [(); 8].map(|()| Space::new(&["--pid", "--fork", "--mount-proc", "--kill-child"]));
        let names = ["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"];
        let hosts: Vec<Machine> =
            names.iter().zip(&spaces).map(|(name, space)| space.of(Machine::new(name, &url))).collect();
        let (began, busy) = (Instant::now(), AtomicUsize::new(0));
        let worker = |host: &Machine| {
            let mut took = Vec::new();
            loop {
                let began = Instant::now();
                let done = host.call(&["board", "run", "--assignee", "luna", "--", "sleep", &work]);
                let said = String::from_utf8_lossy(&done.stdout);
                match done.status.code() {
                    Some(0) if said.contains(" done") => took.push(began.elapsed().as_secs_f64() * 1e3),
                    Some(0) => break took,
                    // Its unit starts it again after so long (`RestartSec` of watchbill-worker@.service). At once, 400 processes that
                    // could not connect in time keep the next ones from it.
                    Some(75) => {
                        busy.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_secs(5));
                    }
                    code => panic!("{code:?}: {said}{}", String::from_utf8_lossy(&done.stderr)),
                }
            }
        };
        let (is_over, mut waits) = (AtomicBool::new(false), vec![0.0]);
        let took: Vec<f64> = std::thread::scope(|scope| {
            let (worker, is_over) = (&worker, &is_over);
            let sampled = pool.as_ref().map(|pool| {
                scope.spawn(move || {
                    let mut waits = Vec::new();
                    while !is_over.load(Ordering::Relaxed) {
                        waits.push(pool.longest_wait());
                        std::thread::sleep(Duration::from_millis(100));
                    }
                    waits
                })
            });
            let all = hosts.iter().flat_map(|host| (0..workers).map(move |_| host));
            let all: Vec<_> = all.map(|host| scope.spawn(move || worker(host))).collect();
            let all: Vec<_> = all.into_iter().map(|one| one.join()).collect();
            is_over.store(true, Ordering::Relaxed);
            waits.extend(sampled.into_iter().flat_map(|one| one.join().unwrap()));
            all.into_iter().flat_map(Result::unwrap).collect()
        });
        let whole = began.elapsed().as_secs_f64();
        // What the server counts it knows a moment later.
        std::thread::sleep(Duration::from_millis(1_500));
        is_sound(&mut hand);
        let mut count = |sql: &str| hand.query_one(sql, &[]).unwrap().get::<_, i64>(0);
        let done = count("SELECT count(*) FROM tasks WHERE status = 'done'");
        let runs = count("SELECT count(*) FROM task_runs");
        let transactions =
            count("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'postgres'");
        let claims = claims_took(&mut hand);
        println!(
            "| {through} | {} | {tasks} | {done} | {runs} | {} | {:.1} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {} |",
            8 * workers,
            busy.load(Ordering::Relaxed),
            tasks as f64 / whole,
            transactions as f64 / tasks as f64,
            at(claims.clone(), 0.5),
            at(claims.clone(), 0.99),
            at(claims, 1.0),
            at(waits.clone(), 0.5),
            at(waits, 0.99),
            at(took.clone(), 0.5),
            at(took, 0.99),
            load()
        );
        assert_eq!((usize::try_from(done).unwrap(), usize::try_from(runs).unwrap()), (tasks, tasks));
    }
}
