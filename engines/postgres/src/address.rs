//! Where a board is, and with what one gets in: `postgres://[USER@]HOST[:PORT][,...]/DATABASE[?board=NAME&hostaddr=IP&sslrootcert=PATH]`.

use std::fmt;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::error::{Error, Kind, Result};
use board::CREDENTIAL;
use shared::card::shell_word;
use tokio_postgres::config::{Config, SslMode, TargetSessionAttrs};

use crate::tls::{self, Tls};

/// What an address looks like.
const EXAMPLE: &str = "postgres://db.example/agents";

/// One server of those that a board may be on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At {
    /// A host name, an address, or the folder of a Unix socket.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Where it is connected to, in place of what the host name is looked up as. Certificate and password are those of the host name.
    pub(crate) addr: Option<IpAddr>,
}

/// Servers, of which one may be written, and a board on it. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// At least one, in the order in which they are asked.
    pub(crate) servers: Vec<At>,
    pub(crate) user: Option<String>,
    pub(crate) database: String,
    /// The board's schema: a plain name. It is quoted in SQL, because it may be one of its words.
    pub(crate) schema: String,
    /// `None` where nothing leaves this machine.
    pub(crate) tls: Option<Tls>,
}

/// Where passwords are looked for.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// A password file in the format of libpq; without one there is no password.
    pub file: Option<PathBuf>,
}

impl Secrets {
    /// What systemd gives a unit by `LoadCredential=watchbill-postgres:FILE`; else what libpq would use: `PGPASSFILE`, else `~/.pgpass`.
    pub fn of_environment() -> Secrets {
        let given = given_to_unit().filter(|file| file.is_file());
        let named = std::env::var_os("PGPASSFILE").filter(|name| !name.is_empty()).map(PathBuf::from);
        let own = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass"));
        Secrets { file: given.or(named).or_else(own) }
    }

    /// The file, as a person knows it.
    pub(crate) fn shown(&self) -> String {
        match &self.file {
            Some(file) if given_to_unit().as_ref() == Some(file) => {
                "the file that LoadCredential= of the unit names".to_owned()
            }
            Some(file) => file.display().to_string(),
            None => "~/.pgpass".to_owned(),
        }
    }

    /// The password for this server and user.
    fn password(&self, of: &Address, at: &At, user: &str) -> Result<Option<String>> {
        let Some(path) = &self.file else { return Ok(None) };
        // Right before a colon, the file's name would make the next word a password, which is hidden.
        let named = format!("{} (passwords)", path.display());
        let said = |e: &std::io::Error| Error::io(&named, e);
        let there = match std::fs::metadata(path) {
            Ok(there) => there,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(e) => return Err(said(&e)),
        };
        // systemd lets the user of a unit read what it gives to it, which looks like the rights of a group.
        let is_given = given_to_unit().as_ref() == Some(path);
        if there.is_file() && !is_given && there.permissions().mode() & 0o077 != 0 {
            let what = "others may read this password file";
            let hint = format!("chmod 0600 {}", path.display());
            return Err(Error::new(Kind::Permission, named, what).hint(hint));
        }
        let text = std::fs::read_to_string(path).map_err(|e| said(&e))?;
        let port = at.port.to_string();
        let wanted = [at.host.as_str(), &port, &of.database, user];
        Ok(text.lines().find_map(|line| password_in(line, &wanted, at.is_socket())))
    }
}

/// The file with passwords that systemd gives this unit, if it gives one.
fn given_to_unit() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("CREDENTIALS_DIRECTORY")?).join(CREDENTIAL))
}

/// The password of a line `host:port:database:user:password`, where the line is for this connection.
fn password_in(line: &str, wanted: &[&str; 4], is_socket: bool) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let (mut fields, mut field, mut chars) = (Vec::new(), String::new(), line.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => field.extend(chars.next()),
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    let fits = |(nth, (has, wants)): (usize, (&String, &&str))| {
        has == "*" || has == wants || (nth == 0 && is_socket && has == "localhost")
    };
    (fields.len() == 4 && fields.iter().zip(wanted).enumerate().all(fits)).then_some(field)
}

