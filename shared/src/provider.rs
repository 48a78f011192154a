//! Which provider a profile works with: read from Hermes' own profile folders, only the keys that say so, never a
//! credential.

mod id;

use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode, Yaml};
use serde::{Deserialize, Serialize};

use crate::endpoint::host;

pub use self::id::Id;

/// What a profile's configuration says about where its requests go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The provider's name; `None` where the runtime chooses by itself.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Host and port of the endpoint. Two providers with one endpoint are one.
    pub endpoint: Option<String>,
    /// The endpoint with its path: what is equal here is surely one and the same service.
    #[serde(default)]
    pub place: Option<String>,
}

/// Reads one profile of a Hermes root (`default` is the root itself).
pub fn of_profile(root: &Path, name: &str) -> Profile {
    let known = home(root, name).map(|home| read(&yaml_text(&home.join("config.yaml"))));
    Profile { name: name.into(), ..known.unwrap_or_default() }
}

/// The folder of a profile; `None` where the name is none: it comes from a row that anybody may have written, and must not
/// lead out of the root.
pub(crate) fn home(root: &Path, name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
        return None;
    }
    Some(if name == "default" { root.to_owned() } else { root.join("profiles").join(name) })
}

/// Whether a name is one for a profile: `^[a-z0-9][a-z0-9_-]{0,63}$`, as Hermes 0.19 has it (`_PROFILE_ID_RE`); a board
/// without profile folders uses the same.
pub(crate) fn is_profile(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let rest = |b: u8| plain(b) || b == b'_' || b == b'-';
    name.len() <= 64 && name.bytes().next().is_some_and(plain) && name.bytes().all(rest)
}

/// The keys of Hermes 0.19: `model` as a text or as `{provider, default|model, base_url}`, and
/// `providers.<name>.{base_url|api|url, default_model}`.
fn read(text: &str) -> Profile {
    let documents = Yaml::load_from_str(text).unwrap_or_default();
    let Some(top) = documents.first() else { return Profile::default() };
    let word = |node: Option<&Yaml<'_>>, keys: &[&str]| -> Option<String> {
        let said = keys.iter().find_map(|k| node?.as_mapping_get(k)?.as_str());
        said.map(|s| s.trim().to_owned()).filter(|s| !s.is_empty())
    };
    let model = top.as_mapping_get("model");
    let provider = word(model, &["provider"]).filter(|p| p != "auto");
    let bare = provider.as_deref().map(|p| p.strip_prefix("custom:").unwrap_or(p));
    let named = bare.and_then(|p| top.as_mapping_get("providers")?.as_mapping_get(p));
    let url = word(model, &["base_url"]).or_else(|| word(named, &["base_url", "api", "url"]));
    Profile {
        name: String::new(),
        model: model
            .and_then(|m| m.as_str())
            .map(str::to_owned)
            .or_else(|| word(model, &["default", "model"]))
            .or_else(|| word(named, &["default_model"])),
        endpoint: url.as_deref().and_then(host),
        place: url.as_deref().and_then(place),
        provider,
    }
}

/// The text of a configuration file of Hermes; empty where there is none, or none of a sane size.
pub(crate) fn yaml_text(path: &Path) -> String {
    let small = std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() < 1 << 20);
    if small { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

/// Host and path of a URL, without what may hold a secret.
fn place(url: &str) -> Option<String> {
    let path = url
        .trim()
        .split_once("://")?
        .1
        .split(['?', '#'])
        .next()?
        .split_once('/')
        .map_or("", |(_, path)| path);
    Some(format!("{}/{}", host(url)?, path.trim_end_matches('/')))
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
            ("model: gpt-5", (None, some("gpt-5"), None)),
            ("model: {provider: auto, model: x}", (None, some("x"), None)),
            ("model: {provider: p}\nproviders: {p: {api: 'not a url'}}", (some("p"), None, None)),
            ("model: [1, 2]", (None, None, None)),
            (": : :\n\t[", (None, None, None)),
            ("", (None, None, None)),
        ];
        for (text, (provider, model, endpoint)) in cases {
            let p = read(text);
            assert_eq!((p.provider, p.model, p.endpoint), (provider, model, endpoint), "{text}");
        }
    }

    #[test]
    fn a_name_never_leads_out_of_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.yaml"), "model: {provider: root, default: m}").unwrap();
        std::fs::create_dir_all(dir.path().join("profiles/luna")).unwrap();
        std::fs::write(dir.path().join("profiles/luna/config.yaml"), "model: {provider: moon}").unwrap();
        let provider = |name| of_profile(dir.path(), name).provider;
        assert_eq!(provider("luna").as_deref(), Some("moon"));
        assert_eq!(provider("default").as_deref(), Some("root"));
        for name in ["..", "../..", "a/../..", "", "nobody"] {
            assert_eq!(provider(name), None, "{name}");
        }
    }
}
