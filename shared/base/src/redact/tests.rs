//! No real key stands here, and none that looks like one to a scanner: all are put together while the tests run.

mod properties;

use super::*;

/// `n` letters and digits that look random and are always the same.
fn fake(n: usize) -> String {
    const ALL: &[u8] = b"q7Rk2ZxV9bTn4LwJ8mYc3HgP6sDf5XaQ1eKv0UyWjNtB";
    (0..n).map(|i| char::from(ALL[(i * 17 + i / 44 * 5 + 3) % ALL.len()])).collect()
}

fn hex(n: usize) -> String {
    (0..n).map(|i| char::from(b"0f4a9c7e2b8d1536"[(i * 7 + i / 16 + 5) % 16])).collect()
}

/// The text with `¤` for a made-up key's body of 40 characters comes out as `want`.
fn check(cases: &[(&str, &str)]) {
    let body = fake(40);
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, want)| {
            let text = text.replace('¤', &body).replace('§', "");
            let got = redact(&text);
            (got != *want).then(|| format!("{text}\n  got  {got}\n  want {want}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// `§` in a beginning keeps scanners from taking it for a key's; it is left out.

#[test]
fn a_word_is_like_a_key_by_how_it_is_mixed() {
    for (word, keyish) in [
        ("", false),
        ("word", false),
        ("WORD", false),
        ("12", false),
        ("a1", true),
        ("A1", true),
        ("1a", true),
        ("Word", false),
        ("iPhone", false),
        ("JsonMap", true),
        ("aBcDe", true),
        ("AbCd", true),
        ("aBcd", false),
    ] {
        assert_eq!(text::Mix::of(word).is_keyish(), keyish, "{word}");
    }
}

#[test]
fn a_word_is_random_where_nearly_every_second_neighbour_is_of_another_sort() {
    for (word, random) in [
        ("aB3dE5gH7", true),
        // 9 of 20 neighbours, and 9 of 21.
        ("AAAbb11AAbb11AAbb11AA", true),
        ("AAAAbb11AAbb11AAbb11AA", false),
        ("ReadOnlyView2024", false),
        // Too few capitals, small letters, digits.
        ("aB3d5gH7", false),
        ("aB3E5H7", false),
        ("aBdEgHaB3", false),
    ] {
        assert_eq!(text::Mix::of(word).is_random(), random, "{word}");
    }
}

#[test]
fn a_word_begins_where_no_letter_or_digit_goes_before_it() {
    for (before, begins) in [
        ("", true),
        ("word ", true),
        ("word-", true),
        ("word", false),
        ("4", false),
        // As JSON and Python write the end of a line, a tab, a carriage return.
        ("line\\n", true),
        ("line\\t", true),
        ("line\\r", true),
        ("line\\x", false),
        ("a%2F", true),
        ("a%2g", false),
        ("a%g2", false),
        ("a2F", false),
    ] {
        let text = format!("{before}key");
        assert_eq!(text::is_word_start(&text, before.len()), begins, "{text}");
    }
}

#[test]
fn what_is_itself_a_name_is_no_value() {
    for (word, is) in [
        ("password", true),
        ("db.password", true),
        ("word", false),
        ("", false),
        ("pass word", false),
        ("Password!", false),
    ] {
        assert_eq!(named::is_name(word), is, "{word}");
    }
    assert!(named::is_name(&format!("{}_password", "x".repeat(31))));
    assert!(!named::is_name(&format!("{}_password", "x".repeat(32))), "nobody names anything in 41 letters");
}

#[test]
fn only_a_scheme_takes_the_word_after_it_along() {
    check(&[
        ("token: be§arer ¤ next", "token: [redacted: token] next"),
        ("token: bearer", "token: bearer"),
        ("?key=token password: ¤", "?key=token password: [redacted: password]"),
        ("?key=token \"api_key\": \"¤\"", "?key=token \"api_key\": \"[redacted: api key]\""),
        ("key=token password : ¤", "key=token password : [redacted: password]"),
        ("auth=basic token=¤", "auth=[redacted: credential]"),
        ("api_key=<your-own_key>", "api_key=<your-own_key>"),
        (
            "the flag s§k-some-long-plain-words-of-a-name is off",
            "the flag sk-some-long-plain-words-of-a-name is off",
        ),
        ("the forbearer abc12345 said", "the forbearer abc12345 said"),
        ("the bearer abc12345 said", "the bearer [redacted: authorization] said"),
        ("api_key: ¤ next words", "api_key: [redacted: api key] next words"),
        ("api_key=¤ token next", "api_key=[redacted: api key] token next"),
    ]);
}

#[test]
fn keys_of_the_usual_providers() {
    check(&[
        ("use s§k-¤ now", "use [redacted: openai key] now"),
        ("s§k-proj-¤", "[redacted: openai key]"),
        ("s§k-svcacct-¤-x_y", "[redacted: openai key]"),
        ("key s§k-ant-api03-¤-_AA, then", "key [redacted: anthropic key], then"),
        ("s§k-or-v1-¤.", "[redacted: openrouter key]."),
        ("AI§zaSy¤", "[redacted: google key]"),
        ("ya§29.¤", "[redacted: google key]"),
        ("xa§i-¤", "[redacted: xai key]"),
        ("gs§k_¤", "[redacted: groq key]"),
        ("(hf§_¤)", "([redacted: huggingface token])"),
        ("r8§_¤", "[redacted: replicate token]"),
        ("gh§p_¤", "[redacted: github token]"),
        ("gh§o_¤ gh§u_¤", "[redacted: github token] [redacted: github token]"),
        ("gh§s_¤", "[redacted: github token]"),
        ("github§_pat_11ABC_¤", "[redacted: github token]"),
        ("glp§at-¤", "[redacted: gitlab token]"),
        ("xox§b-123456-7890-¤", "[redacted: slack token]"),
        ("xap§p-1-A0-123-¤", "[redacted: slack token]"),
        ("AK§IA234567ABCDEFGHIJ", "[redacted: aws key]"),
        ("AS§IA234567ABCDEFGHIJ", "[redacted: aws key]"),
        ("s§k_live_¤", "[redacted: stripe key]"),
        ("whs§ec_¤", "[redacted: stripe key]"),
        ("np§m_¤", "[redacted: npm token]"),
        ("pypi-AgE§IcHlwaS5vcmcC¤", "[redacted: pypi token]"),
        ("S§G.abcdefghij0123456789.¤", "[redacted: api key]"),
        (
            "https://api.telegram.org/bot123456789:AA§¤/getMe",
            "https://api.telegram.org/bot[redacted: token]/getMe",
        ),
        ("123456789:AA§¤", "[redacted: token]"),
        ("nva§pi-¤ pp§lx-¤", "[redacted: api key] [redacted: api key]"),
        ("https://hooks.slack.com/services/T0/B0/¤", "https://hooks.slack.com/services/[redacted: webhook]"),
        ("https://discord.com/api/webhooks/12/¤", "https://discord.com/api/webhooks/[redacted: webhook]"),
        (
            "DefaultEndpointsProtocol=https;AccountKey=¤==;X=1",
            "DefaultEndpointsProtocol=https;AccountKey=[redacted: azure key]",
        ),
        ("ey§JhbGciOiJIUzI1NiJ9.ey§JzdWIiOiIxIn0.¤", "[redacted: jwt]"),
        ("cut ey§JhbGciOiJIUzI1NiJ9", "cut [redacted: jwt]"),
        ("without a name: ¤", "without a name: [redacted: random text]"),
    ]);
}

#[test]
fn keys_that_were_masked_before() {
    check(&[
        ("s§k-...abcd", "[redacted: openai key]"),
        ("s§k-proj-****abcd", "[redacted: openai key]"),
        ("s§k-ant-api03-…wxyz", "[redacted: anthropic key]"),
        (
            "Incorrect API key provided: s§k-abc.",
            "Incorrect API key provided: s§k-abc.".replace('§', "").as_str(),
        ),
        ("Incorrect API key provided: s§k-abc...", "Incorrect API key provided: [redacted: openai key]"),
        (
            "Incorrect API key provided: s§k-proj-********************abcd. You can find your API key at x.com",
            "Incorrect API key provided: [redacted: openai key]. You can find your API key at x.com",
        ),
        ("Incorrect API key provided: ab12****wxyz.", "Incorrect API key provided: [redacted: api key]."),
        ("Authorization: Bearer s§k-ab***cd", "Authorization: [redacted: authorization]"),
        ("sent bearer abc***xyz to it", "sent bearer [redacted: authorization] to it"),
        ("gsk§_...Wx9z", "[redacted: groq key]"),
    ]);
}

#[test]
fn headers_and_addresses() {
    check(&[
        ("Authorization: Bearer ¤", "Authorization: [redacted: authorization]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: [redacted: authorization]"),
        ("-H 'Authorization: token ¤' -v", "-H 'Authorization: [redacted: authorization]' -v"),
        ("-H \"Authorization: Bearer ¤\" -v", "-H \"Authorization: [redacted: authorization]\" -v"),
        ("{'Authorization': 'Bearer ¤', 'a': 1}", "{'Authorization': '[redacted: authorization]', 'a': 1}"),
        (
            "{\\\"authorization\\\": \\\"Bearer ¤\\\"}",
            "{\\\"authorization\\\": \\\"[redacted: authorization]\\\"}",
        ),
        ("used Bearer ¤ for it", "used Bearer [redacted: authorization] for it"),
        ("Basic dXNlcjpwYXNz", "Basic [redacted: authorization]"),
        ("Basic YTpi", "Basic YTpi"),
        ("x-api-key: ¤", "x-api-key: [redacted: api key]"),
        ("('x-goog-api-key', '¤')", "('x-goog-api-key', '[redacted: api key]')"),
        ("Cookie: sid=abc; theme=dark", "Cookie: [redacted: cookie]"),
        ("Set-Cookie: sid=abc; HttpOnly\nnext", "Set-Cookie: [redacted: cookie]\nnext"),
        ("https://bob:hunter2@host/x", "https://[redacted: url login]@host/x"),
        ("postgres://bob:p@ss@db:5432/x", "postgres://[redacted: url login]@db:5432/x"),
        ("redis://:pa/ss@cache:6379", "redis://[redacted: url login]@cache:6379"),
        ("git clone https://x-token@host/r", "git clone https://[redacted: url login]@host/r"),
        ("https://h/p?key=abcdef12&x=1", "https://h/p?key=[redacted: api key]&x=1"),
        ("https://h/p?a=1&token=abcdef#f", "https://h/p?a=1&token=[redacted: token]#f"),
        ("curl -u bob:[redacted: openai key] -v", "curl -u [redacted: credential] -v"),
        ("curl -u bob:hunter2 https://h", "curl -u [redacted: credential] https://h"),
    ]);
}

#[test]
fn passwords_where_programs_take_them() {
    check(&[
        ("mysql -uroot -phunter2 db", "mysql -uroot -p[redacted: password] db"),
        (
            "sudo /usr/bin/mysqldump -h db -p'a b' x",
            "sudo /usr/bin/mysqldump -h db -p'[redacted: password]' x",
        ),
        ("[\"mysql\", \"-uroot\", \"-phunter2\"]", "[\"mysql\", \"-uroot\", \"-p[redacted: password]\"]"),
        ("sshpass -p hunter2 ssh bob@h", "sshpass -p [redacted: password] ssh bob@h"),
        ("sshpass -phunter2 ssh bob@h", "sshpass -p[redacted: password] ssh bob@h"),
        ("['sshpass', '-p', 'hunter2', 'ssh']", "['sshpass', '-p', '[redacted: password]', 'ssh']"),
        ("mongosh -u bob -p hunter2", "mongosh -u bob -p [redacted: password]"),
        ("redis-cli -a hunter2 ping", "redis-cli -a [redacted: password] ping"),
        ("7z x -phunter2 a.7z", "7z x -p[redacted: password] a.7z"),
        ("requests.get(u, auth=('admin', 'hunter2'))", "requests.get(u, auth=('[redacted: credential]'))"),
        ("auth=(\"admin\",\"hunter2\")", "auth=(\"[redacted: credential]\")"),
        ("HTTPBasicAuth('a', 'b c')", "HTTPBasicAuth('[redacted: credential]')"),
        ("basic_auth: [\"a\", \"b\"]", "basic_auth: [redacted: credential]"),
        ("machine h login bot password x", "machine h login bot password [redacted: password]"),
        (
            "machine h\n  login bot\n  password x\n",
            "machine h\n  login bot\n  password [redacted: password]\n",
        ),
        ("default login bot password x", "default login bot password [redacted: password]"),
        ("login bot password hunter2", "login bot password [redacted: password]"),
    ]);
}

#[test]
fn passwords_of_several_words_or_lines() {
    check(&[
        ("password: |\n  a b\n  c\nnext: 1", "password: |\n  [redacted: password]\nnext: 1"),
        (
            "a:\n  - api_key: >-\n      abc\n    b: 1",
            "a:\n  - api_key: >-\n      [redacted: api key]\n    b: 1",
        ),
        ("  ┊ $ password: |\n  a b\nnext: 1", "  ┊ $ password: |\n  [redacted: password]\nnext: 1"),
        ("    I use password: |\n  a b\nnext: 1", "    I use password: |\n  [redacted: password]\nnext: 1"),
        ("it has password: |\n  a b\n", "it has password: |\n  [redacted: password]\n"),
        ("x:\n  password: |2\n\n    a\n", "x:\n  password: |2\n\n    [redacted: password]\n"),
        ("at x PASSWORD=correct horse battery staple, y", "at x PASSWORD=[redacted: password], y"),
        ("at x PASSWORD=correct is wrong", "at x PASSWORD=[redacted: password] is wrong"),
        ("at x PASSWORD=hunter2 connection refused", "at x PASSWORD=[redacted: password] connection refused"),
        ("it said password: wrong one for bob", "it said password: wrong one for bob"),
        (
            "mnemonic: lantern ocean garden velvet copper winter silver monkey ribbon castle hollow meadow end.",
            "mnemonic: [redacted: secret].",
        ),
    ]);
}

#[test]
fn keys_by_their_length() {
    let key = ["gh", "p_", &fake(36)].concat();
    for (at, gap) in [(10, "\n"), (20, " "), (39, "\n   "), (12, "\\n")] {
        let torn = format!("a {}{gap}{} b", &key[..at], &key[at..]);
        assert_eq!(redact(&torn), "a [redacted: github token] b", "{torn}");
    }
    let (private, short) = (format!("0x{}", hex(64)), hex(32));
    assert_eq!(redact(&format!("key {private} x")), "key [redacted: private key] x");
    assert_eq!(redact(&format!("the access token {short} x")), "the access token [redacted: api key] x");
    for text in [
        format!("tx {private}"),
        format!("block hash: {private}"),
        format!("0x{}", hex(40)),
        format!("etag {short}"),
        format!("cache key {short}, md5 {short}"),
        format!("commit {}", hex(40)),
    ] {
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn private_keys() {
    let line = "MII§E".replace('§', "") + &fake(60);
    let more = fake(64);
    let begin = ["-----BEGIN RSA PRIV", "ATE KEY-----"].concat();
    let end = ["-----END RSA PRIV", "ATE KEY-----"].concat();
    let ssh = ["-----BEGIN OPENSSH PRIV", "ATE KEY-----"].concat();
    for (text, want) in [
        (format!("a\n{begin}\n{line}\n{more}\nabc=\n{end}\nb"), "a\n[redacted: private key]\nb"),
        (format!("a {begin}\\n{line}\\n{more}\\n{end}\\n b"), "a [redacted: private key]\\n b"),
        (format!("{begin}\n{line}\n{more}"), "[redacted: private key]"),
        (
            format!("{begin}\n{line}\n{more}\nthen the test failed"),
            "[redacted: private key]\nthen the test failed",
        ),
        (format!("{ssh}\\n{more}"), "[redacted: private key]"),
        (
            format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n{more}"),
            "[redacted: private key]",
        ),
        (format!("│ {begin} │\n│ {line} │\n│ {more} │\nend"), "│ [redacted: private key] │\nend"),
        (line.clone(), "[redacted: private key]"),
        (more.clone(), "[redacted: random text]"),
        (format!("key: \"{begin}\\n{line}\""), "key: \"[redacted: private key]\""),
        ("-----BEGIN PUBLIC KEY-----".to_owned(), "-----BEGIN PUBLIC KEY-----"),
    ] {
        assert_eq!(redact(&text), want, "{text}");
    }
}

#[test]
fn assignments() {
    check(&[
        ("API_KEY=hunter", "API_KEY=[redacted: api key]"),
        ("export X_TOKEN='a b c' next", "export X_TOKEN='[redacted: token]' next"),
        ("password: hunter2", "password: [redacted: password]"),
        ("password: correct horse battery", "password: [redacted: password]"),
        ("{\"api_key\": \"abc\", \"n\": 1}", "{\"api_key\": \"[redacted: api key]\", \"n\": 1}"),
        (
            "{\\\"apiKey\\\":\\\"abc\\\",\\\"n\\\":1}",
            "{\\\"apiKey\\\":\\\"[redacted: api key]\\\",\\\"n\\\":1}",
        ),
        ("{\"password\": \"a\\\"b c\", \"n\": 1}", "{\"password\": \"[redacted: password]\", \"n\": 1}"),
        ("api_key='abc', model='x'", "api_key='[redacted: api key]', model='x'"),
        ("secret: password : abc123", "secret: password : [redacted: password]"),
        ("secret = \"password\": \"abc123\"", "secret = \"password\": \"[redacted: password]\""),
        ("API_KEY = ('abc')", "API_KEY = ('[redacted: api key]')"),
        ("SecretStr: api_key=SecretStr('abc')", "SecretStr: api_key=SecretStr('[redacted: api key]')"),
        ("AWS_SECRET_ACCESS_KEY=a/b+c9", "AWS_SECRET_ACCESS_KEY=[redacted: api key]"),
        ("MISTRAL_KEY=abc123", "MISTRAL_KEY=[redacted: api key]"),
        ("DB_PASSWORD=\"x y\"", "DB_PASSWORD=\"[redacted: password]\""),
        ("cmd\":\"export API_KEY=abc123\",\"x\":1", "cmd\":\"export API_KEY=[redacted: api key]\",\"x\":1"),
        ("line\\nAPI_KEY=abc123\\nnext", "line\\nAPI_KEY=[redacted: api key]\\nnext"),
        ("run --token abc123x --verbose", "run --token [redacted: token] --verbose"),
        ("run --api-key=abc123 -v", "run --api-key=[redacted: api key] -v"),
        ("<password>abc</password>", "<password>[redacted: password]</password>"),
        ("client_secret => \"abc\"", "client_secret => \"[redacted: secret]\""),
        ("os.environ['OPENAI_API_KEY'] = 'abc'", "os.environ['OPENAI_API_KEY'] = '[redacted: api key]'"),
        ("//registry.example/:_authToken=abc123", "//registry.example/:_authToken=[redacted: token]"),
        ("\"auth\": \"dXNlcjpwYXNz\"", "\"auth\": \"[redacted: credential]\""),
        ("Server=x;Password=abc;Database=y z", "Server=x;Password=[redacted: password] z"),
        ("api_keys: [\"a1\", \"b2\"]", "api_keys: [redacted: api key]"),
        ("password: str = \"abc\"", "password: str = \"[redacted: password]\""),
        ("API_KEY=gs§k_¤", "API_KEY=[redacted: groq key]"),
        ("**Password**: hunter2", "**Password**: [redacted: password]"),
        ("password=[redacted: password]more", "password=[redacted: password]"),
        ("password=[redacted: hunter]", "password=[redacted: password]"),
    ]);
}

#[test]
fn secrets_that_were_split() {
    let key = ["s", "k-ant-api03-", &fake(95)].concat();
    let other = ["s", "k-proj-", &fake(120)].concat();
    let row = |s: &str| format!("│ {s:<76} │");
    for before in ["\u{1b}", "\u{1b} ", "\u{1b}[", "\u{1b}[1", "\u{1b}(", "\u{9b}"] {
        assert_eq!(redact(&format!("{before}{key}")).trim_start(), "[redacted: anthropic key]", "{before:?}");
    }
    for (text, want) in [
        (key.replace("api03", "a\u{1b}[31mpi\u{1b}[0m03"), "[redacted: anthropic key]"),
        (key.replace("api03", "api\u{200b}03"), "[redacted: anthropic key]"),
        (key.replace("api03", "a\u{202e}pi03"), "[redacted: anthropic key]"),
        (format!("{}\n{} end", row(&key[..76]), row("abcdefgh")), "│ [redacted: anthropic key] "),
        (format!("{}\n{} end", row(&key[..76]), row(&key[76..])), "│ [redacted: anthropic key]"),
        (format!("{}\n{}\nend", &other[..80], &other[80..]), "[redacted: openai key]\nend"),
    ] {
        let got = redact(&text);
        assert!(got.starts_with(want), "{text}\n{got}");
        assert!(!got.contains("abcdefgh"), "{got}");
        assert!(
            !got.contains(&key[70..]) && !got.contains(&key[76..]) && !got.contains(&other[80..]),
            "{got}"
        );
    }
    let lonely = "see https://h/p/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?key=abcdef12\nTraceback (most recent";
    assert!(redact(lonely).ends_with("[redacted: api key]\nTraceback (most recent"), "{}", redact(lonely));
}

#[test]
fn ordinary_text_is_left_alone() {
    for text in [
        "commit 354dbfd0a1b2c3d4e5f60718293a4b5c6d7e8f90",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "task t_1a2b3c4d, run 17, session 20261121_031204_ab12cd",
        "123e4567-e89b-12d3-a456-426614174000",
        "/home/bob/Projects/watchbill2/shared/src/redact/named/names.rs:120:33",
        "author: Bob, authored by alice, authority",
        "token_count: 123, tokens: 4800, max_tokens=4096, total_tokens=128000",
        "\"input_tokens\": 12345, \"max_output_tokens\": 8192",
        "the password was wrong; check the password.",
        "Invalid API key: please check your settings",
        "invalid token: expired",
        "Unexpected token: foo",
        "No API key found. Set OPENAI_API_KEY or run the setup.",
        "API_KEY=$OPENAI_API_KEY and ${ANTHROPIC_API_KEY}",
        "api_key = os.environ['OPENAI_API_KEY']",
        "password: null, secret: none, token: \"\"",
        "def login(user: str, password: str) -> bool:",
        "task-manager, risk-averse, disk-usage-2024, ask-me-anything-about-version-2",
        "pip install scikit-learn sk-learn",
        "hf_hub_download, npm_config_registry, gsk_",
        "HTTP 429 Too Many Requests (request_id: req_011CSHoEeqs5C35K2UUqR7Fy)",
        "toolu_01A09q90qw90lq917835lq9 call_abcDEF123ghiJKL456mnoPQ",
        "https://github.com/NousResearch/hermes-agent/issues/48000?q=is%3Aopen",
        "ssh://git@github.com/owner/repo.git and git@github.com:owner/repo",
        "http://127.0.0.1:8080/v1/@scope/pkg",
        "grep -E \"token=('|x)\" src/\nit's there",
        "https://host, or ask bob@host",
        "{\"home\":\"https://host\",\"mail\":\"bob@host\"}",
        "<https://host> <bob@host>",
        "basic understanding, bearer of bad news, Basic authentication",
        "primary_key: id, SORT_KEY=created, cache_key=abc, keyboard: de",
        "key: value, sort key: name",
        "PWD=/home/bob/project OLDPWD=/home/bob",
        "PASS: 12, FAIL: 3, first_pass=ok",
        "password_file=/etc/x, token_type: bearer, api_key_name: main",
        "git push -u origin main:main; sudo -u root; docker run -u 1000:1000 x",
        "resets 9:50pm (Europe/Berlin); 2026-11-21T03:12:04Z; 12:30:59",
        "thisIsAVeryLongCamelCaseNameForATestOfTheHttp2ServerRetry",
        "AKIA is how a key begins, and so are sk- and ghp_",
        "❌ API call failed after 3 retries: HTTP 503 │ ok",
        "[redacted: openai key] [redacted: password]",
        "use the `x` key; press any key: now",
        "mkdir -p /srv/x; docker run -p 8080:80 mysql; ssh -p 2222 h; cp -pr a b; psql -p 5432",
        "mysql -uroot -p; mysql -u root -p$MYSQL_PWD; mysqladmin --port 3306 -P 3306",
        "login page password reset; the login form password field",
        "auth=(user, password) auth=('x') f('a', 'b')",
        "password: |\nnext: 1",
        "ghp_ and then some words of a sentence about keys",
        "mnemonic: a word that helps you to keep things in mind for longer",
        "sshpass -p \"$PASS\" ssh u@h",
        "const NO_KEY: &str = \"provider resolver returned an empty one\";",
        "[\"api\", \"credential\", \"token\", \"credentials\", \"key\"]",
        "{\"type\":\"token_usage_record\",\"payload\":{\"fallback_token_limit_override\":3000}}",
        "Cause::Credential => Some(Blocker::CredentialFailure), (\"HTTP 401: Invalid API key\", Some(1))",
        "",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(t) if t == text), "{text}\n{}", redact(text));
    }
}

#[test]
fn markers_are_known_exactly() {
    for kind in Kind::ALL {
        let marker = kind.as_str();
        assert_eq!(marker_at(marker, 0), Some(marker));
        for text in [marker.to_owned(), format!("API_KEY={marker}"), format!("x {marker}{marker} y")] {
            assert!(matches!(redact(&text), Cow::Borrowed(_)), "{text}");
        }
    }
    assert_eq!(marker_at("[redacted: my password]", 0), None);
}

#[test]
fn escapes_and_controls_go() {
    for (text, want) in [
        ("\u{1b}[1;31mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}a", "a"),
        ("\u{1b}]8;;http://x\u{1b}\\a\u{1b}]8;;\u{1b}\\b", "ab"),
        ("\u{1b}]no end", "no end"),
        ("\u{1b}]no\nend\u{7}", "no\nend"),
        ("\u{9b}31mred", "red"),
        ("\u{1b}[2 qa\u{1b}[K\u{1b}[?25hb\u{1b}[!p", "ab"),
        ("\u{1b} s and \u{1b}[ x", " s and  x"),
        ("\u{1b}(Ba\u{1b}7b\u{1b}", "ab"),
        ("a\r\nb\rc\u{85}d\u{2028}e\u{b}f", "a\nb\nc\nd\ne\nf"),
        ("ab\u{8}c", "ac"),
        ("a\0b\u{7f}c\u{ad}d\u{feff}e\u{e0041}f", "abcdef"),
        ("tab\tstays", "tab\tstays"),
    ] {
        assert_eq!(visible(text), want, "{text:?}");
    }
}

#[test]
fn a_long_text_takes_no_long_time() {
    let began = std::time::Instant::now();
    for part in [
        "a",
        "-----BEGIN RSA PRIVATE KEY-----",
        "://",
        "key=",
        "password: \"",
        "sk-",
        "[redacted: ",
        "eyJ",
        "a b\n",
    ] {
        redact(&part.repeat((64 << 10) / part.len()));
    }
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}
