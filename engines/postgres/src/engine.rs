//! What the programs open boards with.

use std::any::Any;
use std::time::Duration;

use board::pause::Pause;
use board::{Board, Engine, Mode};

use crate::{PostgresBoard, Secrets};
use base::error::Result;

/// The engine for boards in PostgreSQL, with the passwords that libpq would find.
#[derive(Debug)]
pub struct Postgres;

impl Engine for Postgres {
    fn open(&self, address: &str, mode: Mode, patience: Duration) -> Result<Box<dyn Board>> {
        Ok(Box::new(PostgresBoard::open(address, mode, patience, &Secrets::of_environment())?))
    }

    fn create(&self, address: &str, patience: Duration) -> Result<()> {
        PostgresBoard::create(address, patience, &Secrets::of_environment())
    }

    fn grant(
        &self,
        address: &str,
        workers: &[String],
        watchers: &[String],
        patience: Duration,
    ) -> Result<()> {
        PostgresBoard::grant(address, workers, watchers, patience, &Secrets::of_environment())
    }

    fn upgrade(&self, address: &str, patience: Duration) -> Result<(i32, i32)> {
        PostgresBoard::upgrade(address, patience, &Secrets::of_environment())
    }

    fn pause(&self, address: &str, patience: Duration) -> Result<Option<Pause>> {
        PostgresBoard::open(address, Mode::Look, patience, &Secrets::of_environment())?.pause()
    }

    fn may_pause(&self, address: &str, patience: Duration) -> Result<()> {
        PostgresBoard::open(address, Mode::Change, patience, &Secrets::of_environment())?.may_pause()
    }

    fn set_pause(&self, address: &str, pause: Option<&Pause>, patience: Duration) -> Result<()> {
        PostgresBoard::open(address, Mode::Change, patience, &Secrets::of_environment())?.set_pause(pause)
    }

    fn hold_for_copy(&self, address: &str, patience: Duration) -> Result<Option<Box<dyn Any>>> {
        PostgresBoard::hold_for_copy(address, patience, &Secrets::of_environment())
    }
}
