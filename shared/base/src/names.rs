//! What a task and a profile are called.

/// Longest task id that a title or a decision can name, in bytes.
const MAX_ID: usize = 80;

/// Whether this looks like a task id of Hermes: `t_` and at least 8 hex digits (Hermes writes 8, its docs mention 12).
pub fn is_task_id(s: &str) -> bool {
    let hex = |d: &str| d.len() >= 8 && d.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    s.strip_prefix("t_").is_some_and(hex)
}

/// Whether this may be the task id of any board (`PROJ-12`, `42`, `x.y`): one word that is not a path, option or markup. Only
/// the board knows whether it is one.
pub fn may_be_task_id(s: &str) -> bool {
    let starts = s.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    starts
        && s.len() <= MAX_ID
        && s.chars().all(may_stand_in_task_id)
        && !s.contains("..")
        && !s.contains("//")
}

/// Whether this character may stand in the task id of a board.
pub fn may_stand_in_task_id(c: char) -> bool {
    c.is_alphanumeric() || "_-.:/#@+".contains(c)
}

/// Whether a name is one for a profile: `^[a-z0-9][a-z0-9_-]{0,63}$`, as Hermes 0.19 has it (`_PROFILE_ID_RE`); a board
/// without profile folders uses the same.
pub fn is_profile(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let rest = |b: u8| plain(b) || b == b'_' || b == b'-';
    name.len() <= 64 && name.bytes().next().is_some_and(plain) && name.bytes().all(rest)
}

/// Whether an assignee, as a row or a command line has it, is this profile: Hermes starts `luna` for a task of `Luna`.
pub fn is_of_profile(assignee: &str, profile: &str) -> bool {
    assignee.trim().to_lowercase() == profile.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_of_a_name_is_nobody_else() {
        for (assignee, profile, want) in [
            ("luna", "luna", true),
            (" Luna", "luna", true),
            ("LUNA", "Luna", true),
            ("lunar", "luna", false),
        ] {
            assert_eq!(is_of_profile(assignee, profile), want, "{assignee} {profile}");
        }
    }

    #[test]
    fn ids_of_any_board() {
        for id in
            ["t_1a2b3c4d", "PROJ-12", "task_7", "T1", "abc", "42", "t_xyz", "x.y", "owner/repo#12", "größe"]
        {
            assert!(may_be_task_id(id), "{id}");
        }
        let long = "a".repeat(MAX_ID + 1);
        for id in [
            "",
            "-v",
            ".",
            "../x",
            "a/../b",
            "/etc/passwd",
            "a b",
            "a\nb",
            "`a`",
            "x;y",
            "http://x",
            "a\u{202e}",
            &long,
        ] {
            assert!(!may_be_task_id(id), "{id}");
        }
    }
}
