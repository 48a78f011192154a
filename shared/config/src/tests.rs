use std::fs::{Permissions, create_dir_all, set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::checks::{Action, Check};
use super::*;
use base::cause::Cause;
use base::location::Location;
use base::money::Money;
use host::PidNamespace;

/// A home folder, a system file beside it, and an environment.
struct Desk {
    dir: tempfile::TempDir,
    env: Env,
}

impl Desk {
    fn new() -> Desk {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from([("HOME".into(), dir.path().join("home").into())]);
        Desk { dir, env }
    }

    fn file(self, name: &str, text: &str) -> Desk {
        let path = self.path(name);
        create_dir_all(path.parent().unwrap()).unwrap();
        write(path, text).unwrap();
        self
    }

    fn var(mut self, name: &str, value: impl Into<OsString>) -> Desk {
        self.env.insert(name.into(), value.into());
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn load(&self, given: Option<&str>) -> Result<Loaded> {
        load_over(&self.path("etc.toml"), given.map(|n| self.path(n)).as_deref(), &self.env)
    }

    /// The error as one line, the folder's name taken out.
    #[track_caller]
    fn told(&self, given: Option<&str>) -> String {
        let e = self.load(given).unwrap_err();
        assert_eq!((e.kind, e.kind.code()), (Kind::Config, 78));
        let told = e.to_string();
        assert!(!told.contains('\n'), "{told}");
        told.replace(&format!("{}/", self.dir.path().display()), "")
    }
}

fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

const USER: &str = "home/.config/watchbill/config.toml";

#[track_caller]
fn told_of(text: &str) -> String {
    Desk::new().file("c.toml", text).told(Some("c.toml"))
}

#[test]
fn nothing_set_is_the_defaults() {
    let loaded = Desk::new().load(None).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.origin.len(), keys().len());
    assert!(loaded.origin.values().all(|o| o == "default"));
}

#[test]
fn layers_merge_key_by_key() {
    let desk = Desk::new()
        .file("etc.toml", "[heal]\ngrace = '4m'\ndecay = '5h'\nmax_resets = 1\n[host]\naliases = ['old']")
        .file(USER, "[heal]\ngrace = '5m'\nmax_resets = 2")
        .file("given.toml", "heal.grace = '7m'")
        .var("WATCHBILL_HEAL_MAX_RESETS", "4")
        .var("WATCHBILL_HOST_ALIASES", "a, b,,");
    let both = desk.load(None).unwrap();
    let heal = &both.config.heal;
    assert_eq!((heal.grace, heal.decay, heal.max_resets), (minutes(5), minutes(300), 4));
    assert_eq!(both.config.host.aliases, ["a", "b"]);
    for (key, origin) in [
        ("heal.grace", desk.path(USER).display().to_string()),
        ("heal.decay", desk.path("etc.toml").display().to_string()),
        ("heal.max_resets", "WATCHBILL_HEAL_MAX_RESETS".into()),
        ("host.aliases", "WATCHBILL_HOST_ALIASES".into()),
        ("heal.hold", "default".into()),
    ] {
        assert_eq!(both.origin[key], origin, "{key}");
    }

    let given = desk.load(Some("given.toml")).unwrap().config;
    assert_eq!(
        (given.heal.grace, given.heal.decay),
        (minutes(7), minutes(360)),
        "a given file replaces both"
    );
}

#[test]
fn the_files_are_where_they_should_be() {
    let file = |n: u32| format!("heal.max_resets = {n}");
    let desk = || {
        Desk::new()
            .file(USER, &file(1))
            .file("xdg/watchbill/config.toml", &file(2))
            .file("a.toml", &file(3))
            .file("b.toml", &file(4))
    };
    let resets = |desk: &Desk, given| desk.load(given).unwrap().config.heal.max_resets;
    let xdg = |d: Desk| {
        let path = d.path("xdg");
        d.var("XDG_CONFIG_HOME", path)
    };
    let named = |d: Desk| {
        let path = d.path("a.toml");
        d.var("WATCHBILL_CONFIG", path)
    };
    assert_eq!(resets(&desk(), None), 1);
    assert_eq!(resets(&xdg(desk()), None), 2);
    assert_eq!(resets(&desk().var("XDG_CONFIG_HOME", ""), None), 1);
    assert_eq!(resets(&desk().var("XDG_CONFIG_HOME", "xdg"), None), 1);
    assert_eq!(resets(&named(xdg(desk())), None), 3);
    assert_eq!(resets(&named(desk()), Some("b.toml")), 4);
    assert_eq!(resets(&desk().var("WATCHBILL_CONFIG", ""), None), 1);
    assert_eq!(resets(&desk().var("HOME", ""), None), 3, "no home, no file, the default");
}

#[test]
fn the_targets_alone_are_read_where_the_rest_is_refused() {
    let (phone, mail) =
        ("[notify.phone]\nurl = 'https://ntfy.example/t'\n", "[notify.mail]\ncommand = ['mail']\n");
    let wrong = "[heal]\ngrase = '5m'\n";
    for (system, user, told) in [
        (mail, format!("{wrong}{phone}"), vec!["mail", "phone"]),
        (mail, "[heal\n".to_owned(), vec!["mail"]),
        ("", format!("{wrong}[notify.phone]\nurl = 7\n"), vec![]),
        (mail, format!("{wrong}[notify.phone]\nquiet = '07:00-08:00'\n"), vec![]),
        ("", wrong.to_owned(), vec![]),
    ] {
        let desk = Desk::new().file("etc.toml", system).file(USER, &user);
        assert!(desk.load(None).is_err(), "{user}");
        let targets = targets_over(&desk.path("etc.toml"), None, &desk.env).unwrap_or_default();
        assert_eq!(targets.keys().collect::<Vec<_>>(), told, "{user}");
    }
    // A file that was named is the only one, and one that others can write has none.
    let desk = Desk::new().file("etc.toml", mail).file("c.toml", &format!("{wrong}{phone}"));
    let named = desk.path("c.toml");
    let targets = || targets_over(&desk.path("etc.toml"), Some(&named), &desk.env).unwrap();
    assert_eq!(targets().keys().collect::<Vec<_>>(), ["phone"]);
    set_permissions(&named, Permissions::from_mode(0o646)).unwrap();
    assert_eq!(targets().len(), 0);
}

#[test]
fn a_named_file_must_be_there() {
    let hint = "give --config or WATCHBILL_CONFIG a file that exists";
    assert_eq!(Desk::new().told(Some("no.toml")), format!("no.toml: no such configuration file; {hint}"));
    let told = Desk::new().var("WATCHBILL_CONFIG", "/no/such.toml").told(None);
    assert_eq!(told, format!("/no/such.toml: no such configuration file; {hint}"));
}

/// What is said of a table that was written below another one.
fn belongs(table: &str, header: &str) -> String {
    format!(
        "all that stands below [{table}] belongs to it; put this line above the first [table] of the file, or its keys below a line {header}"
    )
}

#[test]
fn refusals_name_place_value_and_range() {
    let span = "allowed is a length of time from 1m to 6h";
    let count = "allowed is a whole number from 0 to 20";
    for (text, want) in [
        (
            "[heal]\nmax_resetz = 1",
            "2:1: unknown key `heal.max_resetz`; did you mean `max_resets`?".to_owned(),
        ),
        ("[heal]\nmax-resets = 1", "2:1: unknown key `heal.max-resets`; did you mean `max_resets`?".into()),
        ("[board]\n grace = '5m'", "2:2: unknown key `board.grace`; did you mean `grace` of [heal]?".into()),
        (
            "[host]\nzzz = 1",
            "2:1: unknown key `host.zzz`; known keys of [host]: aliases, pid_namespace, name, gone, gone_after".into(),
        ),
        ("[heal]\nboard.db = '/b'", format!("2:1: unknown key `heal.board`; {}", belongs("heal", "[board]"))),
        ("[heel]\ngrace = '5m'", "1:2: unknown section or key `heel`; did you mean `heal`?".into()),
        ("grace = '5m'", "1:1: unknown section or key `grace`; did you mean `heal.grace`?".into()),
        ("[xyz]", "1:2: unknown section or key `xyz`; known sections: board, host, heal, distress, orchestrator, people, routing, budget, detect, profiles, providers, prices, notify, match".into()),
        (
            "\"a\\nb\" = 1",
            "1:1: unknown section or key `a\u{fffd}b`; known sections: board, host, heal, distress, orchestrator, people, routing, budget, detect, profiles, providers, prices, notify, match".into(),
        ),
        ("heal = 3", "1:8: heal is a number, must be a table; write [heal] on its own line".into()),
        ("[[heal]]", "1:1: heal is a list, must be a table; write [heal] on its own line".into()),
        (
            "[heal]\ngrace = '15M'",
            format!("2:9: heal.grace = \"15M\" counts months or years, and minutes are a small `m`; {span}"),
        ),
        (
            "[heal]\ngrace = '90'",
            format!("2:9: heal.grace = \"90\" has no unit: write 90s, 90m or 90h; {span}"),
        ),
        ("[heal]\ngrace = 90", format!("2:9: heal.grace is a number; {span}")),
        (
            "heal.grace = '-5m'",
            format!("1:14: heal.grace = \"-5m\" is not a length of time like 90s, 15m, 2h or 3d; {span}"),
        ),
        ("heal.grace = '59s'", format!("1:14: heal.grace = \"59s\" is out of range; {span}")),
        ("heal.grace = '361m'", format!("1:14: heal.grace = \"361m\" is out of range; {span}")),
        ("heal.max_resets = 21", format!("1:19: heal.max_resets = 21 is out of range; {count}")),
        ("heal.max_resets = -1", format!("1:19: heal.max_resets = -1 is out of range; {count}")),
        ("heal.max_resets = 3.0", format!("1:19: heal.max_resets is a fraction; {count}")),
        ("heal.max_resets = '3'", format!("1:19: heal.max_resets is a text; {count}")),
        (
            "heal.max_resets = 99999999999999999999",
            format!("1:19: heal.max_resets = \"99999999999999999999\" is not a whole number; {count}"),
        ),
        ("host.aliases = 'a'", "1:16: host.aliases is a text; allowed is a list of host names".into()),
        (
            "host.aliases = [1]",
            "1:16: host.aliases holds more than words; allowed is a list of host names".into(),
        ),
        (
            "host.aliases = ['a:1']",
            "1:16: host.aliases holds \"a:1\", not a host name; allowed is a list of host names".into(),
        ),
        (
            "host.aliases = [\"a\\u0007\"]",
            "1:16: host.aliases holds \"a\u{fffd}\", not a host name; allowed is a list of host names".into(),
        ),
        (
            "host.pid_namespace = 'Same'",
            "1:22: host.pid_namespace = \"Same\" is unknown; allowed is \"auto\" or \"same\"".into(),
        ),
        (
            "host.gone = 'stop'",
            "1:13: host.gone = \"stop\" is unknown; allowed is \"requeue\" or \"report\"".into(),
        ),
        (
            "host.gone_after = '119s'",
            "1:19: host.gone_after = \"119s\" is out of range; allowed is a length of time from 2m to 7d".into(),
        ),
        (
            "board.db = 'k.db'",
            "1:12: board.db = \"k.db\" is not absolute; allowed is an absolute path or postgres://HOST/DATABASE".into(),
        ),
        ("board.db = ''", "1:12: board.db = \"\" is not absolute; allowed is an absolute path or postgres://HOST/DATABASE".into()),
        ("[heal]\nhold = ", "2:8: string values must be quoted, expected literal string".into()),
        ("heal.hold = '1h'\nheal.hold = '2h'", "2:6: duplicate key hold: it is set further up already".into()),
        (
            "[profiles.luna]\n[profiles.luna]",
            "2:11: duplicate key luna: it is set further up already".into(),
        ),
    ] {
        assert_eq!(told_of(text), format!("c.toml:{want}"), "{text:?}");
    }
}

#[test]
fn both_ends_of_a_range_are_in_it() {
    for text in ["heal.grace = '1m'", "heal.grace = '6h'", "heal.max_resets = 0", "heal.max_resets = 20"] {
        assert!(Desk::new().file("c.toml", text).load(Some("c.toml")).is_ok(), "{text}");
    }
}

#[test]
fn routing_is_read_and_bounded() {
    let at = |text: &str| format!("c.toml:{text}");
    for (text, want) in [
        (
            "routing.rate_limit_route = 'me'",
            "1:28: routing.rate_limit_route = \"me\" is unknown; allowed is \"mechanical\" or \"orchestrator\"",
        ),
        (
            "routing.quiet_hours = '22-7'",
            "1:23: routing.quiet_hours = \"22-7\" is not two different local times; allowed is two different local times like 22:00-07:00",
        ),
        ("routing.auto = 1", "1:16: routing.auto is a number; allowed is \"on\" or \"off\""),
        (
            "routing.max_asks = 0",
            "1:20: routing.max_asks = 0 is out of range; allowed is a whole number from 1 to 10",
        ),
    ] {
        assert_eq!(told_of(text), at(want), "{text}");
    }
    let text = "[routing]\nmax_moves = 0\npace = '1s'\nquiet_hours = '22:00-07:00'";
    let desk = Desk::new().file("c.toml", text).var("WATCHBILL_ROUTING_QUIET_HOURS", "23:00-06:00");
    let routing = desk.load(Some("c.toml")).unwrap().config.routing;
    assert_eq!((routing.max_moves, routing.pace.as_secs()), (0, 1));
    assert_eq!(routing.quiet_hours, QuietHours::parse("23:00-06:00"));
}

#[test]
fn tables_by_name_merge_key_by_key() {
    let desk = Desk::new()
        .file("etc.toml", "[profiles.luna]\nprovider = 'moon'\nmodel = 'm1'\nfallbacks = ['nova', 'sol']")
        .file(
            USER,
            "profiles.luna = { model = 'm2', fallbacks = ['nova'] }\nprofiles.sol = {}\n\
             [providers.'custom:moon']\nendpoint = 'http://a:1/v1'",
        );
    let loaded = desk.load(None).unwrap();
    let luna = &loaded.config.profiles["luna"];
    assert_eq!((luna.provider.as_deref(), luna.model.as_deref()), (Some("moon"), Some("m2")));
    assert_eq!(luna.fallbacks, ["nova"]);
    assert_eq!(loaded.config.profiles["sol"], ProfileKeys::default());
    assert_eq!(loaded.config.providers["custom:moon"].endpoint.as_deref(), Some("http://a:1/v1"));
    assert!(loaded.origin["profiles.luna.provider"].ends_with("etc.toml"));
    assert!(loaded.origin["profiles.luna.model"].ends_with(USER));
}

#[test]
fn tables_by_name_are_held_to_the_same() {
    let profile = "a profile's name is small letters, digits, _ and -, at most 64";
    let provider = "a provider's name is letters, digits, _ . : and -, at most 64";
    let list = "allowed is a list of profile names";
    let url = "allowed is a URL like https://api.example/v1";
    let web = "allowed is a URL like https://ntfy.example/topic";
    let price = "allowed is a number of dollars per million tokens from 0 to 1000000";
    let model = "a model's name is printable text, at most 200 bytes";
    for (text, want) in [
        (
            "[profiles.luna]\n fallback = []",
            "2:2: unknown key `profiles.luna.fallback`; did you mean `fallbacks`?".to_owned(),
        ),
        (
            "[profiles.luna]\nboard.db = '/b'",
            format!("2:1: unknown key `profiles.luna.board`; {}", belongs("profiles.luna", "[board]")),
        ),
        (
            "[notify.a]\nprofiles = {}",
            format!("2:1: unknown key `notify.a.profiles`; {}", belongs("notify.a", "[profiles.NAME]")),
        ),
        (
            "[providers.p]\nhermes_root = '/h'",
            "2:1: unknown key `providers.p.hermes_root`; known keys: endpoint; there is `hermes_root` of [board]".into(),
        ),
        ("providers.p.zzz = 1", "1:13: unknown key `providers.p.zzz`; known keys: endpoint".into()),
        (
            "[profile.luna]",
            "1:2: unknown section or key `profile`; did you mean `profiles`?".into(),
        ),
        ("profiles.Luna = {}", format!("1:10: profiles holds a table \"Luna\"; {profile}")),
        ("providers.'a b' = {}", format!("1:11: providers holds a table \"a b\"; {provider}")),
        ("providers.'' = {}", format!("1:11: providers holds a table \"\"; {provider}")),
        (
            "profiles = 3",
            "1:12: profiles is a number, must be a table; write [profiles.NAME] on its own line".into(),
        ),
        (
            "[profiles]\nprovider = 'x'",
            "2:12: profiles.provider is a text, must be a table; write [profiles.NAME] on its own line".into(),
        ),
        (
            "profiles.a.provider = 'a b'",
            "1:23: profiles.a.provider = \"a b\" is not the name of a provider; allowed is a name of letters, digits, \
             _ . : and -, at most 64"
                .into(),
        ),
        ("profiles.a.endpoint = 'a:1'", format!("1:23: profiles.a.endpoint = \"a:1\" names no host; {url}")),
        ("providers.a.endpoint = 1", format!("1:24: providers.a.endpoint is a number; {url}")),
        (
            "profiles.a.model = ' '",
            "1:20: profiles.a.model = \" \" is not the name of a model; allowed is the name of a model".into(),
        ),
        ("profiles.a.fallbacks = 'b'", format!("1:24: profiles.a.fallbacks is a text; {list}")),
        ("profiles.a.fallbacks = [1]", format!("1:24: profiles.a.fallbacks holds more than words; {list}")),
        (
            "profiles.a.fallbacks = ['B']",
            format!("1:24: profiles.a.fallbacks holds \"B\", not a profile name; {list}"),
        ),
        (
            "profiles.a.fallbacks = ['b', 'a']",
            "1:24: profiles.a.fallbacks holds \"a\", the profile itself; name another one".into(),
        ),
        ("[prices.m]\ninputs = 1", "2:1: unknown key `prices.m.inputs`; did you mean `input`?".into()),
        ("prices.m.input = 'x'", format!("1:18: prices.m.input is a text; {price}")),
        ("prices.m.input = -0.5", format!("1:18: prices.m.input is out of range; {price}")),
        ("prices.m.output = nan", format!("1:19: prices.m.output is out of range; {price}")),
        ("prices.m.output = inf", format!("1:19: prices.m.output is out of range; {price}")),
        ("prices.m.output = 1_000_001", format!("1:19: prices.m.output is out of range; {price}")),
        ("prices.' ' = {}", format!("1:8: prices holds a table \" \"; {model}")),
        ("prices = 3", "1:10: prices is a number, must be a table; write [prices.NAME] on its own line".into()),
        (
            "[prices.'m.1']\ninput = 1",
            " prices.m.1 has no output; name output beside input, in dollars per million tokens".into(),
        ),
        (
            "[prices.m]\ncache_read = 1",
            " prices.m has no input; name input beside output, in dollars per million tokens".into(),
        ),
        (
            "notify.a.url = 'ftp://a/b'",
            format!("1:16: notify.a.url = \"ftp://a/b\" is not a URL that begins with http:// or https://; {web}"),
        ),
        (
            "notify.a.url = 'https://me:pw@a/b'",
            format!("1:16: notify.a.url = \"https://me:pw@a/b\" is not a URL that begins with http:// or https://; {web}"),
        ),
        ("notify.a.command = 'mail'", "1:20: notify.a.command is a text; allowed is a list of words".into()),
        ("notify.a.command = ['']", "1:20: notify.a.command holds \"\", not a word; allowed is a list of words".into()),
        (
            "notify.a.format = 'irc'",
            "1:19: notify.a.format = \"irc\" is unknown; allowed is \"json\" or \"ntfy\" or \"slack\" or \"discord\" or \"telegram\"".into(),
        ),
        ("notify.a.max_per_hour = 0", "1:25: notify.a.max_per_hour = 0 is out of range; allowed is a whole number from 1 to 60".into()),
        ("notify.a.tokenfile = '/x'", "1:10: unknown key `notify.a.tokenfile`; did you mean `token_file`?".into()),
        ("notify.a.chat = ''", "1:17: notify.a.chat = \"\" is not a chat; allowed is the id of a chat like -1001234567890, or @channel".into()),
        ("notify.a.token_env = 'A B'", "1:22: notify.a.token_env = \"A B\" is not the name of a variable; allowed is the name of a variable".into()),
        ("notify.a.max_per_hour = 3", " notify.a has neither a command nor a URL; name command, url, url_file or url_env".into()),
        (
            "[notify.a]\nurl = 'https://a/b'\nurl_env = 'X'",
            " notify.a has several URLs; keep one of url, url_file and url_env".into(),
        ),
        (
            "[notify.a]\nurl = 'https://a/b'\ntoken_file = '/t'\ntoken_env = 'X'",
            " notify.a has two tokens; keep one of token_file and token_env".into(),
        ),
        (
            "[notify.a]\nurl = 'https://a/b'\ncommand = ['x']",
            " notify.a has a command and something for a URL; write two targets, or keep one of them".into(),
        ),
        (
            "[notify.a]\ncommand = ['x']\nchat = '1'",
            " notify.a has a command and a chat, which is for Telegram alone; take chat out".into(),
        ),
        (
            "[notify.a]\nformat = 'telegram'\nchat = '1'",
            " notify.a lacks what a bot of Telegram needs; name chat, and token_file or token_env".into(),
        ),
        (
            "[notify.a]\nurl = 'https://a/b'\nchat = '1'",
            " notify.a names a chat and is not for Telegram; take chat out, or set format = \"telegram\"".into(),
        ),
    ] {
        assert_eq!(told_of(text), format!("c.toml:{want}"), "{text:?}");
    }
    let whole = "[notify.a]\nurl = 'https://a/b'\nformat = 'slack'\nquiet = '22:00-07:00'\n[notify.b]\ncommand = ['x', '-y']\n\
                 [notify.c]\nformat = 'telegram'\nchat = '-100'\ntoken_env = 'T'";
    let loaded = Desk::new().file("c.toml", whole).load(Some("c.toml")).unwrap();
    assert_eq!(loaded.config.notify.len(), 3);
    let said = serde_json::to_string(&loaded.config).unwrap();
    assert!(!said.contains("https://a"), "a target may hold a secret: {said}");
}

#[test]
fn prices_merge_key_by_key() {
    let desk = Desk::new()
        .file("etc.toml", "[prices.m1]\ninput = 2\noutput = 8.5")
        .file(USER, "[prices.m1]\ninput = 1_0.25\n[prices.'org/m 2']\ninput = 0\noutput = 0x10");
    let loaded = desk.load(None).unwrap();
    let m1 = &loaded.config.prices["m1"];
    assert_eq!((m1.input, m1.cache_write, m1.cache_read, m1.output), (Some(10.25), None, None, Some(8.5)));
    assert_eq!(loaded.config.prices["org/m 2"].output, Some(16.0));
    assert!(loaded.origin["prices.m1.output"].ends_with("etc.toml"));
    assert!(loaded.origin["prices.org/m 2.input"].ends_with(USER));
}

/// Every key of every section and table, with values of every kind that may be a password in the wrong place.
#[test]
fn what_leaves_the_machine_holds_no_refused_value() {
    let mut places: Vec<String> = keys().iter().map(KeyInfo::name).collect();
    let of_tables = [
        "profiles.luna.{provider,endpoint,model,fallbacks}",
        "providers.moon.endpoint",
        "prices.m.{input,output}",
        "notify.a.{command,url,url_file,url_env,format,token_file,token_env,chat,quiet,max_per_hour}",
        "heal.health_actions.{Stalled}",
        "{heal,heal.health_actions,profiles,profiles.luna,match,notify}",
        "match = [{ regex = 'x', cause = 'quota' }, { KEY = VALUE }]",
    ];
    for table in of_tables {
        match table.split_once('{').filter(|_| !table.contains("VALUE")) {
            Some((front, keys)) => {
                places.extend(keys.trim_end_matches('}').split(',').map(|key| format!("{front}{key}")));
            }
            None => places.push(table.to_owned()),
        }
    }
    let (mut refused, mut told) = (0, String::new());
    for place in &places {
        for value in [
            "'S3cret, \"; allowed is S3cret'",
            "'\\\"S3cret'",
            "['S3cret:']",
            "{ a = 'S3cret' }",
            "[['S3cret']]",
            "777777770",
            "-777777770",
        ] {
            let texts = match place.contains("VALUE") {
                true => ["regex", "cause", "logs", "profiles", "place"]
                    .map(|key| place.replace("KEY", key).replace("VALUE", value))
                    .to_vec(),
                false => vec![format!("{place} = {value}")],
            };
            for text in texts {
                let Err(e) = Desk::new().file("c.toml", &text).load(Some("c.toml")) else { continue };
                told = without_values(&e).to_string();
                assert!(!told.contains("S3cret") && !told.contains("77777777"), "{text}: {told}");
                refused += 1;
            }
        }
    }
    assert!(refused > 4 * places.len(), "{refused} of {}: {told}", places.len());
    for (text, want) in [
        (
            "board.db = 'me:hunter2@db/a'",
            "board.db = \"...\" is not absolute; allowed is an absolute path or postgres://HOST/DATABASE",
        ),
        (
            "heal.max_resets = 21",
            "heal.max_resets = ... is out of range; allowed is a whole number from 0 to 20",
        ),
        ("distress.storm = 'hunter2'", "distress.storm = \"...\" is neither; allowed is \"on\" or \"off\""),
        ("heal.grase = '5m'", "unknown key `heal.grase`; did you mean `grace`?"),
    ] {
        let e = Desk::new().file("c.toml", text).load(Some("c.toml")).unwrap_err();
        assert!(without_values(&e).to_string().ends_with(&format!(": {want}")), "{text}: {e}");
    }
}

#[test]
fn columns_count_characters() {
    assert!(told_of("host = { aliases = ['\u{fc}'], x = 1 }").starts_with("c.toml:1:27: "));
}

#[test]
fn variables_are_held_to_the_same() {
    let told = |name: &str, value: &str| Desk::new().var(name, value).told(None);
    for (name, value, want) in [
        ("WATCHBILL_HEAL_GRCE", "5m", "unknown key; did you mean `WATCHBILL_HEAL_GRACE`?"),
        (
            "WATCHBILL_HEAL_",
            "5m",
            "unknown key; known keys of [heal]: grace, lonely_grace, max_resets, backoff, \
            backoff_max, decay, max_uncounted, storm_tasks, storm_window, storm_probe, storm_probe_max, \
             orphan_wait, hold, \
             hold_max, claim_ceiling, max_resumes, tree_drift, allow_stop",
        ),
        (
            "WATCHBILL_HEAL_GRACE",
            "",
            "heal.grace = \"\" is not a length of time like 90s, 15m, 2h or 3d; allowed is a \
            length of time from 1m to 6h",
        ),
        (
            "WATCHBILL_HEAL_MAX_RESETS",
            "3x",
            "heal.max_resets = \"3x\" is not a whole number; allowed is a whole number \
            from 0 to 20",
        ),
        (
            "WATCHBILL_HEAL_MAX_RESETS",
            "21",
            "heal.max_resets = 21 is out of range; allowed is a whole number from 0 \
            to 20",
        ),
        (
            "WATCHBILL_HOST_ALIASES",
            "a b",
            "host.aliases holds \"a b\", not a host name; allowed is a list of host names",
        ),
        (
            "WATCHBILL_BOARD_DB",
            "k.db",
            "board.db = \"k.db\" is not absolute; allowed is an absolute path or postgres://HOST/DATABASE",
        ),
    ] {
        assert_eq!(told(name, value), format!("{name}: {want}"));
    }
    let odd = std::os::unix::ffi::OsStrExt::from_bytes(b"/\xff");
    let odd: &OsStr = odd;
    let told = Desk::new().var("WATCHBILL_HEAL_GRACE", odd).told(None);
    assert!(told.starts_with("WATCHBILL_HEAL_GRACE: heal.grace is not UTF-8; "), "{told}");
    let path = Desk::new().var("WATCHBILL_BOARD_DB", odd).load(None).unwrap();
    assert_eq!(path.config.board.db, Some(Location::File(odd.into())), "a path need not be text");
}

#[test]
fn other_variables_are_not_ours() {
    let desk = Desk::new()
        .var("WATCHBILL_PASS", "x")
        .var("WATCHBILL_BOARD", "x")
        .var("WATCHBILL_HEALTH_X", "x")
        .var("WATCHBILL_HAEL_GRACE", "x")
        .var("WATCHBILL_NOTIFY_KEY", "x")
        .var("WATCHBILL_PROFILE", "x")
        .var("WATCHBILL_TEST_PROC", "x")
        .var("watchbill_heal_grace", "x")
        .var("HEAL_GRACE", "x");
    assert_eq!(desk.load(None).unwrap().config, Config::default());
    let told = ignored(&desk.env, &Config::default());
    let told: Vec<(&str, Option<&str>)> =
        told.iter().map(|(n, near)| (n.as_str(), near.as_deref())).collect();
    assert_eq!(
        told,
        [
            ("WATCHBILL_BOARD", Some("did you mean WATCHBILL_BOARD_DB? Else unset it")),
            ("WATCHBILL_HAEL_GRACE", Some("did you mean WATCHBILL_HEAL_GRACE? Else unset it")),
            ("WATCHBILL_HEALTH_X", None),
            ("WATCHBILL_NOTIFY_KEY", None),
        ]
    );
}

#[test]
fn a_variable_for_a_table_by_name_is_told_unless_a_target_names_it() {
    let told = |name: &str| ignored(&Desk::new().var(name, "x").env, &Config::default());
    let file = "write the key into the file";
    let named = "write the key into the file, or name this variable there as url_env or token_env";
    for (name, section, todo) in [
        ("WATCHBILL_NOTIFY_PHONE_URL", "notify", named),
        ("WATCHBILL_NOTIFY_MY_PHONE_MAX_PER_HOUR", "notify", named),
        ("WATCHBILL_PROFILES_LUNA_FALLBACKS", "profiles", file),
        ("WATCHBILL_PROVIDERS_MOON_ENDPOINT", "providers", file),
        ("WATCHBILL_PRICES_OPUS_INPUT", "prices", file),
    ] {
        let want = format!("no variable sets a key of [{section}.NAME]: {todo}");
        assert_eq!(told(name), [(name.to_owned(), Some(want))]);
        assert!(Desk::new().var(name, "x").load(None).is_ok(), "it stops no watcher");
    }
    for other in ["WATCHBILL_NOTIFY_URL", "WATCHBILL_NOTIFY_TOKEN", "WATCHBILL_NOTIFY_PHONE_COLOUR"] {
        assert_eq!(told(other), [(other.to_owned(), None)]);
    }
    let desk = Desk::new()
        .file("c.toml", "[notify.phone]\nurl_env = 'WATCHBILL_NOTIFY_PHONE_URL'")
        .var("WATCHBILL_NOTIFY_PHONE_URL", "https://ntfy.example/t");
    let config = desk.load(Some("c.toml")).unwrap().config;
    assert_eq!(ignored(&desk.env, &config), []);
}

#[test]
fn values_that_contradict_each_other_are_refused() {
    let told = told_of("[heal]\nbackoff = '3h'");
    assert_eq!(
        told,
        "c.toml: heal.backoff is 3h, longer than heal.backoff_max, which is 2h; \
         lower heal.backoff (c.toml) or raise heal.backoff_max (default)"
    );
    for text in [
        "heal.backoff_max = '5m'",
        "heal.storm_probe_max = '9m'",
        "heal.hold = '7h'",
        "heal.claim_ceiling = '1h'\nboard.claim_ttl = '2h'",
    ] {
        assert!(told_of(text).starts_with("c.toml: "), "{text}");
    }
    // The sample says so of both.
    let sample = sample();
    for [(low, _), (high, _)] in PAIRS {
        for (name, bound) in
            [(low, format!(", no longer than {high}.")), (high, format!(", no shorter than {low}."))]
        {
            let (section, key) = name.split_once('.').unwrap();
            let section = sample.split_once(&format!("\n[{section}]\n")).unwrap().1;
            let before = section.split_once(&format!("\n#{key} = ")).unwrap().0;
            let allowed = before.lines().last().unwrap();
            assert!(allowed.starts_with("# Allowed: ") && allowed.ends_with(&bound), "{name}: {allowed}");
        }
    }
    // A contradiction is judged after all layers, not within one.
    let desk = Desk::new().file("c.toml", "heal.backoff = '3h'").var("WATCHBILL_HEAL_BACKOFF_MAX", "3h");
    assert_eq!(desk.load(Some("c.toml")).unwrap().config.heal.backoff, minutes(180));
}

#[test]
fn a_value_that_is_overridden_is_still_checked() {
    let desk = Desk::new().file("c.toml", "heal.grace = '1s'").var("WATCHBILL_HEAL_GRACE", "5m");
    assert!(desk.told(Some("c.toml")).starts_with("c.toml:1:14: heal.grace = \"1s\" is out of range"));
}

#[test]
fn a_file_others_can_write_is_refused_wherever_it_is() {
    for name in ["etc.toml", USER, "c.toml"] {
        let desk = Desk::new().file(name, "");
        set_permissions(desk.path(name), Permissions::from_mode(0o666)).unwrap();
        let told = desk.told((name == "c.toml").then_some(name));
        assert!(told.starts_with(&format!("{name}: every user can write it (mode 0666)")), "{told}");
    }
}

#[test]
fn every_field_has_one_key_and_a_default_in_its_range() {
    let shape = serde_json::to_value(Config::default()).unwrap();
    let mut fields = Vec::new();
    for (section, table) in shape.as_object().unwrap() {
        fields.extend(table.as_object().unwrap().keys().map(|k| format!("{section}.{k}")));
    }
    let mut names: Vec<_> = keys().iter().map(KeyInfo::name).collect();
    fields.sort();
    names.sort();
    assert_eq!(names, fields);

    // Each key must lead to its own field: set one key, and exactly that one differs.
    let values = "'/x' ['x'] 'x' 'on' 'off' 'same' 'orchestrator' 'report' 'warn' '$7.00' '22:00-07:00'"
        .replace('\'', "\"");
    for info in keys() {
        let set = |value: &str| {
            let mut loaded = Loaded { config: Config::default(), origin: BTreeMap::new() };
            let text = format!("{} = {value}", info.name());
            merge::toml(&mut loaded, Path::new("c"), &text).map(|()| loaded.config)
        };
        let allowed = info.allowed();
        let largest = allowed.split(" to ").last().unwrap_or_default();
        let mut others =
            values.split(' ').map(str::to_owned).chain([format!("{largest:?}"), largest.to_owned()]);
        let is_other = |value: &String| Some(value) != info.default().as_ref() && set(value).is_ok();
        let other = others.rfind(is_other).unwrap_or_else(|| panic!("{}", info.name()));
        let config = set(&other).unwrap();
        assert_eq!(info.value(&config), Some(other), "{}", info.name());
        for rest in keys().iter().filter(|k| k.name() != info.name()) {
            assert_eq!(rest.value(&config), rest.default(), "{} by {}", rest.name(), info.name());
        }
        let section = |c: &Config| serde_json::to_value(c).unwrap()[info.section][info.key].clone();
        assert_ne!(section(&config), section(&Config::default()), "{}", info.name());

        if let Some(default) = info.default() {
            assert_eq!(set(&default).unwrap(), Config::default());
        }
    }
}

#[test]
fn health_actions_merge_and_what_is_said_twice_is_said_once() {
    let desk = Desk::new()
        .file("etc.toml", "[heal.health_actions]\nStalled = 'ignore'\n'Cost spike' = 'escalate'\n")
        .file(USER, "[heal.health_actions]\nStalled = 'resume'\n'Loop detected' = 'ignore'\n");
    let loaded = desk.load(None).unwrap();
    let heal = &loaded.config.heal;
    assert_eq!(
        heal.health_actions,
        [(Check::LoopDetected, Action::Ignore), (Check::CostSpike, Action::Escalate)].into()
    );
    assert_eq!(
        (heal.action(Check::Stalled), heal.action(Check::Repetition)),
        (Action::Resume, Action::Escalate)
    );
    assert!(loaded.origin["heal.health_actions.Stalled"].ends_with(USER));
    for (text, want) in [
        (
            "heal.health_actions = 3",
            "1:23: heal.health_actions is a number, must be a table; write [heal.health_actions] on its own line",
        ),
        (
            "[heal.health_actions]\nStaled = 'ignore'",
            "2:1: unknown health check \"Staled\"; did you mean \"Stalled\"?",
        ),
        (
            "[heal.health_actions]\nxyz = 'ignore'",
            "2:1: unknown health check \"xyz\"; heal --list-checks shows the names",
        ),
        (
            "[heal.health_actions]\nStalled = 'stop'",
            "2:11: heal.health_actions.\"Stalled\" is \"stop\"; allowed is \"resume\", \"escalate\" or \"ignore\"",
        ),
    ] {
        let told = Desk::new().file("c.toml", text).told(Some("c.toml"));
        assert_eq!(told, format!("c.toml:{want}"), "{text}");
    }
}

#[test]
fn what_is_written_can_be_loaded() {
    let mut config = Config::default();
    config.board.db = Some("/srv/k.db".into());
    config.host = HostKeys {
        aliases: vec!["a".into()],
        pid_namespace: PidNamespace::Same,
        name: Some("h1".into()),
        gone: HostGone::Report,
        gone_after: Duration::from_secs(7_200),
    };
    config.heal.grace = Duration::from_secs(61);
    config.heal.max_resets = 0;
    config.heal.allow_stop = true;
    config.heal.health_actions = [(Check::CostSpike, Action::Escalate)].into();
    config.detect.loop_calls = 5;
    config.distress.orchestrator = Some("monday".into());
    config.distress.storm = false;
    config.orchestrator.fallbacks = vec!["wednesday".into()];
    config.routing.rate_limit_route = RateLimitRoute::Orchestrator;
    config.routing.quiet_hours = QuietHours::parse("22:00-07:00");
    let luna = ProfileKeys { fallbacks: vec!["nova".into()], ..ProfileKeys::default() };
    config.profiles = [("luna".into(), luna), ("nova".into(), ProfileKeys::default())].into();
    config.providers = [("a.b:c".into(), ProviderKeys { endpoint: Some("http://h:1".into()) })].into();
    let price = PriceKeys { input: Some(0.1), output: Some(3.0), ..PriceKeys::default() };
    config.prices = [("gpt-5.1".into(), price)].into();
    let desk = Desk::new().file("c.toml", &toml::to_string(&config).unwrap());
    assert_eq!(desk.load(Some("c.toml")).unwrap().config, config);
}

#[test]
fn the_sample_is_the_table() {
    let sample = sample();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/watchbill.toml");
    if std::env::var_os("WATCHBILL_BLESS").is_some() {
        write(path, &sample).unwrap();
    }
    let shipped = std::fs::read_to_string(path).unwrap();
    assert_eq!(shipped, sample, "write it anew: WATCHBILL_BLESS=1 cargo test -p watchbill-config the_sample");

    let desk = Desk::new().file("as-is.toml", &sample);
    assert_eq!(desk.load(Some("as-is.toml")).unwrap().config, Config::default());

    // With every key switched on it says the same, and leaves no key out.
    let on: String = sample
        .lines()
        .map(|l| if l.starts_with('#') && !l.starts_with("# ") && l != "#" { &l[1..] } else { l })
        .map(|l| format!("{l}\n"))
        .collect();
    let loaded = Desk::new().file("on.toml", &on).load(Some("on.toml")).unwrap();
    assert!(loaded.origin.values().all(|o| o.ends_with("on.toml")), "{:?}", loaded.origin);
    let set = Some(PathBuf::from("/path/to/it"));
    let board = Board { db: set.clone().map(Location::File), hermes_root: set, ..Board::default() };
    let name = Some("name".to_owned());
    let distress = Distress { orchestrator: name.clone(), ..Distress::default() };
    let people = People { assignee: name };
    let routing = Routing { quiet_hours: QuietHours::parse("22:00-07:00"), ..Routing::default() };
    let luna = ProfileKeys {
        provider: Some("anthropic".into()),
        endpoint: Some("https://api.anthropic.com".into()),
        model: Some("opus".into()),
        fallbacks: vec!["nova".into()],
    };
    let moon = ProviderKeys { endpoint: Some("https://api.moon.example/v1".into()) };
    let price =
        PriceKeys { input: Some(1.25), cache_write: Some(1.25), cache_read: Some(0.125), output: Some(10.0) };
    let (profiles, providers) = ([("luna".into(), luna)].into(), [("moon".into(), moon)].into());
    let prices = [("gpt-5.1-codex".into(), price)].into();
    let budget = Budget { cost: Money::parse("$5"), ..Budget::default() };
    let matches = vec![MatchKeys {
        regex: "ACME-GW: capacity limit hit(, back in (?<seconds>[0-9]+) s)?".into(),
        cause: Cause::Overloaded,
        logs: vec!["plain".into()],
        profiles: vec!["luna".into()],
        place: MatchPlace::End,
    }];
    let phone = NotifyKeys {
        url: Some("https://ntfy.example/my-topic".into()),
        format: NotifyFormat::Ntfy,
        quiet: QuietHours::parse("22:00-07:00"),
        ..NotifyKeys::default()
    };
    let command = vec!["/usr/share/watchbill/notify/mail".into(), "you@example.org".into()];
    let mail = NotifyKeys { command, ..NotifyKeys::default() };
    let notify = [("mail".into(), mail), ("phone".into(), phone)].into();
    let tables = Config { profiles, providers, prices, notify, matches, ..Config::default() };
    let host = HostKeys { name: Some("name".into()), ..HostKeys::default() };
    let want = Config { board, host, distress, people, routing, budget, ..tables };
    assert_eq!(loaded.config, want);
    assert!(sample.lines().all(|l| l.chars().count() <= 110));
}

#[test]
fn patterns_are_refused_with_their_place_and_number() {
    let told_of = |text: &str| Desk::new().file("c.toml", text).told(Some("c.toml"));
    let good = "[[match]]\nregex = 'x'\ncause = 'quota'\n";
    for (text, want) in [
        (
            "match = 1",
            "1:9: match is a number, must be a list of tables; write [[match]] on its own line, with regex and cause beneath",
        ),
        (
            "match = ['x']",
            "1:10: match 1 is a text, must be a table; write [[match]] on its own line, with regex and cause beneath",
        ),
        ("[[match]]\ncause = 'quota'", "1:1: match 1 has no regex"),
        ("[[match]]\nregex = 'x'", "1:1: match 1 has no cause"),
        (
            "[[match]]\nregexp = 'x'",
            "2:1: unknown key `regexp` of match 1; known keys: regex, cause, logs, profiles, place",
        ),
        (
            "[[match]]\nheal.grace = '5m'",
            "2:1: unknown key `heal` of match 1; all that stands below [[match]] belongs to it; put this line above the first [table] of the file, or its keys below a line [heal]",
        ),
        (
            "[[match]]\nregex = 'a(b'",
            "2:9: match 1: regex is not a regular expression at its character 2: unclosed group",
        ),
        (
            "[[match]]\nregex = ''",
            "2:9: match 1: regex would match an empty line; it must ask for a character at least",
        ),
        (
            "[[match]]\ncause = 'fate'",
            "2:9: match 1: cause = \"fate\" is unknown; allowed is rate_limit, quota, overloaded, server_error, credential, model_missing, connection_refused, misconfigured",
        ),
        (
            "[[match]]\nlogs = ['tape']",
            "2:8: match 1: logs is not a list of allowed names; allowed is a list of hermes, profile, claude, codex and plain",
        ),
        (
            "[[match]]\nprofiles = 'luna'",
            "2:12: match 1: profiles is not a list of allowed names; allowed is a list of profile names",
        ),
        ("[[match]]\nplace = 'top'", "2:9: match 1: place is neither \"end\" nor \"anywhere\""),
    ] {
        assert_eq!(told_of(text), format!("c.toml:{want}"), "{text:?}");
        let second = told_of(&format!("{good}{text}"));
        assert!(!text.starts_with("[[") || second.contains("match 2"), "{second}");
    }
    assert!(told_of(&good.repeat(65)).contains("more than 64 tables"));
}

#[test]
fn the_patterns_of_a_file_replace_those_of_the_file_before() {
    let tables = |names: &[&str]| {
        names.iter().map(|n| format!("[[match]]\nregex = '{n}'\ncause = 'quota'\n")).collect::<String>()
    };
    let desk = Desk::new().file("etc.toml", &tables(&["a", "b"])).file(USER, &tables(&["c"]));
    let loaded = desk.load(None).unwrap();
    assert_eq!(loaded.config.matches.iter().map(|m| &m.regex).collect::<Vec<_>>(), ["c"]);
    assert_eq!(loaded.origin["match"], desk.path(USER).display().to_string());
    assert_eq!(loaded.config.matches[0].logs, ["plain", "hermes", "profile"]);
    let alone = Desk::new().file("etc.toml", &tables(&["a", "b"])).load(None).unwrap();
    assert_eq!(alone.config.matches.len(), 2);
}

proptest::proptest! {
    #[test]
    fn any_text_is_loaded_or_refused_in_one_line(text in "\\PC{0,80}") {
        let mut loaded = Loaded { config: Config::default(), origin: BTreeMap::new() };
        for text in [text.clone(), format!("[heal]\n{text}"), format!("[heal]\ngrace = {text}"), format!("[profiles.{text}]"), format!("[[match]]\nregex = '{text}'\ncause = 'quota'"), format!("profiles.a.model = {text}")] {
            if let Err(e) = merge::toml(&mut loaded, Path::new("c"), &text) {
                proptest::prop_assert_eq!(e.kind, Kind::Config);
                proptest::prop_assert!(!e.to_string().contains('\n'));
            }
        }
    }
}
