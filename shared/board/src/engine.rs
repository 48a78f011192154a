//! What stores boards on a server. It brings packages that a program must not have who needs no server, so it is handed in.

use std::any::Any;
use std::sync::OnceLock;
use std::time::Duration;

use crate::pause::{self, Pause};
use crate::{Board, BoardId, Location, Mode};
use base::error::{Error, Kind, Result};
use base::time::Time;

/// The name under which systemd gives a unit the file with passwords of servers (`LoadCredential=`).
pub const CREDENTIAL: &str = "watchbill-postgres";

/// An engine for boards on servers, by the address of a board.
pub trait Engine: Sync {
    /// Opens an existing board. See [`crate::open`].
    ///
    /// # Errors
    /// See [`crate::open`]; `Config` for an address that is not one of this engine.
    fn open(&self, address: &str, mode: Mode, patience: Duration) -> Result<Box<dyn Board>>;

    /// Makes a board in a database that is there. See [`crate::create`].
    ///
    /// # Errors
    /// See [`crate::create`].
    fn create(&self, address: &str, patience: Duration) -> Result<()>;

    /// Lets roles of the server use the board. See [`crate::grant`].
    ///
    /// # Errors
    /// See [`crate::grant`].
    fn grant(&self, address: &str, workers: &[String], watchers: &[String], patience: Duration)
    -> Result<()>;

    /// Brings the tables of the board up to date. See [`crate::upgrade`].
    ///
    /// # Errors
    /// See [`crate::upgrade`].
    fn upgrade(&self, address: &str, patience: Duration) -> Result<(i32, i32)>;

    /// The pause that is stored on the board.
    ///
    /// # Errors
    /// The board cannot be read.
    fn pause(&self, address: &str, patience: Duration) -> Result<Option<Pause>>;

    /// Whether a pause could be put on the board. Nothing is written.
    ///
    /// # Errors
    /// Why not.
    fn may_pause(&self, address: &str, patience: Duration) -> Result<()>;

    /// Puts a pause on the board in the place of an earlier one, or takes it off.
    ///
    /// # Errors
    /// The board cannot be written.
    fn set_pause(&self, address: &str, pause: Option<&Pause>, patience: Duration) -> Result<()>;

    /// Keeps every other copy of the board out. See [`BoardId::hold_for_copy`].
    ///
    /// # Errors
    /// The board cannot be read.
    fn hold_for_copy(&self, address: &str, patience: Duration) -> Result<Option<Box<dyn Any>>>;
}

static OF_SERVERS: OnceLock<&'static dyn Engine> = OnceLock::new();

/// Gives this process the engine for boards on servers. A program does so once, before anything else.
pub fn offer(engine: &'static dyn Engine) {
    let _ = OF_SERVERS.set(engine);
}

/// The engine of this process for the board at an address.
pub(crate) fn of_servers(address: &str) -> Result<&'static dyn Engine> {
    OF_SERVERS.get().copied().ok_or_else(|| {
        Error::new(Kind::Config, address, "this build has no PostgreSQL")
            .hint("use the programs of watchbill-postgres")
    })
}

impl BoardId {
    /// The pause of the board, whether or not it ended by itself.
    ///
    /// # Errors
    /// A server that does not tell. What lies beside a file is always known.
    pub fn pause(&self, patience: Duration) -> Result<Option<Pause>> {
        match &self.at {
            Location::File(_) => Ok(pause::of_board(self)),
            Location::Server(address) => of_servers(address)?.pause(address, patience),
        }
    }

    /// The pause in force now: one that ended by itself does not count.
    ///
    /// # Errors
    /// See [`BoardId::pause`].
    pub fn pause_in_force(&self, now: Time, patience: Duration) -> Result<Option<Pause>> {
        Ok(self.pause(patience)?.filter(|pause| !pause.is_over(now)))
    }

    /// Whether the board could be paused. Nothing is written.
    ///
    /// # Errors
    /// What [`BoardId::set_pause`] would say.
    pub fn may_pause(&self, patience: Duration) -> Result<()> {
        if let Location::Server(address) = &self.at {
            return of_servers(address)?.may_pause(address, patience);
        }
        pause::may_set(self)
    }

    /// Pauses the board, in the place of an earlier pause, or takes its pause off. A pause of a file is for all boards of its folder, but for one of
    /// a move, which is beside those.
    ///
    /// # Errors
    /// It cannot be written there, or something other than a plain file has the name of the file; that pauses already.
    pub fn set_pause(&self, pause: Option<&Pause>, patience: Duration) -> Result<()> {
        if let Location::Server(address) = &self.at {
            return of_servers(address)?.set_pause(address, pause, patience);
        }
        pause::set(self, pause)
    }

    /// Keeps every other copy of a board on a server out, from whichever host, until what it gives is dropped. `None` where another one is at work.
    ///
    /// # Errors
    /// `Bug` for a board file; a server that does not tell.
    pub fn hold_for_copy(&self, patience: Duration) -> Result<Option<Box<dyn Any>>> {
        match &self.at {
            Location::File(_) => Err(Error::new(Kind::Bug, &self.at, "a board file is held by its folder")),
            Location::Server(address) => of_servers(address)?.hold_for_copy(address, patience),
        }
    }

    /// Takes the pause of a move off that failed. `before`: what was in its place, which pauses again.
    ///
    /// # Errors
    /// See [`BoardId::set_pause`].
    pub fn end_move(&self, before: Option<&Pause>, patience: Duration) -> Result<()> {
        match &self.at {
            _ if before.is_some_and(Pause::is_move) => Ok(()),
            Location::File(_) => pause::end_move(self),
            Location::Server(address) => of_servers(address)?.set_pause(address, before, patience),
        }
    }
}
