//! What a pass that only looks costs, beside the floor under it and beside Hermes.

use anyhow::Result;
use shared::base::registry::NAMES as WATCHERS;
use testkit::generate::Sizes;

use crate::count;
use crate::ground::{Board, Ground};
use crate::hermes::Hermes;
use crate::report::{Report, short};
use crate::run::{Sample, in_turn, once};

/// How many times the cost of `heal` is not passed by another watcher, and by a command that only looks, where the goal is missed.
const WATCHER_HELD: f64 = 2.3;
const DESK_HELD: f64 = 4.0;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Size {
    /// 10,000 tasks, few rounds.
    Quick,
    /// 10,000 and 100,000 tasks.
    Usual,
    /// A million tasks as well.
    Full,
}

/// The programs whose size is shown: the watchers, and the two that a person runs.
pub(crate) fn programs() -> impl Iterator<Item = &'static str> {
    WATCHERS.iter().copied().chain(["board", "watchbill"])
}

/// Boards with the same 600 open tasks and ever more finished ones.
pub(crate) fn boards(ground: &Ground, size: Size) -> Result<Vec<Board>> {
    let all = [("10k", 10_000, Size::Quick), ("100k", 100_000, Size::Quick), ("1M", 1_000_000, Size::Full)];
    let wanted = all.into_iter().filter(|(_, _, from)| size >= *from);
    wanted.map(|(name, tasks, _)| ground.board(name, Sizes::fixed(tasks))).collect()
}

/// Times of a pass and of the floor under it, in turn.
pub(crate) fn times(ground: &Ground, boards: &[Board], size: Size, report: &mut Report) -> Result<()> {
    let rounds = if size == Size::Quick { 15 } else { 31 };
    report.table(
        &format!("One pass that only looks, ms of whole processes ({rounds} rounds in turn)"),
        "board | program | median | least | 90 % | processor | to the floor",
    );
    for board in boards {
        let mut floor = || once(&mut ground.floor(board, false));
        let mut lean = || once(&mut ground.floor(board, true));
        let mut heal = || once(&mut ground.look("heal", &board.path, ground.now));
        let mut others: Vec<_> = WATCHERS[1..]
            .iter()
            .map(|w| move || once(&mut ground.look(w, &board.path, ground.now)))
            .collect();
        let mut things: Vec<&mut dyn FnMut() -> Result<Sample>> = vec![&mut heal, &mut floor, &mut lean];
        things.extend(others.iter_mut().map(|o| o as &mut dyn FnMut() -> Result<Sample>));
        let all = in_turn(rounds, &mut things)?;
        let floor = all[1].median();
        let names = ["heal", "floor", "floor, recorded pids only"].iter().chain(&WATCHERS[1..]);
        for (i, (name, series)) in names.zip(&all).enumerate() {
            // The floor is that of heal: the others read other things.
            let ratio = if i < 3 { short(series.median() / floor) } else { String::new() };
            report.row(&format!("{} | {name} | {series} | {ratio}", board.name));
        }
        let goal = format!("a pass that only looks costs at most 1.3 times the floor ({} tasks)", board.name);
        report.at_most(&goal, 1.3, all[0].median() / floor, " times");
    }
    Ok(())
}

