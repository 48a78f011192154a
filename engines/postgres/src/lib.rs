//! The PostgreSQL engine: a board as one schema of a database, for several hosts.
//!
//! `watchbill-postgres` is all programs with this engine in them.

mod address;
mod copying;
mod engine;
mod epochs;
mod hosts;
mod line;
mod pruning;
mod reads;
mod server;
mod tls;
mod upgrading;
mod writes;

use std::cell::{Cell, OnceCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;

use base::error::{Error, Kind, Result};
use base::time::Time;
use board::change::{MAX_STEPS, parts};
use board::copy::{Source, Target};
use board::prune::{self, Asked, Sum};
use board::{
    Answer, Attendance, Attended, Begin, Board, BoardId, Comment, Detail, Duty, Entry, Event, EventKind,
    History, Link, Mode, Outcome, Run, Shared, Status, Step, Task, Timeline, noted,
};

use self::address::Address;
pub use self::address::Secrets;
pub use self::engine::Postgres;
use self::server::{Access, Fault, READ, Server, Tries, args};
use self::upgrading::{PRUNES, SHAPE};
use self::writes::{Part, WRITE, take, write};

const SCHEMA: &str = include_str!("schema.sql");
const ROLES: &str = include_str!("roles.sql");

/// How often a part is begun anew because a task got another child meanwhile.
const MOST_AGAIN: usize = 3;

/// A board in a PostgreSQL database.
pub struct PostgresBoard {
    id: BoardId,
    address: Address,
    secrets: Secrets,
    mode: Mode,
    /// Longest wait of a read for a server that does not answer.
    patience: Duration,
    server: Held,
    /// What `meta` says of the board.
    meta: Meta,
    host: String,
    /// The pass of a watcher that looks at it.
    pass: Option<epochs::Pass>,
    /// Plans of statements, while a caller asks for them.
    plans: Option<Vec<(String, String)>>,
}

/// A connection that is kept for the next call.
#[derive(Default)]
struct Held {
    /// `None` after a fault: the next call connects anew.
    open: Option<Server>,
    /// The latest that was told.
    timeline: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Meta {
    board: String,
    /// What PostgreSQL calls the server and its replicas.
    system: String,
    version: i32,
    min_reader: i32,
    min_writer: i32,
    /// Whether anything was ever said on it, by the size of its events: no right to read them is needed for that.
    is_used: bool,
}

impl PostgresBoard {
    /// Opens the board at an address; never makes one. The address is `postgres://[USER@]HOST[:PORT][,...]/DATABASE[?board=NAME]`, where `HOST`
    /// may be the folder of a Unix socket, and the board's schema is `watchbill` unless one is named. Of several servers the first one is taken
    /// that answers and may be written. A server on another machine is reached by TLS
    /// alone, and has to prove its name: `sslrootcert=PATH` names the CAs to trust in place of the machine's own, `sslcert=PATH` and
    /// `sslkey=PATH` a certificate of the client. On this machine TLS is asked for by `sslmode=verify-full`.
    ///
    /// # Errors
    /// `Config` for an invalid address, an address with a password and a file without certificates, `NoInput` where there is no board,
    /// `Data` for one that a newer program made, `Permission`, and `Busy` where the server does not answer within `patience`.
    pub fn open(url: &str, mode: Mode, patience: Duration, secrets: &Secrets) -> Result<PostgresBoard> {
        let address = Address::read(url)?;
        let mut server = Held::default();
        let meta = tried(&mut server, &address, secrets, patience, |server, left| {
            server.begin_reading(left);
            let meta = meta(server)?;
            server.end_reading();
            Ok(meta)
        })?;
        let meta = meta.ok_or_else(|| upgrading::no_board(&address))?;
        if meta.min_reader > SHAPE {
            return Err(newer(&address, "made by a newer Watchbill", &meta));
        }
        if let Some(error) = upgrading::too_old(&address, meta.version) {
            return Err(error);
        }
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let id = BoardId { at: address.to_string().into(), slug: None, root: None };
        let secrets = secrets.clone();
        Ok(PostgresBoard {
            id,
            address,
            secrets,
            mode,
            patience,
            server,
            meta,
            host,
            pass: None,
            plans: None,
        })
    }

    /// Makes a board: its schema, and all tables in it.
    ///
    /// # Errors
    /// As [`PostgresBoard::open`]; `Partial` where a board is already there.
    pub fn create(url: &str, patience: Duration, secrets: &Secrets) -> Result<()> {
        let address = Address::read(url)?;
        // A commit was sent whose answer was lost: a board that is there then is the one that it made.
        let unsure = Cell::new(false);
        let made = tried(&mut Held::default(), &address, secrets, patience, |server, left| {
            server.begin(WRITE, left)?;
            alone(server, &address)?;
            let there = "SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace($1)::oid LIMIT 1";
            if server.row(there, args![address.schema.as_str()])?.is_some() {
                server.batch("ROLLBACK")?;
                return Ok(unsure.get());
            }
            let schema = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
            if server.row(schema, args![address.schema.as_str()])?.is_none() {
                let may = "SELECT has_database_privilege(current_database(), 'CREATE'), \
                           format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user)";
                let row = server.row(may, args![])?.ok_or(Fault::Again)?;
                if !row.get::<_, bool>(0) {
                    let what =
                        format!("the role {} may not make a board in this database", address.role_word());
                    let hint = format!("the owner of the database grants that: {}", row.get::<_, &str>(1));
                    return Err(Fault::Ours(Error::new(Kind::Permission, &address, what).hint(hint)));
                }
                server.batch(&filled_in("CREATE SCHEMA \"{schema}\"", &address))?;
            }
            server.batch(&filled_in(SCHEMA, &address))?;
            unsure.set(true);
            server.batch("COMMIT")?;
            Ok(true)
        })?;
        if made {
            Ok(())
        } else {
            Err(Error::new(Kind::Partial, &address, "already exists; nothing was changed"))
        }
    }

    /// Makes the roles of a board where they are missing, and gives each what it may do: `NAME_work` for workers, `NAME_watch` for watchers.
    /// These two are granted to login roles.
    ///
    /// # Errors
    /// As [`PostgresBoard::open`]; `Partial` for a login role that is not there.
    pub fn grant(
        url: &str,
        workers: &[String],
        watchers: &[String],
        patience: Duration,
        secrets: &Secrets,
    ) -> Result<()> {
        let mut board = PostgresBoard::open(url, Mode::Change, patience, secrets)?;
        let address = board.address.clone();
        board.change(|server| {
            alone(server, &address)?;
            let named = workers.iter().chain(watchers).map(String::as_str).collect();
            let sql = "SELECT name, quote_ident(name) FROM unnest($1) AS name \
                       WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) LIMIT 1";
            if let Some(row) = server.row(sql, &[named])? {
                let error = Error::new(Kind::Partial, row.get::<_, &str>(0), "no such role on this server");
                let hint = format!("make it first: CREATE ROLE {} LOGIN", row.get::<_, &str>(1));
                return Err(Fault::Ours(error.hint(hint)));
            }
            owned(server, &address, "only the owner of this board lets roles in")?;
            server.batch(&filled_in(ROLES, &address)).map_err(|fault| fault.of_roles(&address))?;
            for (role, given) in [("work", workers), ("watch", watchers)] {
                let role = format!("{}_{role}", address.schema);
                for to in given {
                    let sql = "SELECT format('GRANT %I TO %I', $1, $2)";
                    let grant = server.row(sql, args![role.as_str(), to.as_str()])?;
                    let grant = grant.ok_or(Fault::Again)?;
                    server.batch(grant.get(0)).map_err(|fault| fault.of_roles(&address))?;
                }
            }
            Ok(())
        })
    }

    /// From now on keeps the plan of each statement, until [`PostgresBoard::plans`] takes them.
    pub fn explain(&mut self) {
        self.plans = Some(Vec::new());
    }

    /// The statements that ran since, with their plans.
    pub fn plans(&mut self) -> Vec<(String, String)> {
        self.plans.take().unwrap_or_default()
    }

    /// Whether it was opened for writing, and may be written by this program.
    fn changes(&self) -> Result<()> {
        if self.mode == Mode::Look {
            return Err(Error::new(Kind::Bug, &self.address, "a write on a board that was opened read-only"));
        }
        if self.meta.min_writer > SHAPE {
            return Err(newer(&self.address, "to be written by a newer Watchbill alone", &self.meta));
        }
        Ok(())
    }

    /// Reads in one short transaction of one snapshot.
    fn read<T>(&mut self, of: impl FnMut(&mut Server) -> std::result::Result<T, Fault>) -> Result<T> {
        self.within(READ, of)
    }

    /// Writes in one short transaction what may as well be written twice.
    fn change<T>(&mut self, of: impl FnMut(&mut Server) -> std::result::Result<T, Fault>) -> Result<T> {
        self.changes()?;
        self.within(WRITE, of)
    }

    fn within<T>(
        &mut self,
        how: Access,
        mut of: impl FnMut(&mut Server) -> std::result::Result<T, Fault>,
    ) -> Result<T> {
        let plans = &mut self.plans;
        tried(&mut self.server, &self.address, &self.secrets, self.patience, |server, left| {
            match how.writes {
                false => server.begin_reading(left),
                true => server.begin(how, left)?,
            }
            server.plans = plans.as_ref().map(|_| Vec::new());
            let done = of(server)?;
            if let (Some(all), Some(new)) = (plans.as_mut(), server.plans.take()) {
                all.extend(new);
            }
            match how.writes {
                false => server.end_reading(),
                true => server.batch("COMMIT")?,
            }
            Ok(done)
        })
    }
}

/// Nobody else makes this board, or its roles, until the transaction ends.
fn alone(server: &mut Server, address: &Address) -> std::result::Result<(), Fault> {
    let lock = format!("watchbill:{}", address.schema);
    let sql = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    server.rows(sql, args![lock.as_str()]).map(drop)
}

/// What a board says of itself, where it is one.
fn meta(server: &mut Server) -> std::result::Result<Option<Meta>, Fault> {
    let sql = "SELECT application, version, min_reader, min_writer, board::text, \
               (SELECT system_identifier::text FROM pg_control_system()), \
               coalesce(pg_relation_size(to_regclass('task_events')), 0) > 0 FROM meta";
    let row = server.row(sql, args![])?;
    Ok(row.filter(|row| row.get::<_, &str>(0) == "WBIL").map(|row| Meta {
        board: row.get(4),
        system: row.get(5),
        version: row.get(1),
        min_reader: row.get(2),
        min_writer: row.get(3),
        is_used: row.get(6),
    }))
}

/// Statements about the tables of a board, with its name and the lists of kinds in them.
fn filled_in(sql: &str, address: &Address) -> String {
    let kinds = [
        ("noise", EventKind::NOISE),
        ("rest", &reads::rest()),
        ("turns", EventKind::TURNS),
        ("session", EventKind::SESSION),
    ];
    let sql = sql.replace("{schema}", &address.schema);
    kinds.iter().fold(sql, |sql, (name, of)| sql.replace(&format!("{{{name}}}"), &EventKind::quoted(of)))
}

/// Refuses who is not the owner of a board.
fn owned(server: &mut Server, address: &Address, what: &str) -> std::result::Result<(), Fault> {
    let owner = "SELECT nspowner::regrole::text, pg_has_role(nspowner, 'USAGE') FROM pg_namespace \
                 WHERE nspname = $1";
    let row = server.row(owner, args![address.schema.as_str()])?.ok_or(Fault::Again)?;
    if row.get::<_, bool>(1) {
        return Ok(());
    }
    let hint = format!("log in as that: postgres://{}@...", row.get::<_, &str>(0));
    Err(Fault::Ours(Error::new(Kind::Permission, address, what).hint(hint)))
}

fn newer(address: &Address, what: &str, meta: &Meta) -> Error {
    let what = format!("{what} (tables of version {}; this program knows {SHAPE})", meta.version);
    Error::new(Kind::Data, address, what).hint("upgrade Watchbill on this host first")
}

/// Writes a part; where the server refuses a value in it, once more with a savepoint for each step. Collects plans for who asks for them.
fn carried_out<T>(
    server: &mut Server,
    plans: &mut Option<Vec<(String, String)>>,
    part: Part<'_>,
    mut write: impl FnMut(&mut Server, &Part<'_>) -> std::result::Result<T, Fault>,
) -> std::result::Result<T, Fault> {
    server.plans = plans.as_ref().map(|_| Vec::new());
    let done = match write(server, &part) {
        Err(fault) if fault.is_of_one_step() => {
            server.batch("ROLLBACK")?;
            write(server, &Part { one_by_one: true, ..part })
        }
        done => done,
    }?;
    if let (Some(all), Some(new)) = (plans.as_mut(), server.plans.take()) {
        all.extend(new);
    }
    Ok(done)
}

/// With this hint on an error of which it is not known whether the commit before it took place.
fn hinted<T>(done: Result<T>, unsure: &Cell<bool>, hint: &str) -> Result<T> {
    done.map_err(|e| if unsure.get() { e.hint(hint) } else { e })
}

/// Tries something until it goes through, until it cannot, or until patience ends. After a fault the connection is a new one.
fn tried<T>(
    held: &mut Held,
    address: &Address,
    secrets: &Secrets,
    patience: Duration,
    mut what: impl FnMut(&mut Server, Duration) -> std::result::Result<T, Fault>,
) -> Result<T> {
    let (mut tries, mut again) = (Tries::of(patience), 0);
    loop {
        let connected = match held.open.take() {
            Some(open) => Ok(open),
            None => Server::connect(address, secrets, held.timeline),
        };
        let done = connected.and_then(|mut open| {
            let done = what(&mut open, tries.left())?;
            *held = Held { timeline: open.timeline, open: Some(open) };
            Ok(done)
        });
        let fault = match done {
            Ok(done) => return Ok(done),
            Err(fault) => fault,
        };
        again += usize::from(matches!(fault, Fault::Again));
        if !fault.is_passing() || again > MOST_AGAIN || !tries.again() {
            return Err(fault.told(address));
        }
    }
}

impl Board for PostgresBoard {
    fn id(&self) -> &BoardId {
        &self.id
    }

    fn is_own(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn for_worker(&self) -> OsString {
        self.address.with_role().into()
    }

    fn attend(&mut self, me: &Attendance<'_>) -> Result<Option<Attended>> {
        let (address, before) = (self.address.clone(), OnceCell::new());
        let attended = match (self.mode, me.duty) {
            (Mode::Look, _) | (_, Duty::Looks | Duty::Asks) => {
                self.read(|server| hosts::look(server, &address, me))
            }
            _ => {
                let mut pass = None;
                let attended = self.change(|server| {
                    let attended = hosts::attend(server, &address, me, &before)?;
                    pass = epochs::Pass::begin(server, me, &attended)?;
                    Ok(attended)
                });
                self.pass = pass;
                attended
            }
        };
        attended.map(Some)
    }

    fn forget_host(&mut self, host: &str) -> Result<()> {
        let sql = "UPDATE hosts SET forgotten_at = now_s() WHERE name = $1 RETURNING 1";
        match self.change(|server| server.row(sql, args![host]))? {
            Some(_) => Ok(()),
            None => Err(Error::new(Kind::Partial, host, "no such host on this board")),
        }
    }

    fn timeline(&self) -> Option<Timeline> {
        let history = format!("{}:{}", self.meta.board, self.meta.system);
        Some(Timeline { history, number: self.server.timeline })
    }

    fn skip_behind(&mut self, timeline: u32) -> Result<()> {
        self.server = Held { open: None, timeline };
        self.read(meta).map(drop)
    }

    fn history(&mut self) -> Result<Option<History>> {
        let first = Some((0, self.meta.board.clone()));
        Ok(Some(History { first, last: if self.meta.is_used { 2 } else { 0 } }))
    }

    fn tells(&mut self, host: &str, target: &str, renews: bool) -> Result<bool> {
        match renews {
            true => self.change(|server| epochs::tell_on(server, host, target)),
            false => self.read(|server| epochs::tells(server, host, target)),
        }
    }

    fn shape(&self) -> &'static str {
        match self.meta.version < SHAPE {
            true => "made by an older `board init`, in PostgreSQL",
            false => "made by `board init`, in PostgreSQL",
        }
    }

    fn outdated(&self) -> Option<Error> {
        upgrading::outdated(&self.address, self.meta.version)
    }

    fn with_key(&mut self, key: &str) -> Result<Option<String>> {
        self.read(|server| reads::with_key(server, key))
    }

    fn glance(&mut self, of: &[Status]) -> Result<Shared<Task>> {
        let mut tasks = self.read(|server| reads::glance(server, of))?;
        tasks.sort_by_cached_key(|t| (Reverse(t.priority), t.created_at, t.id.clone()));
        Ok(tasks.into())
    }

    fn states(&mut self) -> Result<Vec<Status>> {
        self.read(reads::states)
    }

    fn links(&mut self, of: &[Status]) -> Result<Vec<Link>> {
        let mut links = self.read(|server| reads::links(server, of))?;
        links.sort_unstable();
        Ok(links)
    }

    fn assignees(&mut self) -> Result<BTreeSet<String>> {
        self.read(reads::assignees)
    }

    fn next_of(&mut self, of: &[Option<&str>], most: usize) -> Result<Shared<Task>> {
        self.read(|server| reads::next_of(server, of, most)).map(Shared::from)
    }

    fn waiting(&mut self) -> Result<BTreeSet<String>> {
        self.read(reads::waiting)
    }

    fn look(&mut self, ids: &[String]) -> Result<Vec<Detail>> {
        let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
        ids.iter().for_each(|id| *asked.entry(id).or_default() += 1);
        let once: Vec<&str> = asked.keys().copied().collect();
        if once.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.read(|server| reads::look(server, &once))?;
        let told = |id: &String| {
            let left = asked.get_mut(id.as_str())?;
            *left -= 1;
            if *left == 0 { found.remove(id) } else { found.get(id).cloned() }
        };
        Ok(ids.iter().filter_map(told).collect())
    }

    fn comments(&mut self, task: &str) -> Result<Vec<Comment>> {
        let mut all = self.read(|server| reads::comments(server, &[task], true))?;
        Ok(all.remove(task).unwrap_or_default())
    }

    fn beat_note(&mut self, task: &str) -> Result<Option<String>> {
        let payload = self.read(|server| reads::beat_note(server, task))?;
        Ok(payload.and_then(|p| noted(&serde_json::from_str(&p).ok()?).map(str::to_owned)))
    }

    fn titled(&mut self, ids: &[String]) -> Result<Vec<Task>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.read(|server| reads::titled(server, ids))?;
        Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
    }

    fn recent_runs(&mut self, most: u32) -> Result<Shared<(String, Run)>> {
        self.read(|server| reads::recent_runs(server, most)).map(Shared::from)
    }

    fn ended(&mut self, since: Time, most: u32) -> Result<Vec<String>> {
        self.read(|server| reads::ended(server, since, most))
    }

    fn events(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.read(|server| reads::events(server, None, since, most))
    }

    fn turns(&mut self, since: Time, most: u32) -> Result<Vec<(String, Event)>> {
        self.read(|server| reads::events(server, Some(EventKind::TURNS), since, most))
    }

    fn coordinated(&mut self, after: i64, most: u32) -> Result<Vec<Entry>> {
        self.read(|server| reads::coordinated(server, after, most))
    }

    fn writable(&mut self) -> Result<()> {
        if self.meta.min_writer > SHAPE {
            return Err(newer(&self.address, "to be written by a newer Watchbill alone", &self.meta));
        }
        let sql =
            "SELECT has_table_privilege('tasks', 'UPDATE') AND has_table_privilege('task_events', 'INSERT')";
        let may = self.read(|server| server.row(sql, args![]))?.is_some_and(|row| row.get(0));
        if may {
            return Ok(());
        }
        let at = &self.address;
        let what = format!("the role {} may not write to the board", at.role_word());
        Err(Error::new(Kind::Permission, at, what)
            .hint(format!("its owner grants that: {}", at.grant("--worker"))))
    }

    fn snapshot(&mut self, of: &mut dyn FnMut(&mut dyn Source) -> Result<()>) -> Result<()> {
        self.copied(of)
    }

    fn fill(&mut self, patience: Duration, of: &mut dyn FnMut(&mut dyn Target) -> Result<()>) -> Result<()> {
        self.filled(patience, of)
    }

    fn prune(&mut self, asked: &Asked, after: &str, _: Duration) -> Result<Option<(String, Sum)>> {
        if let Some(error) = upgrading::needs(&self.address, self.meta.version, PRUNES, "nothing was removed")
        {
            return Err(error);
        }
        let address = self.address.clone();
        let part = |server: &mut Server| {
            owned(server, &address, "only the owner of this board removes tasks from it")?;
            server.batch(pruning::BY_INDEX)?;
            prune::part(&mut pruning::Within(server), asked, after)
        };
        if asked.dry { self.read(part) } else { self.change(part) }
    }

    fn apply(&mut self, now: Time, steps: &[Step], patience: Duration) -> Result<Vec<Outcome>> {
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        self.changes()?;
        let mut outcomes = Vec::with_capacity(steps.len());
        for steps in parts(steps, MAX_STEPS) {
            let (uuid, unsure) = (server::uuid(), Cell::new(false));
            let plans = &mut self.plans;
            let (board, host, pass) = (&self.meta.board, &self.host, self.pass.as_ref());
            let done = tried(&mut self.server, &self.address, &self.secrets, patience, |server, patience| {
                let part = Part {
                    now,
                    steps,
                    uuid: &uuid,
                    host,
                    board,
                    pass,
                    one_by_one: false,
                    patience,
                    unsure: &unsure,
                };
                carried_out(server, plans, part, write)
            });
            let hint = "it did not say whether the last steps are written; the next pass will see";
            let done = hinted(done, &unsure, hint)?;
            if let Some(pass) = &mut self.pass {
                pass.after(steps, &done);
            }
            outcomes.extend(done);
        }
        Ok(outcomes)
    }

    fn take_next(
        &mut self,
        now: Time,
        of: &[Option<&str>],
        begin: Begin<'_>,
        patience: Duration,
        answer: &mut dyn FnMut(&Detail) -> Answer,
    ) -> Result<Option<(Detail, Outcome)>> {
        self.changes()?;
        let (mut uuid, unsure, mut taken) = (String::new(), Cell::new(false), None);
        let plans = &mut self.plans;
        let (board, host) = (&self.meta.board, &self.host);
        let done = tried(&mut self.server, &self.address, &self.secrets, patience, |server, patience| {
            if !unsure.get() {
                // The last try is lost, and may still hold what it took: this one does not wait for it.
                uuid = server::uuid();
            }
            let part = Part {
                now,
                steps: &[],
                uuid: &uuid,
                host,
                board,
                pass: None,
                one_by_one: false,
                patience,
                unsure: &unsure,
            };
            carried_out(server, plans, part, |server, part| {
                take(server, part, (of, begin), &mut taken, answer)
            })
        });
        hinted(done, &unsure, "it did not say whether the task was taken; look at it first")
    }
}
