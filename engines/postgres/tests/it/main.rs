//! The PostgreSQL engine against a real server, which the tests start by themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::print_stdout)]
#![allow(unreachable_pub, missing_docs, reason = "a test's name is its documentation")]

mod alike; // random stories, told to the board in memory as well
mod changeover; // one server takes over from another
mod clients; // who claims and ends tasks while something happens to the server
mod contract; // the story that every engine is told
mod copying; // a whole board, from a file to a server and back
mod distance; // a server that is some way off
mod epochs; // one host at a time decides for the board
mod full; // a disk or a server that takes no more
mod gate; // who gets in, and what one is told who does not
mod hosts; // who works on the board, by the server's clock
mod killed; // the client killed at each statement
mod kills; // the server killed under its clients
mod lending; // what Hermes does of a board on a server
mod measure; // figures, where they are asked for
mod partitions; // links between hosts that are cut
mod plans; // no read goes through a whole table
mod pool; // pgbouncer between clients and their server
mod programs; // what a person and a worker call
mod pruning; // what is over for long is removed by the owner
mod races; // two hosts over the same rows
mod server; // a PostgreSQL of its own
mod silent; // servers that say nothing
mod tls; // who is trusted, and what is sent to nobody else
mod upgrading; // a board of an older program