/// Counts that do not depend on how busy the machine is.
pub(crate) fn counts(ground: &Ground, boards: &[Board], report: &mut Report) -> Result<()> {
    if count::has("valgrind", "WATCHBILL_VALGRIND")? {
        report.table("Instructions of the same passes (valgrind)", "board | heal | floor | ratio");
        let mut first = None;
        for board in boards {
            let heal = count::instructions(&ground.look("heal", &board.path, ground.now), 0)? as f64;
            let floor = count::instructions(&ground.floor(board, false), 0)? as f64;
            report.row(&format!("{} | {heal:.0} | {floor:.0} | {}", board.name, short(heal / floor)));
            let goal = format!("at most 1.5 times the instructions of the floor ({} tasks)", board.name);
            report.at_most(&goal, 1.5, heal / floor, " times");
            let (name, least) = *first.get_or_insert((board.name, heal));
            if name != board.name {
                let goal = format!("{} tasks cost at most 15 % more instructions than {name}", board.name);
                report.at_most(&goal, 1.15, heal / least, " times");
            }
        }
        if let Some(board) = boards.last() {
            beside_heal(ground, board, report)?;
        }
    }
    if count::has("strace", "WATCHBILL_STRACE")? {
        report.table(
            "System calls and memory of the same passes (strace)",
            "board | program | calls | of them syncs | peak, KiB | of its own, KiB",
        );
        for board in boards {
            for (i, watcher) in WATCHERS.iter().enumerate() {
                let command = ground.look(watcher, &board.path, ground.now);
                let calls = count::calls(&command)?;
                let syncs: usize = ["fsync", "fdatasync"].iter().filter_map(|n| calls.get(*n)).sum();
                let memory = count::memory(&command)?;
                let all: usize = calls.values().sum();
                report.row(&format!(
                    "{} | {watcher} | {all} | {syncs} | {} | {}",
                    board.name, memory.peak, memory.own
                ));
                report.at_most(
                    &format!("{watcher}, {} tasks: no sync where it only looks", board.name),
                    0.0,
                    syncs as f64,
                    "",
                );
                let mib = |kib: u64| kib as f64 / 1024.0;
                let goal = format!("{watcher}, {} tasks: at most 8 MiB of memory", board.name);
                let why = "most of it are pages of the program and the C library, which all passes share";
                report.known(&goal, (8.0, 18.0), mib(memory.peak), " MiB", why);
                let goal = format!("{watcher}, {} tasks: at most 3 MiB of its own", board.name);
                let why = "it holds what it saw of each open task until the report is written";
                // heal reached it while it looked at silent workers only, and now looks at every attempt.
                let held = if i == 0 { 4.0 } else { 8.0 };
                report.known(&goal, (3.0, held), mib(memory.own), " MiB", why);
            }
        }
    }
    if !count::left_out("WATCHBILL_STRACE") {
        // What is open costs memory, and what is stored does not.
        let open = ground.board("100k-open", Sizes::proportional(100_000))?;
        let command = ground.look("heal", &open.path, ground.now);
        let (calls, memory) = (count::calls(&command)?, count::memory(&command)?);
        let all: usize = calls.values().sum();
        report.row(&format!("{} | heal | {all} | 0 | {} | {}", open.name, memory.peak, memory.own));
    }
    report.table("Programs", "program | MiB");
    let mut largest = 0.0_f64;
    for program in programs() {
        let mib = std::fs::metadata(ground.bin.join(program))?.len() as f64 / 1_048_576.0;
        report.row(&format!("{program} | {mib:.2}"));
        largest = largest.max(mib);
    }
    let mb = 1e6 / 1_048_576.0;
    let why = "watchbill holds all programs, with SQLite, an HTTP client, completions and units";
    report.known("each program at most 8 MB (7.63 MiB)", (8.0 * mb, 13.0 * mb), largest, " MiB", why);
    Ok(())
}

