//! The watchers. Each is one folder and imports no other one; what they share is in [`crate::policy`].

pub mod budget;
pub mod distress;
pub mod heal;
pub mod route;
pub mod watcher;

use std::collections::BTreeMap;

use crate::registry::for_each_watcher;
pub use watcher::{Visit, Watcher};

macro_rules! listed {
    ($($module:ident::$watcher:ident = $name:expr),* $(,)?) => {
        /// Calls `visit` with every watcher, in the order of a round.
        pub fn each(origin: &BTreeMap<String, String>, visit: &mut impl Visit) {
            $(visit.one(&<$module::$watcher as Watcher>::new(origin));)*
        }

        $(impl watcher::Listed for $module::$watcher {
            const NAME: &'static str = $name;
        })*
    };
}
for_each_watcher!(listed);

#[cfg(test)]
mod tests {
    use crate::registry::NAMES;

    #[test]
    fn every_watcher_has_a_timer() {
        let timers: Vec<&str> = crate::timers::WATCHED.iter().map(|w| w.program).collect();
        assert_eq!(timers.as_slice(), NAMES);
    }
}
