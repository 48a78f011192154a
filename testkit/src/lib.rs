//! What Watchbill's own tests and benchmarks share: a board in memory, generated boards of any size, and
//! simulated nights.

pub mod chance;
pub mod crowd;
pub mod generate;
pub mod histories;
pub mod memory;
pub mod page;
pub mod pruning;
pub mod sim;
