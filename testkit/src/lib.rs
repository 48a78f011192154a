//! Boards in memory and generated ones, for tests and benchmarks only.
