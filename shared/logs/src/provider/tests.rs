use std::fs::{create_dir_all, write};

use super::*;
use config::ProviderKeys;

/// A configuration with what it says of luna, and an endpoint for the provider moon.
fn ours(luna: Option<(&str, &str)>) -> Config {
    let set = |s: &str| Some(s.to_owned()).filter(|s| !s.is_empty());
    let luna = luna.map(|(provider, endpoint)| ProfileKeys {
        provider: set(provider),
        endpoint: set(endpoint),
        model: None,
        fallbacks: vec!["nova".into()],
    });
    Config {
        profiles: luna.map(|luna| ("luna".to_owned(), luna)).into_iter().collect(),
        providers: [("moon".into(), ProviderKeys { endpoint: Some("https://moon.example/v1".into()) })]
            .into(),
        ..Config::default()
    }
}

#[test]
fn our_word_goes_before_hermes_own() {
    let clash = |what, a, b| format!("profiles.luna says {what} {a}, its config.yaml says {b}");
    let cases = [
        // Only one of both says anything.
        (None, "model: {provider: anthropic}", ("anthropic", "api.anthropic.com", String::new())),
        (None, "model: {provider: 'custom:Moon'}", ("custom:Moon", "moon.example", String::new())),
        (None, "model: {provider: moon, base_url: 'http://own:1'}", ("moon", "own:1", String::new())),
        (Some(("openrouter", "")), "", ("openrouter", "openrouter.ai", String::new())),
        (Some(("custom:openrouter", "")), "", ("custom:openrouter", "", String::new())),
        (Some(("", "http://h:1/v1")), "", ("", "h:1", String::new())),
        (Some(("", "")), "model: m", ("", "", String::new())),
        // Named, and hidden from us: not the usual place.
        (None, "model: {provider: openrouter, base_url: '${URL}'}", ("openrouter", "", String::new())),
        (None, "model: {provider: moon, base_url: '${URL}'}", ("moon", "moon.example", String::new())),
        // Both say the same, or one fills in what the other leaves open.
        (Some(("moon", "")), "model: {provider: 'custom:moon'}", ("moon", "moon.example", String::new())),
        (Some(("moon", "")), "model: {base_url: 'http://h:1'}", ("moon", "h:1", String::new())),
        (Some(("", "http://h:1")), "model: {provider: anthropic}", ("anthropic", "h:1", String::new())),
        (
            Some(("anthropic", "")),
            "model: {provider: claude}",
            ("anthropic", "api.anthropic.com", String::new()),
        ),
        (
            Some(("openrouter", "")),
            "model: {provider: custom, base_url: 'https://openrouter.ai/api/v1'}",
            ("openrouter", "openrouter.ai", String::new()),
        ),
        (
            Some(("anthropic", "")),
            "model: {provider: anthropic, base_url: 'http://proxy:1'}",
            ("anthropic", "proxy:1", String::new()),
        ),
        // They contradict each other.
        (
            Some(("anthropic", "")),
            "model: {provider: openai, base_url: 'http://h:1', default: gpt}",
            ("anthropic", "api.anthropic.com", clash("provider", "anthropic", "openai")),
        ),
        (
            Some(("anthropic", "http://a:1")),
            "model: {provider: anthropic, base_url: 'http://b:1'}",
            ("anthropic", "a:1", clash("endpoint", "a:1", "b:1")),
        ),
    ];
    for (luna, yaml, (provider, endpoint, conflict)) in cases {
        let dir = tempfile::tempdir().unwrap();
        create_dir_all(dir.path().join("profiles/luna")).unwrap();
        write(dir.path().join("profiles/luna/config.yaml"), yaml).unwrap();
        let p = of(Some(dir.path()), "luna", &ours(luna)).unwrap();
        let said = (p.provider.unwrap_or_default(), p.endpoint.unwrap_or_default());
        assert_eq!((said.0.as_str(), said.1.as_str()), (provider, endpoint), "{luna:?} {yaml}");
        assert_eq!(p.conflict.unwrap_or_default(), conflict, "{luna:?} {yaml}");
        assert_eq!(p.fallbacks.len(), usize::from(luna.is_some()));
        assert!(p.written.is_some() && p.changed.is_none());
        if conflict.contains("provider") {
            assert_eq!(p.model, None, "what belongs to another provider is not mixed in");
        }
    }
}

