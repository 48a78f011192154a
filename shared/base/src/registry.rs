//! The one list of the watchers. Whatever is done with every one of them goes through it.

/// Calls a macro with every watcher, in the order of a round: its type below `watch`, its constant here, its program, and the flags
/// of that program, which `cli` knows.
#[macro_export]
macro_rules! for_each_watcher {
    ($then:ident) => {
        $then! {
            heal::Heal, HEAL = "heal", HealFlags;
            distress::SynthesizeDistress, SYNTHESIZE_DISTRESS = "synthesize-distress", WatcherArgs;
            route::RouteBlocked, ROUTE_BLOCKED = "route-blocked", WatcherArgs;
            budget::BudgetCheck, BUDGET_CHECK = "budget-check", BudgetArgs;
        }
    };
}
pub use for_each_watcher;

macro_rules! names {
    ($($module:ident::$watcher:ident, $constant:ident = $program:literal, $flags:ident;)*) => {
        $(
            #[doc = concat!("`", $program, "`.")]
            pub const $constant: &str = $program;
        )*

        /// The programs of all watchers, in the order of a round.
        pub const NAMES: &[&str] = &[$($program),*];
    };
}
for_each_watcher!(names);
