//! What one task may use, and who said so: the task itself, else the configuration, else the defaults.

use std::collections::BTreeMap;

use base::money::Money;
use card::scope::Scope;
use config::Config;
use config::span::seconds;

/// The source of a limit that the scope of the task sets.
pub(super) const OF_TASK: &str = "task";
/// The source of one that nobody set.
pub(super) const DEFAULT: &str = "default";

/// A limit and its source: `task`, `default`, or the file or variable of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit<T> {
    pub(super) value: T,
    pub(super) source: String,
}

/// All limits of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limits {
    /// Seconds of one attempt.
    pub(super) time: Limit<i64>,
    /// Turns of one attempt.
    pub(super) iterations: Limit<u64>,
    /// Money of all attempts.
    pub(super) cost: Option<Limit<Money>>,
    /// Files.
    pub(super) files: Option<Limit<u64>>,
    /// Resets.
    pub(super) resets: Limit<u64>,
    /// Attempts that used up their iterations.
    pub(super) exhaustions: Limit<u64>,
}

impl Limits {
    pub(super) fn of(scope: Option<&Scope>, config: &Config, origin: &BTreeMap<String, String>) -> Limits {
        let b = &config.budget;
        let said = |key: &str| origin.get(key).cloned().unwrap_or_else(|| DEFAULT.to_owned());
        let task = |value| Limit { value, source: OF_TASK.to_owned() };
        let ours = |value: u64, key: &str| Limit { value, source: said(key) };
        // Nothing can be done within 0: it limits nothing, as in the configuration, and `--lint` tells of it.
        let cost = scope.and_then(Scope::cost).filter(|cost| *cost > Money(0));
        let files = scope.and_then(|s| s.max_files).filter(|n| *n > 0).map(u64::from);
        let iterations = scope.and_then(|s| s.iterations).filter(|n| *n > 0);
        let time = scope.and_then(|s| s.time_budget).filter(|time| seconds(*time) > 0);
        Limits {
            time: match time {
                Some(own) => Limit { value: seconds(own), source: OF_TASK.to_owned() },
                None => Limit { value: seconds(b.time), source: said("budget.time") },
            },
            iterations: match iterations {
                Some(own) => task(u64::from(own)),
                None => ours(u64::from(b.iterations), "budget.iterations"),
            },
            cost: match cost {
                Some(value) => Some(Limit { value, source: OF_TASK.to_owned() }),
                None => b.cost.map(|value| Limit { value, source: said("budget.cost") }),
            },
            files: match files {
                Some(own) => Some(task(own)),
                None => (b.max_files > 0).then(|| ours(u64::from(b.max_files), "budget.max_files")),
            },
            resets: ours(u64::from(b.resets), "budget.resets"),
            exhaustions: ours(u64::from(b.exhaustions), "budget.exhaustions"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_task_comes_before_the_configuration_and_that_before_the_defaults() {
        let mut config = Config::default();
        let mut origin = BTreeMap::from([("budget.time".to_owned(), "default".to_owned())]);
        let plain = Limits::of(None, &config, &origin);
        assert_eq!((plain.time.value, plain.time.source.as_str()), (3_600, "default"));
        assert_eq!((plain.iterations.value, plain.resets.value), (90, 2));
        assert_eq!((plain.cost, plain.files), (None, None));

        config.budget.time = Duration::from_secs(600);
        config.budget.cost = Money::parse("$2");
        origin.insert("budget.time".into(), "/etc/watchbill/config.toml".into());
        let set = Limits::of(None, &config, &origin);
        assert_eq!((set.time.value, set.time.source.as_str()), (600, "/etc/watchbill/config.toml"));
        assert_eq!(set.cost.as_ref().unwrap().value, Money(2_000_000_000));

        let scope = Scope {
            time_budget: Some(Duration::from_secs(60)),
            iterations: Some(7),
            max_files: Some(3),
            cost_budget: Some("$0.50".into()),
            ..Scope::default()
        };
        let own = Limits::of(Some(&scope), &config, &origin);
        assert_eq!((own.time.value, own.time.source.as_str()), (60, "task"));
        assert_eq!((own.iterations.value, own.files.unwrap().value), (7, 3));
        assert_eq!(own.cost.unwrap().value, Money(500_000_000));

        let nothing = Scope::parse(
            "## Scope\n- Max files: 0\n- Iteration budget: 0\n- Time budget: 0s\n- Cost budget: $0\n",
        );
        let nothing = nothing.unwrap();
        assert_eq!((nothing.max_files, nothing.iterations), (Some(0), Some(0)));
        assert_eq!(Limits::of(Some(&nothing), &config, &origin), set, "nothing can be done within it");
    }
}
