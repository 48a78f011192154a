//! Real processes, judged by the real kernel.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;

impl Host {
    fn still_gone(&self, proof: &Proof) -> bool {
        self.recheck(&[Some(proof.clone())], &[]).still_gone == [true]
    }
}

struct Killed(Child);

impl Killed {
    fn pid(&self) -> i64 {
        i64::from(self.0.id())
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The policy says "same", so that these tests also hold inside a container.
fn host() -> Host {
    let policy = HostPolicy { pid_namespace: PidNamespace::Same, ..HostPolicy::default() };
    Host::here(&policy, Time::of_clock()).unwrap()
}

/// Everybody's own task, since tests of one program run at once and scan one another.
fn ask(host: &Host, name: &str, pid: Option<i64>) -> Ask {
    Ask {
        task: format!("t_{name}_{}", std::process::id()),
        run: Some(7),
        pid,
        claim_host: Some(host.facts().hostname),
        claimer_pid: Some(i64::from(std::process::id())),
        since: Time::of_clock(),
        hermes_spawned: false,
        birth: None,
        workers: Vec::new(),
        recorded: Vec::new(),
        namespace: None,
    }
}

fn marked(ask: &Ask, program: &str, args: &[&str]) -> Killed {
    let mut command = Command::new(program);
    command.args(args).env("HERMES_KANBAN_TASK", &ask.task).env("HERMES_KANBAN_RUN_ID", "7");
    // It inherits no descriptor of the test: a tool that outlives a failed test would keep its output open.
    Killed(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// Looks until the kernel shows what was done (a child runs exec in its own time), for at most ten seconds.
fn look(host: &Host, ask: &Ask, mut seen: impl FnMut(&Look) -> bool) -> Look {
    for _ in 0..1_000 {
        let look = host.look(std::slice::from_ref(ask)).remove(0);
        if seen(&look) {
            return look;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never seen: {:?}", host.look(std::slice::from_ref(ask)))
}

#[test]
fn a_worker_lives_and_dies() {
    let host = host();
    let mut ask = ask(&host, "life", None);
    let mut worker = marked(&ask, "sleep", &["600"]);
    ask.pid = Some(worker.pid());
    let alive = look(&host, &ask, |l| l.life == Life::Alive);
    assert_eq!((alive.worker_pid, alive.claimer, alive.orphans), (Some(worker.pid()), Life::Alive, vec![]));

    let Probe::Present(seen) = host.processes().probe(worker.pid()) else { panic!("no worker") };
    let boot_id = host.facts().boot_id;
    let wrong = Proof {
        task: ask.task.clone(),
        run: ask.run,
        pid: ask.pid,
        start_ticks: seen.ticks,
        boot_id,
        namespace: None,
        workers: Vec::new(),
    };
    assert!(!host.still_gone(&wrong), "a stranger that turns out to be the worker ends the proof");

    let stopped = |signal| {
        let pid = rustix::process::Pid::from_child(&worker.0);
        rustix::process::kill_process(pid, signal).unwrap();
    };
    stopped(rustix::process::Signal::STOP);
    let still = look(&host, &ask, |l| !l.stopped.is_empty());
    assert_eq!((still.life, still.stopped), (Life::Alive, vec![worker.pid()]), "its parent goes on");
    stopped(rustix::process::Signal::CONT);
    look(&host, &ask, |l| l.stopped.is_empty());

    worker.0.kill().unwrap();
    let zombie = look(&host, &ask, |l| l.life == Life::Gone);
    assert!(zombie.because.contains("collected"), "{}", zombie.because);
    assert!(host.still_gone(&zombie.proof.unwrap()));

    worker.0.wait().unwrap();
    let gone = look(&host, &ask, |l| l.because.contains("does not exist"));
    let proof = gone.proof.unwrap();
    assert!(host.still_gone(&proof));
    assert!(!host.still_gone(&Proof { boot_id: "another boot".into(), ..proof.clone() }));
    let blind = Host { proc: host.proc.join("no-such-folder"), ..host.clone() };
    assert!(!blind.still_gone(&proof), "who cannot look around cannot say that nobody is there");
    let mut inner = host.clone();
    (inner.same_namespace, inner.facts.initial_pid_namespace) = (false, false);
    assert!(!inner.still_gone(&proof));
}

#[test]
fn a_worker_by_its_command_line() {
    let host = host();
    let ask = ask(&host, "command", Some(4_194_305));
    let gone = look(&host, &ask, |l| l.life == Life::Gone);
    let script = "import sys; print('up', flush=True); sys.stdin.read()";
    let mut command = Command::new("python3");
    command.args(["-c", script, "chat", "-q", &format!("work kanban task {}", ask.task)]);
    command.env("HERMES_KANBAN_TASK", &ask.task);
    let mut worker = Killed(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    // Only now is it what it will stay: a `python3` that is a script has several command lines in a row, and none in
    // the middle of each exec.
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(worker.0.stdout.take().unwrap()), &mut line)
        .unwrap();
    let alive = look(&host, &ask, |l| l.life == Life::Alive && l.worker_pid == Some(worker.pid()));
    assert!(alive.because.contains("command line"), "{}", alive.because);
    assert!(!host.still_gone(&gone.proof.unwrap()), "a worker that came back ends the proof");
}

#[test]
fn a_recycled_pid() {
    let host = host();
    let sleep = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let stranger = Killed(sleep);
    let mut ask = ask(&host, "recycled", Some(stranger.pid()));
    ask.since = host.facts().boot_time;
    let gone = look(&host, &ask, |l| l.life == Life::Gone);
    assert!(gone.because.contains("another process"), "{}", gone.because);
    let proof = gone.proof.unwrap();
    assert!(proof.start_ticks.is_some() && host.still_gone(&proof));
    assert!(!host.still_gone(&Proof { start_ticks: None, ..proof.clone() }), "the pid is in use again");
    assert!(!host.still_gone(&Proof { start_ticks: proof.start_ticks.map(|t| t + 1), ..proof.clone() }));

    // Claimed just now, the same process cannot be told from a worker.
    let fresh = Ask { since: Time::of_clock(), ..ask.clone() };
    assert_eq!(look(&host, &fresh, |_| true).life, Life::Unknown);
    let birth = Birth { boot: Boot::Id(host.facts().boot_id), ticks: proof.start_ticks.unwrap() };
    let born = Ask { birth: Some(birth), ..ask };
    assert_eq!(look(&host, &born, |_| true).life, Life::Alive);
}

#[test]
fn tools_outlive_a_killed_worker() {
    let host = host();
    let mut ask = ask(&host, "orphan", None);
    let tool = "import subprocess,time\n\
        subprocess.Popen(['sleep','61'], start_new_session=True)\ntime.sleep(600)";
    let mut worker = marked(&ask, "python3", &["-c", tool]);
    ask.pid = Some(worker.pid());
    let sleeps = |l: &Look| l.orphans.iter().any(|o| o.command == "sleep");
    let alive = look(&host, &ask, sleeps);
    assert_eq!(alive.life, Life::Alive);
    worker.0.kill().unwrap();
    worker.0.wait().unwrap();
    let gone = look(&host, &ask, |l| l.life == Life::Gone);
    assert_eq!(gone.orphans, alive.orphans);
    assert!(host.still_gone(&gone.proof.unwrap()), "orphans are waited for elsewhere");

    // With no pid on record the same process might be the worker.
    let blind = Ask { pid: None, ..ask.clone() };
    let doubt = look(&host, &blind, |_| true);
    assert_eq!(doubt.life, Life::Unknown, "{}", doubt.because);
    let proof = Proof {
        task: ask.task,
        run: ask.run,
        pid: None,
        start_ticks: None,
        boot_id: host.facts().boot_id,
        namespace: None,
        workers: Vec::new(),
    };
    assert!(!host.still_gone(&proof));

    let orphan = rustix::process::Pid::from_raw(i32::try_from(gone.orphans[0].pid).unwrap()).unwrap();
    rustix::process::kill_process(orphan, rustix::process::Signal::KILL).unwrap();
}

/// A worker that is sure to be who it is by now: a child runs exec in its own time.
fn target(host: &Host, ask: &Ask, pid: i64) -> Target {
    let known = |_: &Look| host.target(&ask.task, ask.run, pid).is_some();
    look(host, &Ask { pid: Some(pid), ..ask.clone() }, known);
    host.target(&ask.task, ask.run, pid).unwrap()
}

#[test]
fn nobody_but_the_worker_that_was_seen_is_stopped() {
    let host = host();
    let ask = ask(&host, "stop", None);
    let mut worker = marked(&ask, "sleep", &["600"]);
    let seen = target(&host, &ask, worker.pid());
    let refused = |target: Target, why: &str| {
        let said = host.stop(&target).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    };
    refused(Target { start_ticks: seen.start_ticks + 1, ..seen.clone() }, "another process now");
    refused(Target { boot_id: "another boot".into(), ..seen.clone() }, "another boot");
    refused(Target { task: format!("{}0", seen.task), ..seen.clone() }, "does not name the task");
    refused(Target { run: Some(8), ..seen.clone() }, "does not name the task");
    refused(Target { pid: 1, ..seen.clone() }, "not the pid of a worker");
    assert!(worker.0.try_wait().unwrap().is_none(), "it lives on");

    let proof = host.stop(&seen).unwrap();
    assert!(worker.0.try_wait().unwrap().is_some());
    assert_eq!((proof.task.as_str(), proof.run, proof.pid), (seen.task.as_str(), Some(7), Some(seen.pid)));
    assert!(host.still_gone(&proof));
    refused(seen, "has ended");
}

#[test]
fn a_harness_is_who_started_the_worker_and_says_so() {
    let host = host();
    let ask = ask(&host, "harness", None);
    // The worker is the shell's child, and carries the mark alone.
    let script = format!(
        "HERMES_KANBAN_TASK={} HERMES_KANBAN_RUN_ID=7 sleep 600 & echo $!; wait; exit 0; our harness",
        ask.task
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut harness = Killed(shell.spawn().unwrap());
    let mut line = String::new();
    let out = harness.0.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let seen = target(&host, &ask, line.trim().parse().unwrap());

    assert_eq!(host.stop_harness(&seen, "somebody else's harness"), Ok(false));
    let other = Target { start_ticks: seen.start_ticks + 1, ..seen.clone() };
    assert!(
        host.stop_harness(&other, "our harness").unwrap_err().to_string().contains("another process now")
    );
    assert!(harness.0.try_wait().unwrap().is_none(), "it lives on");

    assert_eq!(host.stop_harness(&seen, "our harness"), Ok(true));
    assert!(harness.0.try_wait().unwrap().is_some());
    assert_eq!(host.stop_harness(&seen, "our harness"), Ok(false), "it has no harness any more");
    host.stop(&seen).unwrap();
}

#[test]
fn what_was_claimed_here_under_another_name_is_known_by_boot_and_namespace() {
    let (host, dir) = (host(), tempfile::tempdir().unwrap());
    let facts = host.facts();
    let board = host.of_board(&dir.path().join("b.db"));
    let mut ended = Command::new("true").spawn().unwrap();
    let pid = i64::from(ended.id());
    ended.wait().unwrap();
    let birth = Birth { boot: facts.boot(), ticks: 1 };
    let claimed = Ask {
        claim_host: Some("moon".into()),
        birth: Some(birth),
        namespace: Some(facts.pid_namespace),
        ..ask(&host, "renamed", Some(pid))
    };
    let life = |host: &Host, ask: &Ask| host.look(std::slice::from_ref(ask))[0].life;
    assert_eq!(life(&board, &claimed), Life::Gone);
    let other_boot = Birth { boot: Boot::Id("fc89d26c-7fdb-41ec-b056-2f6d5e9169ff".into()), ticks: 1 };
    for ask in [
        Ask { birth: Some(other_boot), ..claimed.clone() },
        Ask { birth: None, ..claimed.clone() },
        Ask { namespace: Some("pid:[1]".into()), ..claimed.clone() },
        Ask { namespace: None, ..claimed.clone() },
    ] {
        assert_eq!(life(&board, &ask), Life::Unknown, "{ask:?}");
    }
    // On a board that several hosts share each is its name.
    assert_eq!(life(&host.of_server("postgres://db/b"), &claimed), Life::Unknown);
}

#[test]
fn answers_come_in_the_order_of_the_questions() {
    let host = host();
    let mine = ask(&host, "order", Some(4_194_305));
    let theirs = Ask { claim_host: Some("elsewhere".into()), ..mine.clone() };
    let lives: Vec<Life> = host.look(&[theirs, mine]).iter().map(|l| l.life).collect();
    assert_eq!(lives, [Life::Unknown, Life::Gone]);
    assert_eq!(host.look(&[]), vec![]);
}

/// A machine on which process 77 works on `t_a`, and how often all of it was scanned.
#[derive(Default)]
struct Counted(Cell<u32>);

impl Processes for Counted {
    fn scan(&self, tasks: &BTreeSet<&str>) -> Scan {
        self.0.set(self.0.get() + 1);
        let worker = Process {
            pid: 77,
            parent: 1,
            zombie: false,
            stopped: false,
            terminal: false,
            kernel: false,
            ticks: Some(1),
            command: Some("hermes chat -q work kanban task t_a".into()),
            asked: Some("t_a".into()),
            marks: Marks::Read { task: Some("t_a".into()), run: None },
            is_unclear: false,
        };
        Scan::over([worker], tasks)
    }
    fn probe(&self, _: i64) -> Probe {
        Probe::Absent
    }
}

/// From when on a machine was asked to wait for processes that hide their environment.
#[derive(Default)]
struct Waited(Cell<Option<u64>>);

impl Processes for Waited {
    fn scan(&self, _: &BTreeSet<&str>) -> Scan {
        Scan::default()
    }
    fn probe(&self, _: i64) -> Probe {
        Probe::Absent
    }
    fn settle(&self, _: &mut Scan, _: &BTreeSet<&str>, from: u64) {
        self.0.set(Some(from));
    }
}

#[test]
fn it_is_waited_only_for_what_a_verdict_depends_on() {
    let host = host();
    let boot = host.facts().boot_time;
    let without_pid = Ask { since: boot.plus(1_000), ..ask(&host, "wait", None) };
    let later = Ask { since: boot.plus(2_000), ..without_pid.clone() };
    let abroad = Ask { claim_host: Some("elsewhere".into()), ..without_pid.clone() };
    let of_hermes = Ask { hermes_spawned: true, ..without_pid.clone() };
    let recorded = Ask { pid: Some(9), ..without_pid.clone() };
    let waited = |asks: &[&Ask]| {
        let machine = Waited::default();
        let asks: Vec<Ask> = asks.iter().map(|a| (*a).clone()).collect();
        host.view(&machine).look(&asks);
        machine.0.get().map(|ticks| ticks / host.view(&machine).hertz)
    };
    assert_eq!(waited(&[&recorded, &of_hermes, &abroad]), None);
    assert_eq!(waited(&[&recorded, &later, &abroad]), Some(1_995), "not for who was there before");
    assert_eq!(waited(&[&later, &without_pid]), Some(995));
}

#[test]
fn the_last_look_before_a_write_is_one_scan() {
    let (host, machine) = (host(), Counted::default());
    let proof = |task: &str| {
        let (task, boot_id) = (task.to_owned(), host.facts().boot_id);
        Some(Proof {
            task,
            run: Some(7),
            pid: Some(9),
            start_ticks: None,
            boot_id,
            namespace: None,
            workers: Vec::new(),
        })
    };
    let view = host.view(&machine);
    let none = view.recheck(&[None], &[]);
    assert_eq!((none.still_gone, none.at_work, machine.0.get()), (vec![true], vec![], 0), "nothing to ask");
    let all = view.recheck(&[proof("t_a"), None, proof("t_b")], &[Freed::named("t_b"), Freed::named("t_a")]);
    assert_eq!(
        (all.still_gone, all.at_work),
        (
            vec![false, true, true],
            vec![None, Some(AtWork { pid: 77, command: "hermes".into(), is_worker: true })]
        )
    );
    assert_eq!(machine.0.get(), 1);
}

#[test]
fn a_worker_whose_environment_says_nothing_is_known_by_its_recorded_start() {
    let host = host();
    // It ends with its stdin, which is ours.
    let mut command = Command::new("cat");
    command.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::piped()).stdout(Stdio::null());
    let worker = Killed(command.spawn().unwrap());
    let birth = host.birth_of(worker.pid()).unwrap();
    let (boot, ticks) = (birth.boot.clone(), birth.ticks);
    // Of this start of the container, where we are in one.
    let facts = host.facts();
    assert_eq!(boot, Boot::Within { id: facts.boot_id.clone(), init: facts.init_ticks.unwrap() });
    for blind in
        [HostFacts { init_ticks: None, ..facts.clone() }, HostFacts { is_time_shifted: true, ..facts }]
    {
        assert_eq!(blind.boot(), Boot::Id(blind.boot_id.clone()));
        assert!(blind.is_this_boot(&blind.boot()));
    }
    let recorded = |has_blocked: bool, ticks: u64| {
        let birth = Birth { boot: boot.clone(), ticks };
        [Recorded { run: Some(1), pid: worker.pid(), birth, has_blocked }]
    };
    let at_work = |recorded: &[Recorded]| {
        let workers = vec![(1, worker.pid())].into();
        host.recheck(&[], &[Freed { task: "t_a", workers, recorded: recorded.into() }]).at_work.remove(0)
    };
    let seen = |is_worker| Some(AtWork { pid: worker.pid(), command: "cat".into(), is_worker });
    assert_eq!(at_work(&recorded(false, ticks)), seen(true));
    assert_eq!(at_work(&recorded(true, ticks)), seen(false), "it said itself that it stops");
    assert_eq!(at_work(&recorded(false, ticks + 1)), None, "another process has its number");
    let beside = |claimer| {
        let freed = Freed { recorded: recorded(false, ticks).to_vec().into(), ..Freed::named("t_a") };
        host.at_work_beside(&[freed], claimer).remove(0)
    };
    assert_eq!(beside(None), seen(true));
    assert_eq!(beside(Some(worker.pid())), None, "it claims the task again");
}

/// These processes, and no others.
struct Few(Vec<Process>);

impl Processes for Few {
    fn scan(&self, tasks: &BTreeSet<&str>) -> Scan {
        Scan::over(self.0.iter().cloned(), tasks)
    }
    fn probe(&self, pid: i64) -> Probe {
        self.0.iter().find(|p| p.pid == pid).cloned().map_or(Probe::Absent, Probe::Present)
    }
}

#[test]
fn a_recorded_worker_of_an_earlier_attempt_is_seen_beside_the_next_one() {
    let host = host();
    let process = |pid: i64, parent: i64, task: Option<&str>| Process {
        pid,
        parent,
        zombie: false,
        stopped: false,
        terminal: false,
        kernel: false,
        ticks: Some(1),
        command: Some("agent".into()),
        asked: None,
        marks: Marks::Read { task: task.map(str::to_owned), run: None },
        is_unclear: false,
    };
    let look = |older: i64, worker: i64, has_blocked: bool, ticks: u64| {
        let birth = Birth { boot: host.facts().boot(), ticks };
        let recorded = vec![Recorded { run: Some(6), pid: 66, birth, has_blocked }];
        let ask = Ask { recorded, ..ask(&host, "next", Some(77)) };
        let worker = process(77, worker, Some(&ask.task));
        let machine = Few(vec![process(66, older, None), worker]);
        let look = host.view(&machine).look(&[ask]).remove(0);
        assert_eq!((look.worker_pid, look.is_older), (Some(77), false), "{look:?}");
        (look.beside, look.stands_aside)
    };
    assert_eq!(look(1, 1, true, 1), (Some((6, 66)), true));
    assert_eq!(look(1, 1, false, 1), (Some((6, 66)), false));
    assert_eq!(look(1, 1, true, 2), (None, false), "another process has its number");
    assert_eq!(look(1, 66, true, 1), (None, false), "it started the next one");
    assert_eq!(look(77, 1, true, 1), (None, false), "the next one started it");
}

#[test]
fn what_an_agent_left_in_a_folder_is_seen() {
    let (host, dir) = (host(), tempfile::tempdir().unwrap());
    let mut tool = Command::new("setsid");
    tool.args(["sleep", "600"]).env_clear().env("PATH", "/usr/bin:/bin").current_dir(dir.path());
    let tool = Killed(tool.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    for _ in 0..1_000 {
        if host.left_inside(dir.path()).iter().any(|o| o.command == "sleep") {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let seen: Vec<_> = host.left_inside(dir.path()).into_iter().map(|o| (o.pid, o.command)).collect();
    assert_eq!(seen, [(tool.pid(), "sleep".to_owned())]);
    drop(tool);
    assert!(host.left_inside(dir.path()).is_empty());
}

#[test]
fn what_a_worker_and_its_children_hold_open_is_seen() {
    let (host, dir) = (host(), tempfile::tempdir().unwrap());
    let (inside, folder) = (dir.path().join("in/a"), dir.path().join("in"));
    std::fs::create_dir(&folder).unwrap();
    for path in [&inside, &dir.path().join("out")] {
        std::fs::write(path, "").unwrap();
    }
    // A child of a child has it, and a file beside the folder. It ends with its stdin, which is ours.
    let script = "sh -c 'cat 3<in/a 4<out; :'; :";
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(dir.path()).stdin(Stdio::piped());
    let worker = Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let real = std::fs::canonicalize(&inside).unwrap();
    let ticks = host.birth_of(worker.pid()).map(|b| b.ticks);
    for _ in 0..1_000 {
        if !host.open_below(worker.pid(), ticks, &folder).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(host.open_below(worker.pid(), ticks, &folder), [real]);
    assert!(host.open_below(worker.pid(), ticks.map(|t| t + 1), &folder).is_empty(), "another process");
    assert!(host.open_below(worker.pid(), ticks, &dir.path().join("none")).is_empty());
}
