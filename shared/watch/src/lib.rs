//! The watchers. Each is one folder and imports no other one; what they share is in [`policy`].

pub mod budget;
pub mod distress;
pub mod heal;
pub mod route;
pub mod watcher;

use std::collections::BTreeMap;

use base::for_each_watcher;
pub use watcher::{Spec, Visit, Watcher};

macro_rules! listed {
    ($($module:ident::$watcher:ident, $constant:ident = $program:literal, $flags:ident;)*) => {
        /// Calls `visit` with every watcher, in the order of a round.
        pub fn each(origin: &BTreeMap<String, String>, visit: &mut impl Visit) {
            $(visit.one(&<$module::$watcher as Watcher>::new(origin));)*
        }

        /// What is known of the watcher with this program.
        pub fn spec(program: &str) -> Option<Spec> {
            match program {
                $($program => Some($module::$watcher::SPEC),)*
                _ => None,
            }
        }

        $(impl watcher::Listed for $module::$watcher {
            const NAME: &'static str = $program;

            fn glanced(seen: &<Self as Watcher>::Seen) -> usize {
                seen.glanced
            }

            fn seen_at(seen: &<Self as Watcher>::Seen) -> base::time::Time {
                seen.now
            }
        })*
    };
}
for_each_watcher!(listed);

/// Whether a program is a watcher that changes work ([`Spec::acts`]).
pub fn acts(program: &str) -> bool {
    spec(program).is_some_and(|spec| spec.acts)
}