#[test]
fn a_profile_nobody_knows_is_none() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(of(Some(dir.path()), "luna", &ours(None)), None);
    assert_eq!(of(None, "luna", &ours(None)), None);
    let p = of(None, "luna", &ours(Some(("moon", "")))).unwrap();
    assert_eq!((p.name.as_str(), p.changed, p.place.as_deref()), ("luna", None, Some("moon.example/v1")));
    assert!(of(Some(dir.path()), "luna", &ours(Some(("moon", "")))).is_some());
}

#[test]
fn a_name_and_an_url_of_one_service_are_one_provider() {
    let dir = tempfile::tempdir().unwrap();
    let config =
        "model: {provider: 'custom:mine'}\nproviders: {mine: {base_url: 'https://openrouter.ai/api/v1'}}";
    for (name, yaml) in [("luna", "model: {provider: openrouter}"), ("nova", config)] {
        create_dir_all(dir.path().join("profiles").join(name)).unwrap();
        write(dir.path().join("profiles").join(name).join("config.yaml"), yaml).unwrap();
    }
    let id = |name| of(Some(dir.path()), name, &Config::default()).unwrap().id();
    assert!(id("luna").is_same(&id("nova")), "{} {}", id("luna"), id("nova"));
}

#[test]
fn a_pin_goes_before_the_provider_of_the_profile() {
    let dir = tempfile::tempdir().unwrap();
    create_dir_all(dir.path().join("profiles/luna")).unwrap();
    let text = "model: {provider: sun, default: m1}\nproviders:\n  sun: {base_url: 'http://sun:1/v1'}\n  Star: {api: 'http://star:1'}\n\
                custom_providers: [{name: My Own, base_url: 'http://own:1'}, {name: hidden, base_url: '${URL}'}]\n";
    write(dir.path().join("profiles/luna/config.yaml"), text).unwrap();
    let luna = of(Some(dir.path()), "luna", &ours(None)).unwrap();
    let some = |s: &str| Some(s.to_owned()).filter(|s| !s.is_empty());
    for ((model, provider), (id, asked)) in [
        (("", ""), ("sun (sun:1)", "m1")),
        // The dispatcher passes no provider on without a model.
        (("", "star"), ("sun (sun:1)", "m1")),
        (("m2", ""), ("sun (sun:1)", "m2")),
        (("m2", "Sun"), ("sun (sun:1)", "m2")),
        (("m2", "star"), ("star (star:1)", "m2")),
        (("m2", "custom:Star"), ("star (star:1)", "m2")),
        // Named in our configuration, known to Hermes, hidden, and nobody's.
        (("m2", "moon"), ("moon (moon.example)", "m2")),
        (("m2", "openrouter"), ("openrouter (openrouter.ai)", "m2")),
        (("m2", "custom:my-own"), ("my-own (own:1)", "m2")),
        (("m2", "hidden"), ("hidden", "m2")),
        (("m2", "pluto"), ("pluto", "m2")),
        // A model that names its provider.
        (("star/m2", ""), ("star (star:1)", "star/m2")),
        (("custom:star:m2", ""), ("star (star:1)", "custom:star:m2")),
        (("llama3:8b", ""), ("sun (sun:1)", "llama3:8b")),
        (("meta/m2", ""), ("sun (sun:1)", "meta/m2")),
    ] {
        let worker = luna.pinned(&Pin { model: some(model), provider: some(provider) });
        let told = (worker.id().to_string(), worker.model.unwrap_or_default());
        assert_eq!(told, (id.to_owned(), asked.to_owned()), "{model} {provider}");
    }
}
