//! What Watchbill's own tests and benchmarks share: a board in memory, and generated boards of any size.

pub mod generate;
pub mod memory;
pub mod page;
