//! The one list of the watchers. Whatever is done with every one of them goes through it.

/// `heal`.
pub const HEAL: &str = "heal";
/// `synthesize-distress`.
pub const SYNTHESIZE_DISTRESS: &str = "synthesize-distress";
/// `route-blocked`.
pub const ROUTE_BLOCKED: &str = "route-blocked";
/// `budget-check`.
pub const BUDGET_CHECK: &str = "budget-check";

/// Calls a macro with every watcher, in the order of a round: its type below `watch`, and the name of its program.
macro_rules! for_each_watcher {
    ($then:ident) => {
        $then! {
            heal::Heal = $crate::registry::HEAL,
            distress::SynthesizeDistress = $crate::registry::SYNTHESIZE_DISTRESS,
            route::RouteBlocked = $crate::registry::ROUTE_BLOCKED,
            budget::BudgetCheck = $crate::registry::BUDGET_CHECK,
        }
    };
}
pub(crate) use for_each_watcher;

macro_rules! names {
    ($($module:ident::$watcher:ident = $name:expr),* $(,)?) => {
        /// The programs of all watchers, in the order of a round.
        pub const NAMES: &[&str] = &[$($name),*];
    };
}
for_each_watcher!(names);