impl At {
    /// Whether it is reached through the folder of a Unix socket.
    fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }

    /// Whether what is sent to it stays on this machine, by its name and by its address.
    fn is_here(&self) -> bool {
        let loops = || self.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        let is_named_so = self.is_socket() || self.host == "localhost" || loops();
        is_named_so && self.addr.is_none_or(|addr| addr.is_loopback())
    }
}

/// As one writes it.
impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host)?,
            false => f.write_str(&encoded(&self.host))?,
        }
        if self.port == 5432 { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// `Config` for any other text, for a password in the address, and for one that would let others read or change what is sent.
    pub(crate) fn read(url: &str) -> Result<Address> {
        let shown = without_password(url);
        let wrong = |what: &str| Error::new(Kind::Config, &shown, what);
        let partial = |what: &str| wrong(what).hint(format!("write all of it: {EXAMPLE}"));
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest =
            rest.ok_or_else(|| partial("not an address of PostgreSQL, which begins with postgres://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (server, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, server) = server.rsplit_once('@').map_or((None, server), |(u, s)| (Some(u), s));
        let part = |text: &str| decoded(text).ok_or_else(|| wrong("a % in it is followed by no byte"));
        if user.is_some_and(|u| u.contains(':')) {
            return Err(secret(wrong("a password in an address is seen by everybody, as in `ps`")));
        }
        let at = |server: &str| -> Result<At> {
            let (host, port) = match server.rsplit_once(':').filter(|(host, _)| !host.ends_with(':')) {
                Some((host, port)) if !port.contains(']') => (host, port),
                _ => (server, ""),
            };
            let port: u16 = match port {
                "" => 5432,
                port => port.parse().unwrap_or(0),
            };
            if port == 0 {
                let error = wrong("the port is not a number from 1 to 65535");
                return Err(error.hint("leave it out for 5432, PostgreSQL's own"));
            }
            Ok(At { host: part(host.trim_start_matches('[').trim_end_matches(']'))?, port, addr: None })
        };
        let mut address = Address {
            servers: server.split(',').map(at).collect::<Result<_>>()?,
            user: user.map(part).transpose()?.filter(|user| !user.is_empty()),
            database: part(database)?,
            schema: "watchbill".to_owned(),
            tls: None,
        };
        let (mut mode, mut roots, mut cert, mut key, mut addrs) = (None, None, None, None, None);
        let file = |name: &str, path: &str| {
            let path = PathBuf::from(part(path)?);
            let relative = || wrong(&format!("{name} is not an absolute path"));
            if path.is_absolute() { Ok(Some(path)) } else { Err(relative()) }
        };
        for (name, value) in
            query.split('&').filter(|q| !q.is_empty()).map(|q| q.split_once('=').unwrap_or((q, "")))
        {
            match name {
                "board" => address.schema = part(value)?,
                // As libpq takes it: a folder in front of the `/` of the database is hard to read.
                "host" if server.split(':').next() == Some("") => {
                    let port = address.servers[0].port;
                    let named = |host: &str| -> Result<At> { Ok(At { host: part(host)?, port, addr: None }) };
                    address.servers = value.split(',').map(named).collect::<Result<_>>()?;
                }
                "hostaddr" => addrs = Some(part(value)?),
                "sslmode" => mode = Some(value),
                // What libpq calls the CAs of the machine.
                "sslrootcert" if value == "system" => roots = None,
                "sslrootcert" => roots = file(name, value)?,
                "sslcert" => cert = file(name, value)?,
                "sslkey" => key = file(name, value)?,
                "password" | "sslpassword" => {
                    return Err(secret(wrong("a password in an address is seen by everybody, as in `ps`")));
                }
                _ => {
                    let known =
                        "`board`, `host`, `hostaddr`, `sslmode`, `sslrootcert`, `sslcert` and `sslkey`";
                    return Err(wrong(&format!("it may have {known} behind the `?`, not `{name}`")));
                }
            }
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_name = address.schema.len() <= 56 && address.schema.chars().all(plain);
        if !is_name || !address.schema.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(wrong(
                "the name of the board is not a lower-case word of at most 56 letters, digits and `_`",
            ));
        }
        if address.schema.starts_with("pg_")
            || matches!(address.schema.as_str(), "public" | "information_schema")
        {
            return Err(wrong("this name is PostgreSQL's own"));
        }
        if address.servers.iter().any(|at| at.host.is_empty()) {
            return Err(partial("it names no server"));
        }
        if address.database.is_empty() {
            return Err(partial("it names no database"));
        }
        if let Some(addrs) = addrs {
            address.locate(&addrs).map_err(|what| wrong(&what))?;
        }
        let is_on = match mode {
            None if address.has_socket() && !address.is_here() => {
                return Err(wrong("a Unix socket beside a server on another machine"));
            }
            None => !address.is_here(),
            Some("disable") if address.is_here() => false,
            Some("disable") => {
                let what =
                    "without TLS everybody between here and the server could read and change what is sent";
                let hint =
                    "a Unix socket or an address of this machine, such as that of `ssh -L`, needs none";
                return Err(wrong(what).hint(hint));
            }
            Some("verify-full") if address.has_socket() => {
                return Err(wrong("PostgreSQL has no TLS on a Unix socket").hint("leave `sslmode` out"));
            }
            Some("verify-full") => true,
            Some(weak @ ("verify-ca" | "require" | "prefer" | "allow")) => {
                let what = format!("sslmode={weak} does not stop one who sits between here and the server");
                return Err(
                    wrong(&what).hint("use sslmode=verify-full, with sslrootcert=PATH for a CA of your own")
                );
            }
            Some(_) => return Err(wrong("sslmode is `verify-full` or, on this machine, `disable`")),
        };
        let client = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return Err(wrong("sslcert and sslkey belong together")),
        };
        if !is_on && (roots.is_some() || client.is_some()) {
            return Err(wrong("files of certificates without TLS").hint("add sslmode=verify-full"));
        }
        if is_on && !address.servers.iter().all(|at| tls::is_name(&at.host)) {
            return Err(wrong("no certificate can be for a host of this name"));
        }
        address.tls = is_on.then_some(Tls { roots, client });
        Ok(address)
    }

    /// Takes the addresses of its servers, as many as there are. An empty one is looked up by the name.
    fn locate(&mut self, addrs: &str) -> std::result::Result<(), String> {
        let all: Vec<&str> = addrs.split(',').collect();
        let (many, servers) = (all.len(), self.servers.len());
        if many != servers {
            return Err(format!("hostaddr has {many} addresses for {servers} servers"));
        }
        for (at, addr) in self.servers.iter_mut().zip(all).filter(|(_, addr)| !addr.is_empty()) {
            if at.is_socket() {
                return Err("hostaddr is for a server in the network, not for a Unix socket".to_owned());
            }
            let is_none = "hostaddr is not an IP address, such as 192.0.2.7 or 2001:db8::7";
            at.addr = Some(addr.parse().map_err(|_| is_none.to_owned())?);
        }
        Ok(())
    }

    /// What is written of them behind `hostaddr=`.
    fn addrs(&self) -> Option<String> {
        let shown = |at: &At| at.addr.map(|addr| addr.to_string()).unwrap_or_default();
        let is_located = self.servers.iter().any(|at| at.addr.is_some());
        is_located.then(|| self.servers.iter().map(shown).collect::<Vec<_>>().join(","))
    }

    /// The role that one logs in as: the one named, else the one that libpq would take.
    fn role(&self) -> Option<String> {
        let by_login = || ["PGUSER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
        self.user.clone().or_else(by_login).filter(|user| !user.is_empty())
    }

    /// The address with the role in it that `PGUSER` alone tells.
    pub(crate) fn with_role(&self) -> String {
        let told = || std::env::var("PGUSER").ok().filter(|user| !user.is_empty());
        Address { user: self.user.clone().or_else(told), ..self.clone() }.to_string()
    }

    /// That role, as a word of a command.
    pub(crate) fn role_word(&self) -> String {
        self.role().map_or_else(|| "ROLE".to_owned(), |role| word(&role))
    }

    /// What its owner calls to let that role in, as `--worker` or as `--watcher`.
    pub(crate) fn grant(&self, kind: &str) -> String {
        let of_owner = Address { user: None, ..self.clone() };
        format!("board grant --db {} {kind} {}", word(&of_owner.to_string()), self.role_word())
    }

    /// What its owner calls to bring its tables up to date.
    pub(crate) fn upgrade(&self) -> String {
        let of_owner = Address { user: None, ..self.clone() };
        format!("board upgrade {}", word(&of_owner.to_string()))
    }

    /// What makes its database.
    pub(crate) fn createdb(&self) -> String {
        let at = &self.servers[0];
        let port = if at.port == 5432 { String::new() } else { format!(" -p {}", at.port) };
        let addr = at.addr.map_or_else(String::new, |addr| format!("PGHOSTADDR={addr} "));
        format!("{addr}createdb -h {}{port} -E UTF8 -T template0 {}", word(&at.host), word(&self.database))
    }

    /// The line of a password file for one of its servers.
    pub(crate) fn password_line(&self, at: &At) -> String {
        let host = if at.is_socket() { "localhost" } else { &at.host };
        let role = self.role().unwrap_or_default();
        let fields = [host, &at.port.to_string(), &self.database, &role];
        let fields = fields.map(|field| field.replace('\\', "\\\\").replace(':', "\\:"));
        format!("{}:PASSWORD", fields.join(":")).replace(char::is_control, " ")
    }

    fn has_socket(&self) -> bool {
        self.servers.iter().any(At::is_socket)
    }

    /// Whether what is sent to each of its servers stays on this machine.
    fn is_here(&self) -> bool {
        self.servers.iter().all(At::is_here)
    }

    /// How to connect to one of its servers.
    pub(crate) fn config(&self, at: &At, secrets: &Secrets) -> Result<Config> {
        let nobody = || Error::new(Kind::Config, self, "it names no role to log in as");
        let user =
            self.role().ok_or_else(|| nobody().hint("write it in front of the host: postgres://ROLE@..."))?;
        let mut config = Config::new();
        config.user(&user).dbname(&self.database).port(at.port).application_name("watchbill");
        if at.is_socket() {
            config.host_path(Path::new(&at.host))
        } else {
            config.host(&at.host)
        };
        if let Some(addr) = at.addr {
            config.hostaddr(addr);
        }
        if let Some(password) = secrets.password(self, at, &user)? {
            config.password(password);
        }
        config
            .ssl_mode(if self.tls.is_some() { SslMode::Require } else { SslMode::Disable })
            // A replica is stale, and its snapshots may not be whole.
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(Duration::from_secs(5))
            .tcp_user_timeout(Duration::from_secs(10))
            .keepalives_idle(Duration::from_secs(15))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3);
        Ok(config)
    }
}

/// As one writes it, and as a [`board::BoardId`] shows it.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = &self.user {
            write!(f, "{}@", encoded(user))?;
        }
        let servers: Vec<String> = self.servers.iter().map(At::to_string).collect();
        write!(f, "{}/{}", servers.join(","), encoded(&self.database))?;
        let (roots, client) =
            self.tls.as_ref().map_or((None, None), |tls| (tls.roots.as_ref(), tls.client.as_ref()));
        let asked = [
            ("board", Some(self.schema.clone()).filter(|schema| schema != "watchbill")),
            ("hostaddr", self.addrs()),
            ("sslmode", (self.tls.is_some() && self.is_here()).then(|| "verify-full".to_owned())),
            ("sslrootcert", roots.map(|path| shown(path))),
            ("sslcert", client.map(|(cert, _)| shown(cert))),
            ("sslkey", client.map(|(_, key)| shown(key))),
        ];
        let asked = asked.into_iter().filter_map(|(name, value)| Some((name, value?)));
        for (nth, (name, value)) in asked.enumerate() {
            write!(f, "{}{name}={value}", if nth == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

/// A path behind the `?`, where a `/` ends nothing.
fn shown(path: &Path) -> String {
    path.to_string_lossy().split('/').map(encoded).collect::<Vec<_>>().join("/")
}

/// A text as a word of a command in a message.
fn word(text: &str) -> String {
    shell_word(text).replace(char::is_control, " ")
}

fn secret(error: Error) -> Error {
    error.hint("put it into ~/.pgpass, or into the file that PGPASSFILE names")
}

/// The address up to where a secret may begin.
fn without_password(url: &str) -> String {
    let front = url.split('?').next().unwrap_or_default();
    let (scheme, rest) = front.split_once("://").unwrap_or(("", front));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, server)| server);
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") }
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |b: u8| (b as char).to_digit(16);
        let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn encoded(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes().map(|b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_is_shown_as_it_is_read() {
        for (url, host, shown) in [
            ("postgres://luna@localhost/agents", "localhost", "postgres://luna@localhost/agents"),
            (
                "postgresql://127.0.0.1:5433/agents?board=night",
                "127.0.0.1",
                "postgres://127.0.0.1:5433/agents?board=night",
            ),
            ("postgres://[::1]/agents", "::1", "postgres://[::1]/agents"),
            ("postgres://[::1]:7/a", "::1", "postgres://[::1]:7/a"),
            ("postgres://%2Frun%2Fpg/agents", "/run/pg", "postgres://%2Frun%2Fpg/agents"),
            ("postgres:///agents?host=/run/pg&board=b1", "/run/pg", "postgres://%2Frun%2Fpg/agents?board=b1"),
            (
                "postgres://db1.lan,db2.lan:5433,[fd00::7]:6/agents",
                "db1.lan db2.lan fd00::7",
                "postgres://db1.lan,db2.lan:5433,[fd00::7]:6/agents",
            ),
            ("postgres://:7/a?host=/run,/tmp", "/run /tmp", "postgres://%2Frun:7,%2Ftmp:7/a"),
            ("postgres://%2Frun/agents?sslmode=disable", "/run", "postgres://%2Frun/agents"),
            ("postgres://db.lan/agents?sslmode=verify-full", "db.lan", "postgres://db.lan/agents"),
            ("postgres://192.168.0.7/a?sslrootcert=system", "192.168.0.7", "postgres://192.168.0.7/a"),
            (
                "postgres://[::1]/a?sslrootcert=/etc/my%20CA.pem&sslmode=verify-full",
                "::1",
                "postgres://[::1]/a?sslmode=verify-full&sslrootcert=/etc/my%20CA.pem",
            ),
            (
                "postgres://db.lan/a?sslkey=%2Fk%26.pem&sslcert=/c.pem&board=b1",
                "db.lan",
                "postgres://db.lan/a?board=b1&sslcert=/c.pem&sslkey=/k%26.pem",
            ),
            (
                "postgres://db.lan/a?sslmode=verify-full&hostaddr=192.0.2.7&board=b1",
                "db.lan",
                "postgres://db.lan/a?board=b1&hostaddr=192.0.2.7",
            ),
            (
                "postgres://db1.lan,db2.lan,db3.lan/a?hostaddr=2001%3Adb8::7,,127.0.0.1",
                "db1.lan db2.lan db3.lan",
                "postgres://db1.lan,db2.lan,db3.lan/a?hostaddr=2001:db8::7,,127.0.0.1",
            ),
            (
                "postgres://localhost/a?hostaddr=::1&sslmode=disable",
                "localhost",
                "postgres://localhost/a?hostaddr=::1",
            ),
            ("postgres://db.lan/a?hostaddr=", "db.lan", "postgres://db.lan/a"),
        ] {
            let address = Address::read(url).unwrap();
            let hosts: Vec<&str> = address.servers.iter().map(|at| at.host.as_str()).collect();
            assert_eq!((hosts.join(" ").as_str(), address.to_string().as_str()), (host, shown), "{url}");
            assert_eq!(Address::read(shown).unwrap(), address);
        }
    }

    #[test]
    fn what_is_no_address_or_holds_a_secret_is_refused_without_showing_it() {
        for (url, word) in [
            ("/srv/kanban.db", "not an address"),
            ("postgres://luna:geheim@localhost/agents", "password"),
            ("postgres://luna:geheim@db.lan/agents", "password"),
            ("postgres://localhost/agents?password=geheim", "password"),
            ("postgres://localhost/agents?geheim&sslmode=require", "not `geheim`"),
            ("/srv/kanban.db", "write all of it: postgres://db.example/agents"),
            ("postgres://", "it names no server; write all of it: postgres://db.example/agents"),
            ("postgres://localhost", "it names no database; write all of it: postgres://db.example/agents"),
            ("postgres://localhost/", "no database; write all of it"),
            ("postgres:///agents", "no server; write all of it"),
            (
                "postgres://localhost:x/agents",
                "the port is not a number from 1 to 65535; leave it out for 5432",
            ),
            ("postgres://localhost:99999/agents", "the port is not a number from 1 to 65535"),
            ("postgres://localhost:0/agents", "the port is not a number from 1 to 65535"),
            ("postgres://localhost:-1/agents", "the port is not a number from 1 to 65535"),
            ("postgres://db1.lan,/agents", "no server"),
            ("postgres://localhost,db1.lan/agents?sslmode=disable", "without TLS everybody between"),
            ("postgres://%2Frun,db1.lan/agents", "beside a server on another machine"),
            ("postgres://db1.lan,%2Frun/agents?sslmode=verify-full", "no TLS on a Unix socket"),
            ("postgres://local%2/agents", "no byte"),
            ("postgres://localhost/agents?board=Night", "name of the board"),
            ("postgres://localhost/agents?board=a;drop", "name of the board"),
            ("postgres://localhost/agents?board=pg_x", "PostgreSQL's own"),
            ("postgres://db.lan/agents?sslmode=disable", "without TLS everybody between"),
            ("postgres://192.168.0.7/agents?sslmode=disable", "`ssh -L`"),
            ("postgres://[::ffff:127.0.0.1]/agents?sslmode=disable", "without TLS everybody between"),
            ("postgres://db.lan/agents?sslmode=verify-ca", "sslmode=verify-ca does not stop"),
            ("postgres://db.lan/agents?sslmode=require", "use sslmode=verify-full"),
            ("postgres://localhost/agents?sslmode=prefer", "sslmode=prefer does not stop"),
            ("postgres://%2Frun/agents?sslmode=allow", "sslmode=allow does not stop"),
            ("postgres://%2Frun/agents?sslmode=verify-full", "no TLS on a Unix socket"),
            ("postgres://db.lan/agents?sslmode=", "sslmode is `verify-full`"),
            ("postgres://db.lan/agents?sslmode=geheim", "sslmode is `verify-full`"),
            ("postgres://db.lan/agents?sslrootcert=ca.pem", "sslrootcert is not an absolute path"),
            ("postgres://db.lan/agents?sslrootcert=", "sslrootcert is not an absolute path"),
            ("postgres://db.lan/agents?sslcert=/c.pem", "belong together"),
            ("postgres://localhost/agents?sslrootcert=/ca.pem", "add sslmode=verify-full"),
            ("postgres://db.lan/agents?sslpassword=geheim", "password"),
            ("postgres://a%20b/agents", "no certificate can be"),
            ("postgres://db.lan/agents?hostaddr=db1.lan", "hostaddr is not an IP address"),
            ("postgres://db.lan/agents?hostaddr=192.0.2.7:5432", "hostaddr is not an IP address"),
            ("postgres://db1.lan,db2.lan/agents?hostaddr=192.0.2.7", "has 1 addresses for 2 servers"),
            ("postgres://db.lan/agents?hostaddr=192.0.2.7,", "has 2 addresses for 1 servers"),
            ("postgres://%2Frun/agents?hostaddr=127.0.0.1", "not for a Unix socket"),
            ("postgres:///agents?hostaddr=192.0.2.7", "it names no server"),
            (
                "postgres://localhost/agents?hostaddr=192.0.2.7&sslmode=disable",
                "without TLS everybody between",
            ),
            ("postgres://db.lan/agents?hostaddr=127.0.0.1&sslmode=disable", "without TLS everybody between"),
        ] {
            let error = Address::read(url).unwrap_err();
            assert_eq!(error.kind, Kind::Config, "{url}");
            let text = error.to_string();
            assert!(text.contains(word) && !text.contains('\n'), "{url}: {text}");
            assert!(word.contains("geheim") || !text.contains("geheim"), "{text}");
        }
    }

    #[test]
    fn what_is_said_of_a_password_file_can_be_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".pgpass");
        std::fs::write(&file, "*:*:*:*:ge-heim").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let address = Address::read("postgres://luna@localhost/agents").unwrap();
        let secrets = Secrets { file: Some(file.clone()) };
        let said = secrets.password(&address, &address.servers[0], "luna").unwrap_err().to_string();
        let want =
            format!("{0} (passwords): others may read this password file; chmod 0600 {0}", file.display());
        assert_eq!(base::redact::redact(&said), want);
    }

    #[test]
    fn what_mends_it_is_said_as_a_command_or_as_a_line_of_the_password_file() {
        let url = "postgres://luna@db.lan:5433/agents?board=night";
        let address = Address::read(url).unwrap();
        let of_owner = "'postgres://db.lan:5433/agents?board=night'";
        assert_eq!(address.grant("--worker"), format!("board grant --db {of_owner} --worker luna"));
        for (url, createdb, line) in [
            (
                url,
                "createdb -h db.lan -p 5433 -E UTF8 -T template0 agents",
                "db.lan:5433:agents:luna:PASSWORD",
            ),
            (
                "postgres://a%3Ab@[::1]/a%20b",
                "createdb -h '::1' -E UTF8 -T template0 'a b'",
                r"\:\:1:5432:a b:a\:b:PASSWORD",
            ),
            (
                "postgres://luna@%2Frun%2Fpg/a",
                "createdb -h /run/pg -E UTF8 -T template0 a",
                "localhost:5432:a:luna:PASSWORD",
            ),
            (
                "postgres://luna@db.lan/a%0Ab",
                "createdb -h db.lan -E UTF8 -T template0 'a b'",
                "db.lan:5432:a b:luna:PASSWORD",
            ),
            (
                "postgres://luna@db.lan/a?hostaddr=192.0.2.7",
                "PGHOSTADDR=192.0.2.7 createdb -h db.lan -E UTF8 -T template0 a",
                "db.lan:5432:a:luna:PASSWORD",
            ),
        ] {
            let address = Address::read(url).unwrap();
            let said = (address.createdb(), address.password_line(&address.servers[0]));
            assert_eq!((said.0.as_str(), said.1.as_str()), (createdb, line), "{url}");
        }
        // The line is one that is found again.
        let wanted = ["::1", "5432", "a b", "a:b"];
        assert_eq!(password_in(r"\:\:1:5432:a b:a\:b:PASSWORD", &wanted, false).as_deref(), Some("PASSWORD"));
    }

    #[test]
    fn what_leaves_this_machine_is_encrypted() {
        for (url, is_on) in [
            ("postgres://luna@db.lan/agents", true),
            ("postgres://luna@192.168.0.7/agents", true),
            ("postgres://luna@[fd00::7]/agents", true),
            ("postgres://luna@localhost.lan/agents", true),
            ("postgres://luna@localhost/agents?sslmode=verify-full", true),
            ("postgres://luna@localhost,db.lan/agents", true),
            ("postgres://luna@localhost,127.0.0.1:5433/agents", false),
            ("postgres://luna@localhost/agents?hostaddr=192.0.2.7", true),
            ("postgres://luna@db.lan/agents?hostaddr=127.0.0.1", true),
            ("postgres://luna@localhost/agents?hostaddr=127.0.0.1", false),
            ("postgres://luna@localhost/agents", false),
            ("postgres://luna@127.0.0.2/agents?sslmode=disable", false),
            ("postgres://luna@%2Frun/agents", false),
        ] {
            let address = Address::read(url).unwrap();
            assert_eq!(address.tls.is_some(), is_on, "{url}");
            let mode = address.config(&address.servers[0], &Secrets::default()).unwrap().get_ssl_mode();
            assert_eq!(mode, if is_on { SslMode::Require } else { SslMode::Disable }, "{url}");
        }
    }

    #[test]
    fn a_password_file_is_read_as_libpq_reads_it() {
        let wanted = ["/run/pg", "5432", "agents", "luna"];
        for (line, found) in [
            ("/run/pg:5432:agents:luna:one", Some("one")),
            ("localhost:*:*:luna:t:w\\\\o", Some("t:w\\o")),
            ("*:*:*:*:", Some("")),
            ("*:*:*:nova:one", None),
            ("db.lan:*:*:luna:one", None),
            ("#*:*:*:*:one", None),
            ("*:*:luna", None),
            ("", None),
        ] {
            assert_eq!(password_in(line, &wanted, true).as_deref(), found, "{line}");
        }
        assert_eq!(password_in("localhost:*:*:luna:x", &["127.0.0.1", "5432", "a", "luna"], false), None);
    }
}
