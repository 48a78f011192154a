//! The commented sample: every key and every table by name.

use super::sections::{KEYS, SECTIONS};
use super::{KeyInfo, Length, PAIRS, actions, matches, tables};

/// Every key, section by section, in the order the sample shows them.
pub fn keys() -> &'static [KeyInfo] {
    KEYS
}

/// The commented sample that ships as `contrib/watchbill.toml`: every key with its default, all commented
/// out.
pub fn sample() -> String {
    let mut out = String::from(HEAD);
    for (section, about) in SECTIONS {
        out.push_str(&format!("\n#{about}\n[{section}]\n"));
        for k in KEYS.iter().filter(|k| k.section == *section) {
            out.push_str(&format!("\n#{}\n# Allowed: {}{}.", k.meaning, k.allowed(), bound(&k.name())));
            match k.default() {
                Some(default) => out.push_str(&format!("\n#{} = {default}\n", k.key)),
                None => out.push_str(&format!(" Not set by default.\n#{} = {}\n", k.key, (k.example)())),
            }
        }
    }
    out.push_str(&actions::sample());
    out.push_str(tables::SAMPLE);
    out.push_str(matches::SAMPLE);
    out
}

/// What a key is bounded by besides its range: `, no longer than heal.backoff_max`.
fn bound(name: &str) -> String {
    let of = |[(low, _), (high, _)]: &[(&str, Length); 2]| match name {
        _ if name == *low => Some(format!(", no longer than {high}")),
        _ if name == *high => Some(format!(", no shorter than {low}")),
        _ => None,
    };
    PAIRS.iter().find_map(of).unwrap_or_default()
}

const HEAD: &str = "\
# Watchbill: every key, what it means, what it may be, and its default.
#
# Copy to /etc/watchbill/config.toml or ~/.config/watchbill/config.toml and remove the # before a key to
# change it. Lengths of time are words, in whole seconds: 90s, 15m, 2h, 3d. Any key but those of [profiles],
# [providers], [prices], [notify], [heal.health_actions] and [[match]] can also be set by a variable:
# WATCHBILL_HEAL_GRACE=5m, WATCHBILL_HOST_ALIASES=a,b. A file that every user can write, or that belongs to
# neither you nor root, is refused.
";
