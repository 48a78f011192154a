//! Which names are names of secrets.

/// What a name promises its value to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Password,
    Key,
    Azure,
    Secret,
    Token,
    Credential,
    /// `Authorization` and its like: the value is the rest of the line.
    Header,
    Cookie,
    /// A word that names a secret only as a parameter of an address.
    Query,
    /// In capitals and ending in `_KEY`: a variable of the environment, or some constant of a program.
    Variable,
    /// Words of a sentence ("API key provided: ..."): only what looks like a key is taken for one.
    Spoken,
}

/// A name that ends so tells about a secret, and holds none; or it is the place of a source file (`token.rs:120`).
const ABOUT: &str = "\
    count counts limit limits type types name names id ids file files path url uri env var vars length \
    len size usage used budget max min total expiry expires expired ttl at in policy field prompt \
    rotation status error errors hint helper manager store provider source ref index version rate \
    enabled present missing required configured format prefix header scheme endpoint exists valid mode \
    cost price per window dir label service algorithm fingerprint is set str rs py ts tsx js jsx go java \
    kt rb c h cpp cs php swift md txt toml yaml yml json sh log sql html css lock vue ex";

/// Tokens that are pieces of text, and keys that are names of rows.
const PIECES: &str = "\
    eos bos pad unk special stop max min input output completion total cached prompt per unexpected next \
    page last first end start begin reasoning usage";
const ROWS: &str = "\
    primary foreign sort cache partition public group dedup map hash row object idempotency hot index \
    unique sync config registry dict json duplicate";

const BEFORE_KEY: &str = "\
    api access secret private signing encryption master account shared auth service license deploy ssh \
    storage session subscription admin webhook app client host function server management project jwt \
    aes rsa hmac gpg pgp tls ssl";

/// What makes `pass` the short word for a password, and not for a round.
const LOGINS: &str = "\
    db user smtp mail email pg postgres mysql redis ftp root admin sudo http proxy login account \
    database mongo rabbitmq imap sql my ssh key";

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|w| w == word)
}

/// The parts of a name in lower case: `X-Api_key`, `apiKey` and `api.key` have the same.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut last = ' ';
    for c in name.chars() {
        if matches!(c, '_' | '-' | '.') {
            last = ' ';
            continue;
        }
        let fresh = last == ' ' || c.is_ascii_uppercase() && last.is_ascii_lowercase();
        match parts.last_mut() {
            Some(part) if !fresh => part.push(c.to_ascii_lowercase()),
            _ => parts.push(c.to_ascii_lowercase().to_string()),
        }
        last = c;
    }
    parts
}

/// What a name is the name of; `None` where it does not name a secret. `earlier` are the words before it on its line.
pub(super) fn classify(name: &str, earlier: &[String], query: bool) -> Option<Name> {
    let parts = parts(name);
    let all: Vec<&str> = parts.iter().map(String::as_str).collect();
    let last = *all.last()?;
    if all.len() > 1 && is_in(ABOUT, last) {
        return None;
    }
    if has_stem(&all.concat())
        && let Some(name) = by_parts(name, &all)
    {
        return Some(name);
    }
    if query
        && matches!(
            last,
            "key" | "sig" | "signature" | "auth" | "code" | "credential" | "state" | "sid" | "session"
        )
    {
        return Some(Name::Query);
    }
    spoken(earlier, &all).then_some(Name::Spoken)
}

/// Whether any name of a secret may be made of these parts, run together. Nearly no word in front of a colon is one, and what
/// [`by_parts`] looks for takes long to look for.
fn has_stem(joined: &str) -> bool {
    let of_three = |w: &[u8]| {
        matches!(
            w,
            b"aut" | b"bea" | b"coo" | b"cre" | b"jwt" | b"key" | b"pas" | b"pat" | b"sec" | b"sig" | b"tok"
        )
    };
    let bytes = joined.as_bytes();
    bytes.windows(3).any(of_three) || bytes.windows(2).any(|w| w == b"pw")
}

