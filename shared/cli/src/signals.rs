//! Being told to stop.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use base::error::{Error, Result};

/// From now on SIGTERM, SIGINT and SIGHUP only say that we are to stop. `nohup` and the `&` of a shell start a program with SIGHUP or
/// SIGINT ignored: then they stay so, for us and for what we start. SIGCHLD does not: where it is ignored the kernel collects our
/// children, and how a command ended is lost (wait(2)).
pub(crate) fn listen() -> Result<Arc<AtomicBool>> {
    let told = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGCHLD, Arc::default()).map_err(|e| Error::io("signals", &e))?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        if signal == SIGTERM || !is_ignored(&status, signal) {
            signal_hook::flag::register(signal, Arc::clone(&told)).map_err(|e| Error::io("signals", &e))?;
        }
    }
    Ok(told)
}

/// Whether a process ignores a signal, by its status (proc_pid_status(5)).
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_a_bit_of_a_mask() {
        // Of a shell's background job, and of one under nohup.
        for (mask, ignored) in
            [("0000000000000006", vec![SIGINT]), ("0000000000001001", vec![SIGHUP]), ("x", vec![])]
        {
            let status = format!(
                "Name:\tboard\nSigBlk:\tffffffffffffffff\nSigIgn:\t{mask}\nSigCgt:\tffffffffffffffff\n"
            );
            let found: Vec<i32> =
                [SIGTERM, SIGINT, SIGHUP].into_iter().filter(|signal| is_ignored(&status, *signal)).collect();
            assert_eq!(found, ignored, "{mask}");
        }
        assert!(!is_ignored("", SIGHUP));
    }
}
