//! `watchbill`, and by links of their names every other program, for boards in PostgreSQL as well: see `watchbill --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    board::offer(&watchbill_postgres::Postgres);
    shared::programs::watchbill(env!("CARGO_PKG_VERSION"))
}
