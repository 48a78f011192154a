//! The examples of `contrib/notify` with the programs that they call: apprise, and both versions of Hermes.

use super::*;
use crate::hermes::home::Home;
use crate::installed::Package;

const APPRISE: Package<'_> =
    Package { folder: "apprise-2.2.0", variable: "WATCHBILL_APPRISE", needs: "python3 with venv" };

/// A board of which one task needs a person, and a target that is told by an example.
fn told_by(name: &str, argument: &str) -> TestBoard {
    let b = board("");
    stop(&b, "t_00000001");
    configure(&b, &format!("[notify.chat]\ncommand = ['{}', '{argument}']\n", example(name).display()));
    b
}

/// A pass that finds the programs of this environment.
fn with(python: &Path, b: &TestBoard, args: &[&str]) -> Ran {
    let path = format!("{}:{}/tools:/usr/bin:/bin", python.join("bin").display(), b.path().display());
    ran(command(b, args).env("PATH", path))
}

#[test]
fn the_apprise_example_brings_it_to_a_service() {
    let Some(apprise) = APPRISE.python(&["apprise==2.2.0"]) else { return };
    let receiver = Receiver::new();
    let b = told_by("apprise", &format!("json://{}/hook", receiver.at));
    let sent = with(&apprise, &b, &[]).ok();
    assert!(sent.starts_with("chat: sent: ") && sent.ends_with(": 1 thing needs you\n"), "{sent}");
    let [told] = &receiver.bodies()[..] else { panic!("{:?}", receiver.got()) };
    assert!(told["title"].as_str().unwrap().ends_with(": 1 thing needs you"), "{told}");
    assert!(told["message"].as_str().unwrap().starts_with("! t_00000001 "), "{told}");

    receiver.answers(Answer::Status(503));
    let why = with(&apprise, &b, &["--test"]).fails(1);
    assert!(why.starts_with("watchbill notify: chat: apprise ended with 1"), "{why}");
}

#[test]
fn the_hermes_example_brings_it_to_a_platform_of_hermes() {
    for home in [Home::bare(), Home::bare_newer()].into_iter().flatten() {
        let hermes = home.real_worker().parent().unwrap().parent().unwrap().to_owned();
        let receiver = Receiver::new();
        let b = told_by("hermes", "ntfy");
        let why = with(&hermes, &b, &["--test"]).fails(1);
        let says =
            "watchbill notify: chat: hermes ended with 1: hermes send: Platform 'ntfy' is not configured. ";
        assert!(why.starts_with(says), "{why}");

        let configured = format!("NTFY_SERVER_URL=http://{}\nNTFY_TOPIC=night\n", receiver.at);
        fs::write(b.path().join(".env"), configured).unwrap();
        let sent = with(&hermes, &b, &[]).ok();
        assert!(sent.starts_with("chat: sent: ") && sent.ends_with(": 1 thing needs you\n"), "{sent}");
        let [(path, _, text)] = &receiver.got()[..] else { panic!("{:?}", receiver.got()) };
        assert_eq!(path, "/night");
        let (title, rest) = text.split_once("\n\n").unwrap();
        assert!(title.ends_with(": 1 thing needs you") && rest.starts_with("! t_00000001 "), "{text}");

        receiver.answers(Answer::Status(403));
        let why = with(&hermes, &b, &["--test"]).fails(1);
        assert!(why.contains("chat: hermes ended with 1: hermes send: ") && why.contains("403"), "{why}");
    }
}
