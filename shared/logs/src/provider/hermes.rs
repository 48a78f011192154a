//! What Hermes' own profile folders say. `.env` and `auth.json` are never read.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode, Yaml};

use super::{PROFILES, Profile, key, known, place};
use base::endpoint::host;
use base::hash::Fnv;
use base::reason::Reason;
use base::time::Time;

/// Where a key stands, or the name of the variable that holds it.
const KEYS: [&str; 4] = ["api_key", "key", "key_env", "api_key_env"];

/// Seconds after a refusal within which Hermes writes down in `auth.json` that a key was refused. It writes the file of the root whenever
/// it renews any login there, so of another profile that one tells nothing.
const BY_ITSELF: i64 = 300;

/// Most providers that are read of one.
const MAX_PROVIDERS: usize = 64;

/// What one `config.yaml` says.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// As far as it can be read.
    pub(super) profile: Profile,
    /// An endpoint is named, but stands in the environment (`${NAME}`) or is not a URL.
    pub(super) is_hidden: bool,
}

/// Reads one profile of a Hermes root; `None` where there is no such folder.
pub(super) fn read(root: &Path, name: &str) -> Option<Said> {
    let home = home(root, name).filter(|home| is_there(home))?;
    let file = home.join("config.yaml");
    let mut said = settings(&file, of_settings).unwrap_or_else(|why| {
        let unreadable = Some(format!("{} cannot be read: {why}", file.display()));
        Said { profile: Profile { unreadable, ..Profile::default() }, ..Said::default() }
    });
    said.profile.name = name.into();
    said.profile.written = Time::written(&file);
    said.profile.keyed = keyed(root, &home);
    Some(said)
}

/// When a file that may hold the key of a profile was last written by a person. Their content is never read.
fn keyed(root: &Path, home: &Path) -> Option<Time> {
    let by_hand = [root, home].map(|folder| Time::written(&folder.join(".env")));
    let own = Time::written(&home.join("auth.json")).map(|at| at.plus(-BY_ITSELF));
    by_hand.into_iter().chain([own]).flatten().max()
}

