//! What a task is called.

/// Whether this looks like a task id: `t_` and at least 8 hex digits (Hermes writes 8, its docs mention 12).
pub fn is_task_id(s: &str) -> bool {
    let hex = |d: &str| d.len() >= 8 && d.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    s.strip_prefix("t_").is_some_and(hex)
}
