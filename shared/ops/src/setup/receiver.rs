//! Whom to tell, as a person types it.

use super::Places;
use base::endpoint::host;
use config::edit::Addition;
use config::{NotifyFormat, NotifyKeys};

/// Who is told, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receiver {
    /// A mail address, by this machine's sendmail.
    Mail(String),
    /// A URL that takes messages of this form.
    Url {
        /// The URL.
        url: String,
        /// The form.
        format: NotifyFormat,
    },
    /// A chat of Telegram; its bot's token stands in a file.
    Telegram {
        /// The chat.
        chat: String,
    },
}

/// What may be typed.
const FORMS: &str = "write an address like you@example.org, a URL like https://ntfy.example/topic, or telegram:CHAT; for a URL of \
                     another form write json:, ntfy:, slack: or discord: before it; a command stands in the \
                     configuration, as [notify.NAME] with command = [\"PROGRAM\", \"ARGUMENT\"]";

/// Forms that may be written before a URL.
const PREFIXES: [(&str, NotifyFormat); 4] = [
    ("json:", NotifyFormat::Json),
    ("ntfy:", NotifyFormat::Ntfy),
    ("slack:", NotifyFormat::Slack),
    ("discord:", NotifyFormat::Discord),
];

impl Receiver {
    /// Reads `you@example.org`, `mail:you@example.org`, a URL, `slack:URL` and the like, or `telegram:CHAT`.
    ///
    /// # Errors
    /// It is not one of these; the error says what may be written.
    pub fn parse(text: &str) -> Result<Receiver, String> {
        let text = text.trim();
        if let Some(chat) = text.strip_prefix("telegram:").filter(|chat| !chat.is_empty()) {
            return Ok(Receiver::Telegram { chat: chat.to_owned() });
        }
        let address = text.strip_prefix("mail:").unwrap_or(text);
        if is_address(address) {
            return Ok(Receiver::Mail(address.to_owned()));
        }
        let given =
            PREFIXES.iter().find_map(|(word, format)| Some((text.strip_prefix(word)?, Some(*format))));
        let (url, format) = given.unwrap_or((text, None));
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        let host = host(url).filter(|_| is_web && !url.contains(char::is_whitespace)).ok_or(FORMS)?;
        let name = host.split(':').next().unwrap_or_default();
        if name == "api.telegram.org" {
            return Err("write telegram:CHAT; the token of the bot is a secret and stands in a file".into());
        }
        Ok(Receiver::Url { url: url.to_owned(), format: format.unwrap_or_else(|| format_of(name)) })
    }

    /// What its table is called: `[notify.NAME]`.
    pub fn name(&self) -> &'static str {
        match self {
            Receiver::Mail(_) => "mail",
            Receiver::Telegram { .. } => "telegram",
            Receiver::Url { format, .. } => match format {
                NotifyFormat::Ntfy => "ntfy",
                NotifyFormat::Slack => "slack",
                NotifyFormat::Discord => "discord",
                NotifyFormat::Json | NotifyFormat::Telegram => "webhook",
            },
        }
    }

    /// What a table of the configuration says in the place of this one, as `KEY = VALUE`; `None` where it says the same. A secret that
    /// stands in a file is not compared.
    pub fn differs_from(&self, table: &NotifyKeys) -> Option<String> {
        let another = |key: &str, old: &Option<String>, own: &String| {
            old.as_ref().filter(|old| *old != own).map(|old| format!("{key} = {old:?}"))
        };
        match self {
            Receiver::Mail(address) => (!table.command.is_empty()
                && !table.command.iter().any(|word| word.contains(address)))
            .then(|| format!("command = {:?}", table.command)),
            Receiver::Telegram { chat } => another("chat", &table.chat, chat),
            Receiver::Url { url, .. } => another("url", &table.url, url),
        }
    }

    /// Whether the URL lets everybody write there who knows it: that of an incoming webhook.
    pub fn is_secret(&self) -> bool {
        matches!(self, Receiver::Url { format: NotifyFormat::Slack | NotifyFormat::Discord, .. })
    }

    /// Its keys.
    pub(super) fn additions(&self, places: Places<'_>) -> Vec<Addition> {
        let name = self.name();
        let key = |key, value: &str| Addition::new(&["notify", name], key, value);
        let secret = places.secret.display().to_string();
        match self {
            Receiver::Mail(address) => {
                let words = vec![places.mailer.display().to_string(), address.clone()];
                vec![Addition::new(&["notify", name], "command", words)]
            }
            Receiver::Telegram { chat } => {
                vec![key("format", "telegram"), key("chat", chat), key("token_file", &secret)]
            }
            Receiver::Url { url, format } => {
                let at = if self.is_secret() { key("url_file", &secret) } else { key("url", url) };
                let form = (*format != NotifyFormat::Json).then(|| key("format", name));
                form.into_iter().chain([at]).collect()
            }
        }
    }
}

