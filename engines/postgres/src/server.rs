//! A connection: statements without names, the settings of a transaction, and what an error of the server means.

use std::borrow::Cow;
use std::error::Error as _;
use std::time::{Duration, Instant};

use base::error::{Error, Kind};
use board::several_hosts;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row, SimpleQueryMessage};

use crate::address::{Address, At, Secrets};
use crate::line::{Asked, Line, STATEMENT};
use crate::tls::Refusal;

/// A value in a statement. PostgreSQL has no text with a NUL byte: one becomes U+FFFD.
#[derive(Debug)]
pub(crate) enum Arg<'a> {
    Text(Option<Cow<'a, str>>),
    Number(Option<i64>),
    Texts(Vec<Option<Cow<'a, str>>>),
    Numbers(Vec<Option<i64>>),
}

fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(text: &'a str) -> Arg<'a> {
        Arg::Text(Some(clean(text)))
    }
}

impl<'a> From<Option<&'a str>> for Arg<'a> {
    fn from(text: Option<&'a str>) -> Arg<'a> {
        Arg::Text(text.map(clean))
    }
}

impl From<i64> for Arg<'_> {
    fn from(number: i64) -> Self {
        Arg::Number(Some(number))
    }
}

impl From<Option<i64>> for Arg<'_> {
    fn from(number: Option<i64>) -> Self {
        Arg::Number(number)
    }
}

impl<'a> FromIterator<&'a str> for Arg<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Arg<'a> {
        texts.into_iter().map(Some).collect()
    }
}

impl<'a> FromIterator<Option<&'a str>> for Arg<'a> {
    fn from_iter<I: IntoIterator<Item = Option<&'a str>>>(texts: I) -> Arg<'a> {
        Arg::Texts(texts.into_iter().map(|text| text.map(clean)).collect())
    }
}

impl FromIterator<Option<i64>> for Arg<'_> {
    fn from_iter<I: IntoIterator<Item = Option<i64>>>(numbers: I) -> Self {
        Arg::Numbers(numbers.into_iter().collect())
    }
}

impl Arg<'_> {
    fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Arg::Text(text) => (text, Type::TEXT),
            Arg::Number(number) => (number, Type::INT8),
            Arg::Texts(texts) => (texts, Type::TEXT_ARRAY),
            Arg::Numbers(numbers) => (numbers, Type::INT8_ARRAY),
        }
    }
}

/// Arguments of a statement, each as what it is.
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::server::Arg::from($value)),*] };
}
pub(crate) use args;

/// Asks a server that may be written for its timeline, in hexadecimal digits.
const TIMELINE: &str = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";

/// An open connection to one board.
pub(crate) struct Server {
    /// Before the line: that one ends when nobody asks any more.
    client: Client,
    line: Line,
    schema: String,
    /// Of the last transaction: each promotion of a replica begins a later one.
    pub(crate) timeline: u32,
    /// Statements with their plans, while a caller asks for them.
    pub(crate) plans: Option<Vec<(String, String)>>,
    /// The begin of a transaction that only reads. It goes with the first statement, in one round trip.
    begins: Option<String>,
}

impl Server {
    /// Connects to the first server that lets us in, may be written and is not behind this timeline: one that was replaced may run again.
    pub(crate) fn connect(address: &Address, secrets: &Secrets, timeline: u32) -> Result<Server, Fault> {
        let mut last = None;
        for at in &address.servers {
            let connected = Server::to(address, at, secrets, timeline).and_then(|mut server| {
                // Of one server alone the first transaction tells it.
                if address.servers.len() > 1 && timeline > 0 {
                    let told = server.line.answer(server.client.simple_query(TIMELINE))?;
                    server.began(&told)?;
                }
                Ok(server)
            });
            match connected {
                // The one that took over may answer in a moment.
                Err(Fault::Behind) if last.is_some() => {}
                Err(fault) => last = Some(fault),
                connected => return connected,
            }
        }
        Err(last.unwrap_or(Fault::Silent))
    }

