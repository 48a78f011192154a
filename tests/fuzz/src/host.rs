//! What processes show of themselves in `/proc`: bytes of their own choice.

use shared::host::{Birth, Kin, Marks, Process};

use super::text::text;

const TASK: &str = "t_1a2b3c4d";

/// No name, command line or environment lets a process pass for another one.
pub fn process(data: &[u8]) {
    let parts: Vec<&[u8]> = data.splitn(3, |b| *b == 0xff).collect();
    let part = |n: usize| parts.get(n).copied().unwrap_or_default();
    let (name, cmdline, environ) = (part(0), part(1), part(2));
    let _ = Birth::parse_hermes(&text(name));
    let _ = Process::parse(1, data, data, Some(data));

    // The name in brackets is its own, and the only part of the line that is; the kernel allows no line end in it.
    let stat = [b"42 (", name, b") S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 147908 299 39 1844 1 1\n"]
        .concat();
    let seen = Process::parse(42, &stat, cmdline, Some(environ)).expect("a stat line of the kernel");
    assert_eq!((seen.pid, seen.parent, seen.ticks), (42, 7, Some(147_908)));
    assert!(!seen.zombie && !seen.kernel);
    assert_eq!(Process::parse(42, &stat, cmdline, None).map(|p| p.marks), Some(Marks::Unreadable));

    let task = seen.worker_of().map(str::to_owned);
    assert!(task.is_none_or(|t| text(cmdline).contains(&t)));
    environment(&seen, environ);
}

/// Asked about every run, it is one of them at most.
fn environment(seen: &Process, environ: &[u8]) {
    let value = |name: &[u8]| environ.split(|b| *b == 0).find_map(|v| v.strip_prefix(name));
    let says = value(b"HERMES_KANBAN_TASK=").filter(|task| !task.is_empty()).or(value(b"WATCHBILL_TASK="));
    let kin = |run: Option<i64>| seen.kin(TASK, run);
    match says {
        _ if !environ.contains(&b'=') => assert_eq!(kin(None), Kin::Unreadable),
        Some(task) if task == TASK.as_bytes() => {
            assert_eq!(kin(None), Kin::ThisRun);
            let mine =
                [i64::MIN, -1, 0, 1, 7, i64::MAX].into_iter().filter(|r| kin(Some(*r)) == Kin::ThisRun);
            assert!(mine.count() <= 1);
        }
        _ => assert_eq!((kin(None), kin(Some(7))), (Kin::Stranger, Kin::Stranger)),
    }
}