/// Whether mail can go there; nothing that a program would take for an option.
fn is_address(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && !"<>()[],;:\\\"".contains(c);
    let whole = text.split_once('@').is_some_and(|(user, at)| !user.is_empty() && at.len() > 1);
    whole && text.matches('@').count() == 1 && text.chars().all(plain) && !text.starts_with('-')
}

/// The form that a receiver of this name takes.
fn format_of(host: &str) -> NotifyFormat {
    match host {
        "hooks.slack.com" => NotifyFormat::Slack,
        "discord.com" | "discordapp.com" => NotifyFormat::Discord,
        _ if host.starts_with("ntfy.") => NotifyFormat::Ntfy,
        _ => NotifyFormat::Json,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_people_type_is_read() {
        for (text, name, lines) in [
            ("you@example.org", "mail", "command = [\"/m\", \"you@example.org\"]\n"),
            ("mail:you@example.org", "mail", "command = [\"/m\", \"you@example.org\"]\n"),
            (" https://ntfy.sh/topic ", "ntfy", "format = \"ntfy\"\nurl = \"https://ntfy.sh/topic\"\n"),
            ("ntfy:http://push/t", "ntfy", "format = \"ntfy\"\nurl = \"http://push/t\"\n"),
            ("https://hooks.slack.com/services/T/B/x", "slack", "format = \"slack\"\nurl_file = \"/s\"\n"),
            ("slack:https://chat.example/hooks/x", "slack", "format = \"slack\"\nurl_file = \"/s\"\n"),
            ("https://discord.com/api/webhooks/1/x", "discord", "format = \"discord\"\nurl_file = \"/s\"\n"),
            ("https://example.org/hook", "webhook", "url = \"https://example.org/hook\"\n"),
            (
                "telegram:-100123",
                "telegram",
                "format = \"telegram\"\nchat = \"-100123\"\ntoken_file = \"/s\"\n",
            ),
        ] {
            let receiver = Receiver::parse(text).unwrap();
            let places = Places { mailer: Path::new("/m"), secret: Path::new("/s") };
            let said = config::edit::lines(&receiver.additions(places));
            assert_eq!(said, format!("[notify.{name}]\n{lines}"), "{text}");
            let whole = config::edit::add(Path::new("/c"), "", &receiver.additions(places));
            assert_eq!(whole, Ok(said), "{text}");
        }
    }

    #[test]
    fn what_is_nobody_is_refused() {
        for text in [
            "",
            "you",
            "-f@example.org",
            "a b@example.org",
            "you@",
            "ftp://example.org/x",
            "https://",
            "slack:x",
            "telegram:",
            "https://ntfy.sh/a b",
            "/usr/local/bin/page-me",
        ] {
            let why = Receiver::parse(text).unwrap_err();
            assert!(why.starts_with("write an address"), "{text}: {why}");
            assert!(why.ends_with("as [notify.NAME] with command = [\"PROGRAM\", \"ARGUMENT\"]"), "{why}");
        }
        let why = Receiver::parse("https://api.telegram.org/bot1:x/sendMessage").unwrap_err();
        assert!(why.starts_with("write telegram:CHAT"), "{why}");
    }
}