    fn to(address: &Address, at: &At, secrets: &Secrets, timeline: u32) -> Result<Server, Fault> {
        let config = address.config(at, secrets).map_err(Fault::Ours)?;
        let connected = match &address.tls {
            Some(tls) => Line::connect(&config, tls.connector().map_err(Fault::Ours)?),
            None => Line::connect(&config, NoTls),
        };
        let (client, line) = connected.map_err(|fault| fault.of_password(address, at, secrets))?;
        if let Some(other) = line.encoding.as_deref().filter(|encoding| *encoding != "UTF8") {
            return Err(Fault::Ours(of_encoding(address, other)));
        }
        Ok(Server { client, line, schema: address.schema.clone(), timeline, plans: None, begins: None })
    }

    /// Begins a transaction. Settings go with it: a pool in transaction mode keeps none between two transactions.
    /// One message, one round trip. It also tells the timeline: behind a pool each transaction may be one of another server.
    pub(crate) fn begin(&mut self, how: Access, patience: Duration) -> Result<(), Fault> {
        let sql = self.beginning(how, patience);
        let told = self.line.answer(self.client.simple_query(&sql))?;
        self.began(&told)
    }

    /// Begins a transaction that only reads: with its first statement, so that it costs no round trip. A write must not be sent before it
    /// is known that its transaction began.
    pub(crate) fn begin_reading(&mut self, patience: Duration) {
        self.begins = Some(self.beginning(READ, patience));
    }

    /// Ends such a transaction. Nothing rests on the answer, and nobody waits for it.
    pub(crate) fn end_reading(&mut self) {
        if self.begins.take().is_none() {
            self.line.send(self.client.batch_execute("COMMIT"));
        }
    }

    fn beginning(&self, how: Access, patience: Duration) -> String {
        // 0 would be no limit at all.
        let patience = patience.as_millis().clamp(1, 600_000);
        // Without `jit`: for one wrong guess at a cost the compiler takes longer than a whole pass.
        format!(
            "BEGIN ISOLATION LEVEL {how}; SET LOCAL search_path = \"{schema}\"; SET LOCAL jit = off; \
             SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL statement_timeout = '{statement}s'; \
             SET LOCAL lock_timeout = '{patience}ms'; SET LOCAL idle_in_transaction_session_timeout = '15s'; \
             SET LOCAL synchronous_commit = on; {TIMELINE}",
            how = how.isolation,
            schema = self.schema,
            statement = STATEMENT.as_secs(),
        )
    }

