//! Brings one message to one target: by a command that reads it, or to a URL.

use std::io::{ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Error, Timeout};

use base::quote;
use base::reason::Reason;
use base::redact;
use base::untrusted_file;
use config::{NotifyFormat, NotifyKeys};
use host::child::{Finished, finish};
use ops::notify::{Message, Outcome};

/// The longest a receiver may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest a command may take.
const COMMAND: Duration = Duration::from_secs(60);
/// Most bytes that are read of what a command says and of a file with a secret, and most that are shown.
const MAX_SAID: u64 = 64 << 10;
const MAX_SHOWN: usize = 200;
/// Where the bots of Telegram are spoken to.
const TELEGRAM: &str = "https://api.telegram.org";
/// Where the certificates of this machine lie: what OpenSSL reads of Debian, Fedora, openSUSE and Alpine.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

type Env<'e> = &'e dyn Fn(&str) -> Option<String>;

/// Sends it. What went wrong is said without any secret of the target.
pub(super) fn send(target: &NotifyKeys, message: &Message, env: Env<'_>) -> Outcome {
    let sent = match target.command.split_first() {
        Some((program, args)) => run(program, args, message),
        None => Request::of(target, message, env).map(|request| request.post(env)),
    };
    sent.unwrap_or_else(|why| Outcome::Refused(why.into()))
}

/// The object that a command and a plain webhook get.
fn object(message: &Message) -> String {
    redact::json(&format!("{}\n", json!(message))).into_owned()
}

/// Starts the command and waits for its end: 0 says that the message is on its way.
fn run(program: &str, args: &[String], message: &Message) -> Result<Outcome, Reason> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let mut command = Command::new(program);
    command.args(args).env("WATCHBILL_TITLE", &message.title).env("WATCHBILL_TEXT", &message.text);
    // What it starts itself ends with it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|e| Reason::of(format_args!("{name} could not be started"), e))?;
    let group = rustix::process::Pid::from_child(&child);
    let ended = finish(&mut child, Some(object(message)), COMMAND, MAX_SAID);
    let Finished { status, err, .. } = match ended {
        Ok(Some(finished)) => finished,
        Ok(None) => {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = child.wait();
            return Ok(Outcome::Lost(format!("{name} did not end in {} s", COMMAND.as_secs())));
        }
        Err(e) => return Ok(Outcome::Lost(format!("{name}: {e}"))),
    };
    let said =
        err.lines().rev().find(|line| !line.trim().is_empty()).map(|line| quote::line(line, MAX_SHOWN));
    let said = said.map_or_else(String::new, |line| format!(": {line}"));
    Ok(match (status.code(), status.signal()) {
        (Some(0), _) => Outcome::Accepted,
        (Some(code), _) => Outcome::Refused(format!("{name} ended with {code}{said}")),
        (None, signal) => {
            Outcome::Lost(format!("{name} was ended by signal {}{said}", signal.unwrap_or_default()))
        }
    })
}

/// What is sent to a URL.
struct Request {
    url: String,
    /// What is said of the URL: it may be a secret itself.
    host: String,
    token: Option<String>,
    body: String,
}

impl Request {
    fn of(target: &NotifyKeys, message: &Message, env: Env<'_>) -> Result<Request, Reason> {
        let token = secret("token", target.token_file.as_deref(), target.token_env.as_deref(), env)?;
        let named = secret("URL", target.url_file.as_deref(), target.url_env.as_deref(), env)?;
        let is_telegram = target.format == NotifyFormat::Telegram;
        let given = named.or_else(|| target.url.clone());
        let given = given.or_else(|| is_telegram.then(|| TELEGRAM.into())).ok_or("no URL is known")?;
        let host = base::endpoint::host(&given).ok_or("its URL names no host")?;
        let (mut url, mut topic, mut header) = (given.trim_end_matches('/').to_owned(), String::new(), token);
        match target.format {
            NotifyFormat::Telegram => {
                let token = header.take().ok_or("no token is known")?;
                url = format!("{url}/bot{token}/sendMessage");
            }
            NotifyFormat::Ntfy => {
                let (server, name) = url
                    .rsplit_once('/')
                    .filter(|(server, _)| server.contains("://"))
                    .filter(|(server, name)| !server.ends_with('/') && !name.is_empty())
                    .ok_or(
                        "its URL names no topic; write it behind the host, as https://ntfy.example/topic",
                    )?;
                (topic, url) = (name.to_owned(), format!("{server}/"));
            }
            NotifyFormat::Json | NotifyFormat::Slack | NotifyFormat::Discord => url = given.trim().to_owned(),
        }
        let body = message.body(target.format, target.chat.as_deref().unwrap_or_default(), &topic);
        let body = redact::json(&body.to_string()).into_owned();
        Ok(Request { url, host, token: header, body })
    }