/// What the other watchers and the commands that only look cost beside `heal`, as a person runs them.
fn beside_heal(ground: &Ground, board: &Board, report: &mut Report) -> Result<()> {
    report.table(
        "Instructions of what only looks, beside `heal` (valgrind)",
        "board | program | instructions | to heal",
    );
    let heal = count::instructions(&ground.plain("heal", &board.path, ground.now), 0)? as f64;
    report.row(&format!("{} | heal | {heal:.0} | 1.00", board.name));
    let mut held_to = |name: &str, count: u64, (most, held): (f64, f64), why: &str| {
        let ratio = count as f64 / heal;
        report.row(&format!("{} | {name} | {count} | {}", board.name, short(ratio)));
        let goal = format!("{name} costs at most {most} times heal ({} tasks)", board.name);
        report.known(&goal, (most, held), ratio, " times", why);
    };
    for watcher in &WATCHERS[1..] {
        let count = count::instructions(&ground.plain(watcher, &board.path, ground.now), 0)?;
        held_to(watcher, count, (2.0, WATCHER_HELD), "it reads the stories of more tasks, and writes cards");
    }
    let task = board.running()?;
    // Nothing starts the watchers there, which `check` says with its code.
    for (words, code) in
        [(vec!["check"], 2), (vec!["status"], 0), (vec!["report"], 0), (vec!["why", &task], 0)]
    {
        let mut command = ground.command(ground.bin.join("watchbill"));
        command.args(&words).args(["--now", &ground.now.0.to_string(), "--db"]).arg(&board.path);
        command.arg("--config").arg(ground.top.join("contrib/watchbill.toml"));
        let count = count::instructions(&command, code)?;
        held_to(words[0], count, (4.0, DESK_HELD), "it asks all four watchers");
    }
    Ok(())
}

/// Beside the real Hermes: its command, and one tick inside its warm process.
pub(crate) fn beside_hermes(
    ground: &Ground,
    boards: &[Board],
    size: Size,
    report: &mut Report,
) -> Result<()> {
    let Some(bin) = Hermes::find(ground) else {
        report.note("Hermes is not installed here: left out. `cargo test` installs it for its own tests.");
        return Ok(());
    };
    report.table(
        "Beside Hermes 0.19.0, ms (in turn)",
        "board | rounds | program | median | least | 90 % | processor | to ours",
    );
    let small = ground.board("1k", Sizes { tasks: 1_000, running: 10, blocked: 10, ready: 10, todo: 20 })?;
    for board in std::iter::once(&small).chain(boards) {
        let rounds = match (board.name, size) {
            ("1M", _) => 3,
            ("100k", Size::Quick) => continue,
            ("100k", _) => 15,
            (_, Size::Quick) => 7,
            _ => 31,
        };
        let hermes = Hermes::on(bin.clone(), ground, board)?;
        let mut ours = || once(&mut ground.look("heal", &hermes.board, hermes.now));
        let mut theirs = || once(&mut hermes.dispatch());
        let all = in_turn(rounds, &mut [&mut ours, &mut theirs])?;
        let mut row = |name: &str, rounds: usize, series: &crate::run::Series, ratio: f64| {
            report.row(&format!("{} | {rounds} | {name} | {series} | {}", board.name, short(ratio)));
        };
        let ratio = all[1].median() / all[0].median();
        row("heal --dry-run", rounds, &all[0], 1.0);
        row("hermes kanban dispatch --dry-run", rounds, &all[1], ratio);
        let mut gateway = hermes.gateway()?;
        let mut tick = || gateway.tick();
        let warm = in_turn(31, &mut [&mut ours, &mut tick])?;
        let (cold, hot) = (warm[1].median() / warm[0].median(), warm[1].min() / warm[0].min());
        row("heal --dry-run", 31, &warm[0], 1.0);
        row("one tick of a warm process", 31, &warm[1], cold);
        let least = match board.name {
            "1M" => 5_000.0,
            "100k" => 500.0,
            _ => 150.0,
        };
        let goal = format!("cheaper than `dispatch --dry-run` at least {least} times ({} tasks)", board.name);
        report.at_least(&goal, least, ratio, " times", "");
        if board.name != "1k" {
            let goal = format!("cheaper than a warm tick at least 3 times, medians ({} tasks)", board.name);
            report.at_least(&goal, 3.0, cold, " times", "");
            let goal =
                format!("cheaper than a warm tick at least 8 times, least of each ({} tasks)", board.name);
            report.at_least(&goal, 8.0, hot, " times", "");
        }
    }
    report.note(
        "Most of what the command costs Hermes is not its look: it checks the whole file at every start \
         (`PRAGMA integrity_check`, which grows with what is stored) and loads an interpreter and its modules. The warm tick is \
         the fairer comparison: their process is up and has everything open, ours starts, looks and ends.",
    );
    Ok(())
}