    /// What the server said to a begin.
    fn began(&mut self, told: &[SimpleQueryMessage]) -> Result<(), Fault> {
        let timeline = told.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => u32::from_str_radix(row.get(0)?, 16).ok(),
            _ => None,
        });
        let timeline = timeline.unwrap_or_default();
        if timeline < self.timeline {
            return Err(Fault::Behind);
        }
        self.timeline = timeline;
        Ok(())
    }

    /// Statements without arguments, in one round trip.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Fault> {
        self.line.answer(self.client.batch_execute(sql))
    }

    /// One statement, in one round trip and without a name: a pool in transaction mode knows no names.
    pub(crate) fn rows(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Vec<Row>, Fault> {
        Ok(self.all(&[(sql, args)])?.pop().unwrap_or_default())
    }

    /// Statements of which none needs the answer of another one, in one round trip.
    pub(crate) fn all(&mut self, asked: &[(&str, &[Arg<'_>])]) -> Result<Vec<Vec<Row>>, Fault> {
        let begins = self.begins.take();
        let typed: Vec<Vec<_>> =
            asked.iter().map(|(_, args)| args.iter().map(Arg::typed).collect()).collect();
        let client = &self.client;
        let mut sent: Vec<Asked<'_, Told>> = Vec::new();
        if let Some(begins) = &begins {
            sent.push(Box::pin(async { Ok(Told::Begin(client.simple_query(begins).await?)) }));
        }
        for ((sql, _), typed) in asked.iter().zip(&typed) {
            if self.plans.is_some() {
                let explain = format!("EXPLAIN {sql}");
                sent.push(Box::pin(
                    async move { Ok(Told::Plan(client.query_typed(&explain, typed).await?)) },
                ));
            }
            sent.push(Box::pin(async move { Ok(Told::Rows(client.query_typed(sql, typed).await?)) }));
        }
        let (mut all, mut statements) = (Vec::new(), asked.iter());
        for told in self.line.answers(sent)? {
            match told {
                Told::Begin(told) => self.began(&told)?,
                Told::Plan(plan) => {
                    let lines: Vec<&str> = plan.iter().map(|row| row.get(0)).collect();
                    let sql = statements.next().map(|(sql, _)| (*sql).to_owned()).unwrap_or_default();
                    self.plans.get_or_insert_default().push((sql, lines.join("\n")));
                }
                Told::Rows(rows) => all.push(rows),
            }
        }
        Ok(all)
    }

    /// One statement that tells at most one row.
    pub(crate) fn row(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<Option<Row>, Fault> {
        Ok(self.rows(sql, args)?.into_iter().next())
    }
}

/// What was answered to one of several statements.
enum Told {
    Begin(Vec<SimpleQueryMessage>),
    Plan(Vec<Row>),
    Rows(Vec<Row>),
}

/// How a transaction begins.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) isolation: &'static str,
    pub(crate) writes: bool,
}

/// A snapshot of its own: what one method tells belongs together.
pub(crate) const READ: Access = Access { isolation: "REPEATABLE READ READ ONLY", writes: false };

/// Why something was not done.
#[derive(Debug)]
pub(crate) enum Fault {
    /// What the server or the connection to it said.
    Server(tokio_postgres::Error),
    /// Nothing was said in time.
    Silent,
    /// Another server took over from this one.
    Behind,
    /// The world moved in a way that asks for another try.
    Again,
    /// What needs no server to be known.
    Ours(Error),
}

impl Fault {
    fn code(&self) -> &str {
        match self {
            Fault::Server(e) => e.code().map_or("", |code| code.code()),
            _ => "",
        }
    }

    /// Whether the connection, and not a statement, failed. What TLS refuses once it refuses again.
    fn is_lost(&self) -> bool {
        let Fault::Server(e) = self else { return matches!(self, Fault::Silent) };
        if Refusal::of(e).is_some() {
            return false;
        }
        let mut source = e.source();
        while let Some(cause) = source {
            if cause.is::<std::io::Error>() {
                return true;
            }
            source = cause.source();
        }
        e.is_closed()
    }

    /// Whether the server takes no writes. The client has no type for it.
    fn is_of_replica(&self) -> bool {
        let Fault::Server(e) = self else { return false };
        e.source().is_some_and(|e| e.to_string() == "database does not allow writes")
    }

    /// Whether a lock was waited for in vain.
    pub(crate) fn is_locked(&self) -> bool {
        self.code() == "55P03"
    }

    /// Whether the same transaction may go through in a moment.
    pub(crate) fn is_passing(&self) -> bool {
        let code = self.code();
        let of_moment = ["40001", "40P01", "55P03", "53300", "25P03", "25006"];
        let of_server = code.starts_with("57P0") && code != "57P04";
        matches!(self, Fault::Again)
            || self.is_lost()
            || of_moment.contains(&code)
            || of_server
            || code.starts_with("08")
    }

    /// Whether the server took one value or row not, and would take others.
    pub(crate) fn is_of_one_step(&self) -> bool {
        self.code().starts_with("22") || self.code().starts_with("23") || self.code() == "54000"
    }

    /// What the server says of a row or value that it does not take.
    pub(crate) fn said(&self) -> String {
        match self {
            Fault::Server(e) => e.as_db_error().map_or_else(|| e.to_string(), |db| db.message().to_owned()),
            Fault::Again => "the board changed at every try".to_owned(),
            Fault::Silent => "no answer".to_owned(),
            Fault::Behind => "it was replaced".to_owned(),
            Fault::Ours(e) => e.to_string(),
        }
    }

    /// A password that is missing or wrong, with what to do about it; every other fault as it is.
    fn of_password(self, address: &Address, at: &At, secrets: &Secrets) -> Fault {
        // The client has no type for it: it gives up before it asks the server.
        let missing =
            |e: &tokio_postgres::Error| e.source().is_some_and(|e| e.to_string() == "password missing");
        let (role, line) = (address.role_word(), address.password_line(at));
        let file = secrets.shown();
        let (what, hint) = match &self {
            Fault::Server(e) if missing(e) => (
                format!("the server asks for the password of {role}, and no file has it"),
                format!("add this line to {file} (mode 0600): {line}"),
            ),
            _ if self.code() == "28P01" => (
                format!("the server refuses the password for role {role} in {file}"),
                format!("correct the line for it there: {line}"),
            ),
            _ => return self,
        };
        Fault::Ours(Error::new(Kind::Permission, address, what).hint(hint))
    }

    /// What the server lets no role do that may not make others, with what to do about it; every other fault as it is.
    pub(crate) fn of_roles(self, address: &Address) -> Fault {
        if self.code() != "42501" {
            return self;
        }
        let hint = format!("a superuser grants that: ALTER ROLE {} CREATEROLE", address.role_word());
        Fault::Ours(Error::new(Kind::Permission, address, self.said()).hint(hint))
    }

    /// The error that a program ends with.
    pub(crate) fn told(self, at: &Address) -> Error {
        if let Fault::Server(e) = &self
            && let Some(refusal) = Refusal::of(e)
        {
            return refusal.told(at);
        }
        let code = self.code().to_owned();
        let kind = match code.as_str() {
            _ if self.is_passing() => Kind::Busy,
            // A statement ran into the limit of its time.
            "57014" => Kind::Busy,
            "3D000" | "3F000" | "42P01" => Kind::NoInput,
            "42501" | "42503" => Kind::Permission,
            code if code.starts_with("28") => Kind::Permission,
            "42703" | "42883" => Kind::Data,
            code if code.starts_with("53") || code.starts_with("58") => Kind::Io,
            "57P04" => Kind::NoInput,
            _ => Kind::Io,
        };
        let what = match &self {
            Fault::Ours(e) => return e.clone(),
            Fault::Behind => return several_hosts::replaced(at),
            fault if fault.is_of_replica() => "this server is a replica, which cannot be written".to_owned(),
            _ if self.is_lost() => "the server of this board does not answer".to_owned(),
            // No code: the client gave up before the server said a word, as where a password is asked for.
            Fault::Server(e) if code.is_empty() => match e.source() {
                Some(source) => format!("{e}: {source}"),
                None => e.to_string(),
            },
            fault => fault.said(),
        };
        let error = Error::new(kind, at, what.replace('\n', "; "));
        let role = at.role_word();
        match code.as_str() {
            "3F000" | "42P01" => {
                let what = format!("no board there, or none that the role {role} may see");
                let hint = format!("`board init` makes one; its owner lets a role in: {}", at.grant("--worker"));
                Error { what, ..error }.hint(hint)
            }
            "42501" => {
                let hint = format!(
                    "the owner of the board lets the role {role} in (a watcher and `board run` by --watcher): {}",
                    at.grant("--worker")
                );
                error.hint(hint)
            }
            "3D000" => error.hint(format!(
                "correct the address, or restore the database from its dump; for a new board: {}; then `board init`",
                at.createdb()
            )),
            code if code.starts_with("28") => error.hint(
                "the address names the role, as in postgres://ROLE@HOST/DATABASE; pg_hba.conf of the server says who gets in",
            ),
            _ => error,
        }
    }
}

/// Why there is no board in a database of this encoding. Such a one cuts a text inside a character, and then tells no row of the table.
fn of_encoding(address: &Address, encoding: &str) -> Error {
    let what = format!("the database has the encoding {encoding}; a board needs UTF8");
    let hint = format!("make it anew, and restore the dump of a board that is in it: {}", address.createdb());
    Error::new(Kind::Config, address, what).hint(hint)
}

/// Time that is left for tries, and the pauses between them.
pub(crate) struct Tries {
    until: Instant,
    pause: u64,
}

impl Tries {
    pub(crate) fn of(patience: Duration) -> Tries {
        Tries { until: Instant::now() + patience, pause: 8 }
    }

    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Waits a moment, longer from try to try and never the same; false where no time is left.
    pub(crate) fn again(&mut self) -> bool {
        let left = self.left();
        if left.is_zero() {
            return false;
        }
        let pause = Duration::from_millis(self.pause / 2 + u64::from(random::<1>()[0]) * self.pause / 256);
        std::thread::sleep(pause.min(left));
        self.pause = (self.pause * 2).min(500);
        true
    }
}

/// Bytes that nobody can guess.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0_u8; N];
    // Never fails on a kernel that is up; then all zeros, which a UUID that is taken already would say.
    _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    bytes
}

/// A UUID of version 4.
pub(crate) fn uuid() -> String {
    let mut bytes = random::<16>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