fn by_parts(name: &str, all: &[&str]) -> Option<Name> {
    let has = |words: &[&str]| all.iter().any(|p| words.contains(p));
    let any = |list: &str| all.iter().any(|p| is_in(list, p));
    let last = *all.last()?;
    let joined = all.concat();
    let ends = |words: &[&str]| words.iter().any(|w| joined.ends_with(w));
    let holds = |words: &[&str]| words.iter().any(|w| joined.contains(w));
    if ends(&["authorization"]) {
        return Some(Name::Header);
    }
    if matches!(last, "cookie" | "cookies") {
        return Some(Name::Cookie);
    }
    if holds(&["password", "passwd", "passphrase", "passcode"])
        || has(&["pwd", "pw"])
        || all.len() > 1 && last == "pass" && any(LOGINS)
        || ends(&["dbpass", "pgpass"])
    {
        return Some(Name::Password);
    }
    if ends(&["accountkey", "sharedaccesskey", "sharedaccesssignature"]) {
        return Some(Name::Azure);
    }
    let pair = all.windows(2).any(|w| matches!(w[1], "key" | "keys") && is_in(BEFORE_KEY, w[0]));
    let one =
        holds(&["apikey", "secretkey", "privatekey", "accesskey", "authkey", "signingkey", "encryptionkey"]);
    // `MISTRAL_KEY=` in capitals is a variable of the environment.
    let variable =
        all.len() > 1 && last == "key" && name.bytes().all(|b| !b.is_ascii_lowercase()) && !any(ROWS);
    if pair || one || has(&["key"]) && all.len() > 1 && has(&["openai", "anthropic", "openrouter"]) {
        return Some(Name::Key);
    }
    if variable {
        return Some(Name::Variable);
    }
    if has(&["secret", "secrets"]) && last != "secrets" || holds(&["clientsecret", "appsecret"]) {
        return Some(Name::Secret);
    }
    let token = has(&["token", "jwt", "bearer", "pat"]) && !(all.len() == 1 && last == "pat");
    if token && !any(PIECES)
        || holds(&["authtoken", "accesstoken", "refreshtoken", "sessiontoken", "idtoken"])
    {
        return Some(Name::Token);
    }
    let credential = has(&["credential", "credentials", "creds", "auth"]) && !all.is_empty();
    (credential && matches!(last, "credential" | "credentials" | "creds" | "auth"))
        .then_some(Name::Credential)
}

/// "Incorrect API key provided", "invalid access token".
pub(super) fn spoken(earlier: &[String], own: &[&str]) -> bool {
    let words: Vec<&str> = earlier.iter().map(String::as_str).chain(own.iter().copied()).collect();
    let words = match words.split_last() {
        Some((last, rest)) if matches!(*last, "provided" | "given" | "value" | "is" | "was" | "supplied") => {
            rest
        }
        _ => &words[..],
    };
    match words {
        [.., a, "key" | "keys"] => is_in(BEFORE_KEY, a),
        [.., "password" | "passphrase" | "token" | "secret" | "credential" | "credentials"] => true,
        [.., "apikey"] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{by_parts, has_stem, spoken};

    /// Of all words that this file knows.
    #[test]
    fn every_name_of_a_secret_has_a_stem() {
        let words = include_str!("names.rs").split('"').flat_map(|text| text.split_ascii_whitespace());
        let is_word = |w: &&str| w.len() < 32 && w.bytes().all(|b| b.is_ascii_lowercase());
        let words: std::collections::BTreeSet<&str> = words.filter(is_word).collect();
        assert!(words.contains("sharedaccesssignature") && words.contains("pgpass"));
        let mut names = 0;
        for first in &words {
            for last in [None].into_iter().chain(words.iter().map(Some)) {
                let all: Vec<&str> = std::iter::once(first).chain(last).copied().collect();
                let joined = all.concat();
                let is_name = by_parts(&joined.to_uppercase(), &all).is_some();
                assert!(!is_name || has_stem(&joined), "{all:?}");
                names += usize::from(is_name);
            }
        }
        assert!(names > 1_000, "{names}");
    }

    #[test]
    fn what_is_said_before_a_secret() {
        let is = |words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            let earlier: Vec<String> = words[..words.len() - 1].iter().map(|w| (*w).to_owned()).collect();
            spoken(&earlier, &words[words.len() - 1..])
        };
        for words in
            ["api key", "api keys provided", "apikey", "invalid apikey was", "access token", "password is"]
        {
            assert!(is(words), "{words}");
        }
        for words in ["key", "primary key", "provided", "apikey of", "token count", "monkey"] {
            assert!(!is(words), "{words}");
        }
    }
}
