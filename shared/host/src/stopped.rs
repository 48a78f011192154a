//! Whether a process is stopped.

use std::fs;

use super::Host;

impl Host {
    /// Whether a process is stopped by a signal or a debugger (state `T` or `t`, proc_pid_stat(5)): it lives and does nothing.
    pub fn is_stopped(&self, pid: i64) -> bool {
        let stat = fs::read_to_string(self.proc.join(pid.to_string()).join("stat")).unwrap_or_default();
        // The name in brackets may hold anything.
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
        matches!(state, Some("T" | "t"))
    }
}
