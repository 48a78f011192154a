//! When a profile's configuration changed in what decides about its requests. The time of the file proves nothing: Hermes
//! writes into it by itself, as when it has shown a hint for the first time.

use std::collections::BTreeSet;
use std::path::Path;

use super::Profile;
use crate::cache::Cache;
use base::time::Time;

/// When what decides changed, as far as passes saw it; `None` where no pass saw another configuration.
pub fn seen(root: Option<&Path>, profile: &Profile, cache: &mut Cache, now: Time) -> Option<Time> {
    let (root, says) = (root?, profile.says?);
    let prefix = format!("profile:{}:{}:", root.display(), profile.name);
    let known = cache.newest(&prefix).map(|(key, since)| (key[prefix.len()..].to_owned(), since));
    let key = |word: &str| format!("{prefix}{word}:{says:016x}");
    match known {
        None => {
            cache.sight(&key("first"), now);
            None
        }
        Some((known, since)) if known.ends_with(&format!(":{says:016x}")) => {
            // A moment still to come was noted before the clock was set back.
            if since > now {
                cache.forget(&prefix, &BTreeSet::new());
                cache.sight(&format!("{prefix}{known}"), now);
            }
            known.starts_with("then:").then_some(since.min(now))
        }
        Some((_, since)) => {
            // Written since the former one was seen, and not after this pass.
            let is_later = |at: &Time| *at > since || since > now;
            let at = profile.written.filter(|at| is_later(at) && *at <= now).unwrap_or(now);
            cache.forget(&prefix, &BTreeSet::new());
            Some(cache.sight(&key("then"), at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_content_is_a_change() {
        let mut cache = Cache::in_memory();
        let mut pass = |says: u64, written: i64, now: i64| {
            let profile = Profile {
                name: "luna".into(),
                says: Some(says),
                written: Some(Time(written)),
                ..Profile::default()
            };
            seen(Some(Path::new("/h")), &profile, &mut cache, Time(now)).map(|t| t.0)
        };
        assert_eq!(pass(1, 50, 100), None, "nobody knows what it said before");
        assert_eq!(pass(1, 150, 200), None, "written, and the same");
        assert_eq!(pass(2, 250, 300), Some(250));
        assert_eq!(pass(2, 350, 400), Some(250), "written once more");
        assert_eq!(pass(1, 20, 500), Some(500), "an older file in its place");
        assert_eq!(pass(1, 20, 600), Some(500));
        assert_eq!(pass(2, 210, 300), Some(210), "the clock was set back by 300 s before it was written");
        assert_eq!(pass(2, 210, 100), Some(100), "and once more");
        assert_eq!(
            pass(3, 150, 300),
            Some(150),
            "written after that, and before the time of the change as it was first noted"
        );
    }
}