    fn post(&self, env: Env<'_>) -> Outcome {
        let host = &self.host;
        let is_tls = self.url.starts_with("https://");
        let roots = if is_tls { roots(env) } else { RootCerts::WebPki };
        let tls = TlsConfig::builder().root_certs(roots).build();
        let agent = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .timeout_connect(Some(CONNECT))
            .http_status_as_error(false)
            // The operator names the new address of a receiver that has moved.
            .max_redirects(0)
            .user_agent(concat!("watchbill/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls)
            .build()
            .new_agent();
        let mut request = agent.post(&self.url).content_type("application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        match request.send(self.body.as_bytes()).map(|answer| answer.status().as_u16()) {
            Ok(200..=299) => Outcome::Accepted,
            // What stands between may have handed it on, and so may a receiver that failed behind it.
            Ok(code @ (500 | 502 | 504)) => Outcome::Lost(format!("{host} answers {code}")),
            Ok(code) => Outcome::Refused(format!("{host} answers {code}")),
            Err(e) => failed(host, &e),
        }
    }
}

/// An error of the client: nothing of the URL but its host is said.
fn failed(host: &str, e: &Error) -> Outcome {
    match e {
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            Outcome::Refused(format!("{host} cannot be reached in {} s", CONNECT.as_secs()))
        }
        Error::Timeout(_) => Outcome::Lost(format!("{host} does not answer in {} s", PATIENCE.as_secs())),
        Error::HostNotFound => Outcome::Refused(format!("{host} is not known")),
        Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => {
            Outcome::Refused(format!("{host} takes no connection"))
        }
        Error::ConnectionFailed => Outcome::Refused(format!("{host} cannot be reached")),
        // Before a certificate is accepted nothing of the message is sent.
        Error::Tls(what) => Outcome::Refused(format!("{host}: {what}")),
        Error::Rustls(what) => Outcome::Refused(format!("{host}: {what}")),
        Error::BadUri(_) | Error::Http(_) => Outcome::Refused("its URL or token cannot be used".into()),
        Error::Io(io) if is_tls(io) => Outcome::Refused(format!("{host}: {io}")),
        Error::Io(io) => Outcome::Lost(format!("{host}: {io}")),
        other => Outcome::Lost(format!("{host}: {}", quote::line(&other.to_string(), MAX_SHOWN))),
    }
}

/// Whether a fault of the connection is one of TLS.
fn is_tls(e: &std::io::Error) -> bool {
    e.kind() == ErrorKind::InvalidData
}

/// The first line of a file, or the value of a variable.
fn secret(
    what: &str,
    file: Option<&Path>,
    variable: Option<&str>,
    env: Env<'_>,
) -> Result<Option<String>, Reason> {
    if let Some(file) = file {
        let it = format!("the file of its {what}, {},", file.display());
        let unread = |e: std::io::Error| Reason::of(format_args!("{it} cannot be read"), e);
        // What is judged is what is read, whatever its name leads to a moment later.
        let open = untrusted_file::open(file).map_err(unread)?;
        if let Some(hand) = untrusted_file::others_hand(&open.metadata().map_err(unread)?) {
            return Err(format!("{it} is not used: {hand}").into());
        }
        let mut text = String::new();
        open.take(MAX_SAID).read_to_string(&mut text).map_err(unread)?;
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        return line.map(|line| Some(line.to_owned())).ok_or_else(|| format!("{it} is empty").into());
    }
    let Some(variable) = variable else { return Ok(None) };
    env(variable)
        .map(|v| Some(v.trim().to_owned()))
        .ok_or_else(|| format!("{variable}, which holds its {what}, is not set").into())
}

/// Whom to trust: `SSL_CERT_FILE`, else the bundle of this machine, else Mozilla's list as it was when this was built.
fn roots(env: Env<'_>) -> RootCerts {
    let given = env("SSL_CERT_FILE").into_iter();
    let bundles = given.chain(BUNDLES.map(str::to_owned)).find_map(|path| {
        let text = std::fs::read(path).ok()?;
        let all: Vec<Certificate<'static>> = parse_pem(&text)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect();
        (!all.is_empty()).then_some(all)
    });
    bundles.map_or(RootCerts::WebPki, RootCerts::from)
}
