//! opencode: its server for what only that knows, its store for the rest.

pub mod gather;
pub mod rest;
pub mod rows;
pub mod store;

use std::path::PathBuf;
use std::time::Duration;

use rest::{Address, Credentials, Server};

/// The longest one question to a server may take. The first one about a folder waits until the server has made itself at home
/// there: 4 s, and more on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// opencode as it is on this machine.
#[derive(Debug, Clone, Default)]
pub struct Opencode {
    /// Its data folder; `None` where none is known.
    pub store: Option<PathBuf>,
    /// The one server that a person named.
    pub named: Option<Address>,
    /// The password of that one.
    pub credentials: Option<Credentials>,
}

impl Opencode {
    /// The variables of [`Opencode::of`] that hold no secret.
    pub const PLACES: [&str; 2] = ["OPENCODE_SERVER", "XDG_DATA_HOME"];

    /// As opencode's own variables say it: `OPENCODE_SERVER_PASSWORD`, `OPENCODE_SERVER_USERNAME`, `XDG_DATA_HOME`, `HOME`; and
    /// `OPENCODE_SERVER`, which is ours.
    pub fn of(env: &dyn Fn(&str) -> Option<String>) -> Opencode {
        let [server, data] = Opencode::PLACES.map(env);
        let home = env("HOME");
        let credentials = env("OPENCODE_SERVER_PASSWORD").map(|password| Credentials {
            user: env("OPENCODE_SERVER_USERNAME").unwrap_or_else(|| "opencode".into()),
            password,
        });
        Opencode {
            store: store::home(data.as_deref().map(AsRef::as_ref), home.as_deref().map(AsRef::as_ref)),
            named: server.and_then(|at| Address::parse(&at).ok()),
            credentials,
        }
    }

    /// The server at an address. The password goes to the one that a person named, and to none that an event on a board
    /// names: every user of the board can write one.
    pub fn server(&self, at: &Address) -> Server {
        let credentials = self.credentials.as_ref().filter(|_| self.named.as_ref() == Some(at));
        Server::new(at.clone(), credentials, PATIENCE)
    }
}