/// Whether a folder is there. What may not be looked at is.
fn is_there(folder: &Path) -> bool {
    match std::fs::metadata(folder) {
        Ok(meta) => meta.is_dir(),
        Err(e) => !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// The folder of a profile; `None` where the name is not that of a profile: it comes from a row that any program may have
/// written, and must not lead out of the root.
pub fn home(root: &Path, name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
        return None;
    }
    Some(if name == "default" { root.to_owned() } else { root.join(PROFILES).join(name) })
}

/// How many tokens the context of a model holds, as far as the profile with this home folder says: its configuration
/// (`model.context_length`), else what Hermes once learnt of the endpoint and wrote down (`context_length_cache.yaml`).
pub fn context_window(home: &Path, model: &str, endpoint: &str) -> Option<u64> {
    let size = |node: Option<&Yaml<'_>>| u64::try_from(node?.as_integer()?).ok().filter(|size| *size > 0);
    let read = |name: &str, pick: &dyn Fn(&Yaml<'_>) -> Option<u64>| {
        settings(&home.join(name), |top| pick(top?)).ok()?
    };
    let key = format!("{model}@{}", endpoint.trim_end_matches('/'));
    read("config.yaml", &|top| size(value(value(top, "model")?, "context_length"))).or_else(|| {
        read("context_length_cache.yaml", &|top| size(value(top, "context_lengths")?.as_mapping_get(&key)))
    })
}

/// The keys of Hermes 0.19: `model` as a text or as `{provider, default|model, base_url}`,
/// `providers.<name>.{base_url|api|url, default_model}`, and the older list `custom_providers`.
fn of_settings(top: Option<&Yaml<'_>>) -> Said {
    let Some(top) = top else { return Said::default() };
    let model = value(top, "model");
    let provider = word(model, &["provider"]).filter(|p| p != "auto");
    let named = provider.as_deref().and_then(|p| entry(top, p));
    let own = word(model, &["base_url"]);
    let listed = word(named, &["base_url", "api", "url"]);
    // Hermes goes by the entry of a provider of one's own, and by `model.base_url` for those it is built with.
    let is_built_in = provider.as_deref().is_some_and(|p| known::host(p).is_some());
    let url = if is_built_in { own.or(listed) } else { listed.or(own) };
    let shown = url.as_deref().filter(|url| !url.contains("${"));
    let endpoint = shown.and_then(host);
    let model = model
        .and_then(|m| m.as_str())
        .map(str::to_owned)
        .or_else(|| word(model, &["default", "model"]))
        .or_else(|| word(named, &["default_model", "model"]));
    let keys = [value(top, "model"), named].map(|node| KEYS.map(|key| word(node, &[key])));
    let mut says = Fnv::new();
    for part in [&provider, &model, &url].into_iter().chain(keys.iter().flatten()) {
        says.part(part.as_deref().unwrap_or_default().as_bytes());
    }
    Said {
        is_hidden: url.is_some() && endpoint.is_none(),
        profile: Profile {
            model,
            says: Some(says.value()),
            place: shown.and_then(place),
            endpoint,
            listed: listed_providers(top),
            provider,
            ..Profile::default()
        },
    }
}

/// The value of a key, also of one that a mapping takes over from others (`<<: *base`), as PyYAML resolves it for Hermes.
pub fn value<'a, 'b>(node: &'a Yaml<'b>, key: &str) -> Option<&'a Yaml<'b>> {
    node.as_mapping_get(key).or_else(|| {
        let taken_over = node.as_mapping_get("<<")?;
        match taken_over.as_vec() {
            Some(several) => several.iter().find_map(|one| value(one, key)),
            None => value(taken_over, key),
        }
    })
}

/// The first of some keys that holds a text.
fn word(node: Option<&Yaml<'_>>, keys: &[&str]) -> Option<String> {
    let said = keys.iter().find_map(|k| value(node?, k)?.as_str());
    said.map(|s| s.trim().to_owned()).filter(|s| !s.is_empty())
}

/// The entry of a provider by its name, as Hermes looks it up: `custom:` may stand before it, and blanks are hyphens.
fn entry<'a, 'b>(top: &'a Yaml<'b>, provider: &str) -> Option<&'a Yaml<'b>> {
    let plain = |name: &str| name.trim().to_lowercase().replace(' ', "-");
    let wanted = plain(provider);
    let wanted = wanted.strip_prefix("custom:").unwrap_or(&wanted);
    let providers = value(top, "providers").and_then(Yaml::as_mapping);
    let by_key = providers.and_then(|all| {
        all.iter().find(|(key, _)| key.as_str().is_some_and(|k| plain(k) == wanted)).map(|(_, entry)| entry)
    });
    by_key.or_else(|| {
        let list = value(top, "custom_providers")?.as_vec()?;
        list.iter().find(|e| word(Some(e), &["name"]).is_some_and(|name| plain(&name) == wanted))
    })
}

/// Every provider it has an entry for, as names are looked up, with host and port of its endpoint as far as that is shown.
fn listed_providers(top: &Yaml<'_>) -> BTreeMap<String, Option<String>> {
    let by_key = value(top, "providers").and_then(Yaml::as_mapping);
    let by_key =
        by_key.into_iter().flatten().filter_map(|(key, entry)| Some((key.as_str()?.to_owned(), entry)));
    let list = value(top, "custom_providers").and_then(Yaml::as_vec);
    let list = list.into_iter().flatten().filter_map(|e| Some((word(Some(e), &["name"])?, e)));
    let all = by_key.chain(list).take(MAX_PROVIDERS).filter_map(|(name, entry)| {
        let url = word(Some(entry), &["base_url", "api", "url"]).filter(|url| !url.contains("${"));
        Some((key(&name)?, url.as_deref().and_then(host)))
    });
    all.collect()
}

/// What `of` finds in a file with Hermes' settings; it is given `None` where there are none.
///
/// # Errors
/// What is there cannot be read, or is not valid YAML with settings.
pub fn settings<T>(path: &Path, of: impl FnOnce(Option<&Yaml<'_>>) -> T) -> Result<T, Reason> {
    let text = base::untrusted_file::read(path)?.unwrap_or_default();
    // Where a line is wrong is said, and never what stands in it.
    let all =
        Yaml::load_from_str(&text).map_err(|e| format!("line {} is not valid YAML", e.marker().line()))?;
    match all.first() {
        Some(top) if top.as_mapping().is_none() && !top.is_null() => Err("it holds no settings".into()),
        top => Ok(of(top)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_hermes() {
        let some = |s: &str| Some(s.to_owned());
        let cases = [
            (
                "model: {provider: fake, default: m1}\nproviders:\n  fake: {base_url: 'http://Host:1/v1', api_key: k}",
                (some("fake"), some("m1"), some("host:1")),
            ),
            (
                "model: {provider: 'custom:fake', base_url: 'https://u:p@b.example/v1'}\nproviders: {fake: {default_model: m2}}",
                (some("custom:fake"), some("m2"), some("b.example")),
            ),
            // A leftover of another provider does not count for one of one's own.
            (
                "model: {provider: 'custom:fake', base_url: 'http://old:1'}\nproviders: {fake: {url: 'http://new:1'}}",
                (some("custom:fake"), None, some("new:1")),
            ),
            (
                "model: {provider: anthropic, base_url: 'http://own:1'}\nproviders: {anthropic: {api: 'http://other:1'}}",
                (some("anthropic"), None, some("own:1")),
            ),
            (
                "model: {provider: 'custom:my-moon', model: m3}\ncustom_providers: [3, {name: sun}, {name: My Moon, base_url: 'http://moon:1/v1'}]",
                (some("custom:my-moon"), some("m3"), some("moon:1")),
            ),
            ("model: {provider: moon}\ncustom_providers: {name: moon}", (some("moon"), None, None)),
            (
                "base: &b {provider: moon, base_url: 'http://moon:1/v1'}\nmodel: {<<: *b, default: m4}",
                (some("moon"), some("m4"), some("moon:1")),
            ),
            (
                "a: &a {provider: sun}\nb: &b {provider: moon, model: m5}\nmodel: {<<: [*a, *b]}",
                (some("sun"), some("m5"), None),
            ),
            ("model: gpt-5", (None, some("gpt-5"), None)),
            ("model: {provider: auto, model: x}", (None, some("x"), None)),
            ("model: [1, 2]", (None, None, None)),
            (": : :\n\t[", (None, None, None)),
            ("", (None, None, None)),
        ];
        for (text, (provider, model, endpoint)) in cases {
            let said = of_text(text);
            let p = said.profile;
            assert_eq!((p.provider, p.model, p.endpoint), (provider, model, endpoint), "{text}");
            assert!(!said.is_hidden, "{text}");
        }
    }

    fn of_text(text: &str) -> Said {
        of_settings(Yaml::load_from_str(text).unwrap_or_default().first())
    }

    #[test]
    fn an_endpoint_that_is_not_shown_is_hidden() {
        for url in ["${BASE}/v1", "https://${HOST}/v1", "https://a.example/${PATH}", "not a url"] {
            let said = of_text(&format!("model: {{provider: openrouter, base_url: '{url}'}}"));
            assert_eq!((said.profile.endpoint, said.profile.place), (None, None), "{url}");
            assert!(said.is_hidden, "{url}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_empty() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("profiles/luna");
        let file = home.join("config.yaml");
        std::fs::create_dir_all(&home).unwrap();
        let said = || read(dir.path(), "luna").unwrap().profile;
        for (text, why) in [
            (Some("model: {provider: moon}"), None),
            (Some(""), None),
            (Some("# nothing yet\n"), None),
            (None, None),
            (Some("model: {provider: moon\nkey: [sk-secret\n"), Some("is not valid YAML")),
            (Some("sk-secret"), Some("it holds no settings")),
        ] {
            let _ = std::fs::remove_file(&file);
            if let Some(text) = text {
                std::fs::write(&file, text).unwrap();
            }
            let told = said().unreadable;
            assert_eq!(told.is_some(), why.is_some(), "{text:?} {told:?}");
            let told = told.unwrap_or_default();
            assert!(told.contains(why.unwrap_or_default()) && !told.contains("secret"), "{text:?} {told}");
        }
        assert_eq!(said().says, None, "nothing is known to have changed");
        let _ = std::fs::remove_file(&file);
        std::fs::create_dir(&file).unwrap();
        let why = format!("{} cannot be read: not a regular file", file.display());
        assert_eq!(said().unreadable, Some(why));
    }

    #[test]
    fn a_file_that_may_hold_a_key_tells_when_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let now = std::time::SystemTime::now();
        let write = |name: &str, after: u64| {
            std::fs::create_dir_all(file(name).parent().unwrap()).unwrap();
            std::fs::write(file(name), "sk-secret").unwrap();
            let at = now + std::time::Duration::from_secs(after);
            std::fs::File::options().append(true).open(file(name)).unwrap().set_modified(at).unwrap();
        };
        write("profiles/luna/config.yaml", 0);
        let start = Time::written(&file("profiles/luna/config.yaml")).unwrap();
        let keyed = |name| read(dir.path(), name).unwrap().profile.keyed.map(|at| at.since(start));
        assert_eq!(keyed("luna"), None);
        for (name, after, luna, root) in [
            ("auth.json", 1_000, None, Some(700)),
            ("profiles/luna/auth.json", 1_100, Some(800), Some(700)),
            ("profiles/luna/.env", 1_200, Some(1_200), Some(700)),
            (".env", 1_300, Some(1_300), Some(1_300)),
        ] {
            write(name, after);
            assert_eq!((keyed("luna"), keyed("default")), (luna, root), "{name}");
        }
    }

    #[test]
    fn a_name_never_leads_out_of_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.yaml"), "model: {provider: root, default: m}").unwrap();
        std::fs::create_dir_all(dir.path().join("profiles/luna")).unwrap();
        std::fs::create_dir_all(dir.path().join("profiles/bare")).unwrap();
        std::fs::write(dir.path().join("profiles/luna/config.yaml"), "model: {provider: moon}").unwrap();
        let said = |name| read(dir.path(), name).map(|s| (s.profile.provider, s.profile.written.is_some()));
        assert_eq!(said("luna"), Some((Some("moon".into()), true)));
        assert_eq!(said("default"), Some((Some("root".into()), true)));
        assert_eq!(said("bare"), Some((None, false)));
        for name in ["..", "../..", "a/../..", "", "nobody"] {
            assert_eq!(said(name), None, "{name}");
        }
    }
}
