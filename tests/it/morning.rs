//! `watchbill page`: one page over all boards, which says what `status` says, and is never green beside what was not seen.

use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::inotify;
use serde_json::json;

use crate::check::{stop, ticks, watched};
use crate::support::{Ran, TestBoard};
use crate::tools;

fn page(b: &TestBoard, args: &[&str]) -> Ran {
    tools::run(b, &[&["page"], args].concat())
}

#[track_caller]
fn read(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"), "{text}");
    assert!(!text.contains("<script") && !text.contains("src=") && !text.contains("http://"), "{text}");
    text
}

#[test]
fn it_says_what_status_says_and_lies_beside_the_state_file() {
    let b = watched();
    ticks(&b);
    let file = b.path().join("state/watchbill/watchbill.html");
    let before = b.dump();
    assert_eq!(page(&b, &[]).ok(), format!("{}: Nothing needs you\n", file.display()));
    assert!(read(&file).contains("<h1 class=\"good\">Nothing needs you</h1>"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for id in ["t_00000001", "t_00000002"] {
        stop(&b, id);
    }
    let whole = page(&b, &["--json"]).json();
    assert_eq!(
        [&whole["schema"], &whole["file"], &whole["said"], &whole["needs"], &whole["exit"]],
        [&json!("watchbill.page/1"), &json!(file), &json!("2 things need you"), &json!(2), &json!(0)]
    );
    let text = read(&file);
    for need in tools::run(&b, &["status", "--json"]).json()["needs"].as_array().unwrap() {
        let (run, id) = (need["run"].as_str().unwrap(), need["tasks"][0]["id"].as_str().unwrap());
        let run = run.replace('&', "&amp;").replace('\'', "&#39;").replace('"', "&quot;");
        assert!(
            text.contains(&format!("<code>{run}</code>")) && text.contains(&format!("<code>{id}</code>")),
            "{need}"
        );
    }
    assert!(text.find("Needs you") < text.find("Board <bdi>default"), "{text}");
    assert!(b.dump() != before, "they were stopped");
}

#[test]
fn what_cannot_be_read_is_said_on_top_and_never_green() {
    let b = watched();
    ticks(&b);
    let (file, broken) = (b.path().join("page.html"), b.path().join("broken.db"));
    fs::write(&broken, "no database").unwrap();
    let (file_, one, two) = (file.to_str().unwrap(), b.db.to_str().unwrap(), broken.to_str().unwrap());
    let r = page(&b, &["--db", one, "--db", two, file_]);
    assert_eq!((r.code, r.err.as_str()), (1, ""), "{r:?}");
    let text = read(&file);
    assert!(text.contains("<h1 class=\"bad\">") && !text.contains("Nothing needs you"), "{text}");
    let told = text.find("broken.db").unwrap();
    assert!(told < text.find("Board <bdi>default").unwrap(), "{text}");
    assert!(text.contains("This board could not be looked at"), "{text}");
    // A page of before is not left green where there is no board at all any more.
    page(&b, &["-q", file_]).ok();
    assert!(read(&file).contains("Nothing needs you"));
    for none in [["--db", "/no/such.db"], ["--hermes-root", "/proc/1/no"]] {
        page(&b, &["-q", file_]).ok();
        let r = page(&b, &[&["-q", file_][..], &none].concat());
        assert_eq!(r.code, 1, "{none:?}: {r:?}");
        assert!(!read(&file).contains("Nothing needs you"), "{none:?}");
    }
}

#[test]
fn report_writes_the_same_page_and_nothing_else_is_replaced() {
    let b = watched();
    ticks(&b);
    stop(&b, "t_00000001");
    let (one, two) = (b.path().join("one.html"), b.path().join("two.html"));
    let now = crate::support::now().to_string();
    page(&b, &["--now", &now, one.to_str().unwrap()]).ok();
    tools::run(&b, &["report", "-q", "--now", &now, "--html", two.to_str().unwrap()]).ok();
    assert_eq!(read(&one), read(&two));
    let other = b.path().join("notes.txt");
    fs::write(&other, "mine").unwrap();
    let said = page(&b, &[other.to_str().unwrap()]).fails(2);
    assert!(
        said.starts_with(&format!("watchbill page: {}: holds something else than a page", other.display())),
        "{said}"
    );
    assert!(page(&b, &[b.path().to_str().unwrap()]).fails(2).contains("is a folder"));
    assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
    let own = "<!doctype html>\n<html><body>my own page</body></html>\n";
    fs::write(&other, own).unwrap();
    assert!(page(&b, &[other.to_str().unwrap()]).fails(2).contains("holds something else than a page"));
    assert_eq!(fs::read_to_string(&other).unwrap(), own);
}

/// How often the file of a board was opened by what `run` does.
fn opened(b: &TestBoard, run: impl FnOnce()) -> usize {
    let seen = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).unwrap();
    // What happens twice in a row is told once: each opening is told apart by the closing before it.
    inotify::add_watch(&seen, &b.db, inotify::WatchFlags::OPEN | inotify::WatchFlags::CLOSE).unwrap();
    run();
    let mut room = [MaybeUninit::uninit(); 1 << 16];
    let mut all = inotify::Reader::new(&seen, &mut room);
    std::iter::from_fn(|| all.next().ok().map(|e| e.events()))
        .filter(|e| e.contains(inotify::ReadFlags::OPEN))
        .count()
}

#[test]
fn the_page_and_the_report_are_of_one_look() {
    let b = watched();
    b.add("t_00000001", "ready");
    let file = b.path().join("page.html");
    let file = file.to_str().unwrap();
    tools::run(&b, &["page", file]).ok();
    let page = opened(&b, || drop(tools::run(&b, &["page", file]).ok()));
    let both = opened(&b, || drop(tools::run(&b, &["report", "-v", "--html", file]).ok()));
    assert!(page > 0 && both == page, "{both} {page}");
}
