//! The page for the morning in a real browser: it asks for nothing, complains of nothing, can be read on a telephone and
//! in the dark, and its charts are drawn.
//!
//! `WATCHBILL_CHROMIUM=skip` leaves all of it out and says so; `WATCHBILL_SCREENSHOTS=DIR` keeps its pictures.

mod night; // a board as it is in the morning

use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::page::{hostile, html, sample};

use crate::browser::{Browser, View, wanted};

/// Finds out in the page what no test of its source can tell.
const LOOK: &str = include_str!("page.js");
const PHONE: View = View { width: 390, height: 844, is_dark: false };
const DESK: View = View { width: 1_280, height: 800, is_dark: false };

#[test]
fn the_sample_page_is_fit_to_be_read_anywhere() {
    if !wanted("page::the_sample_page_is_fit_to_be_read_anywhere") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    std::fs::write(&page, html(&sample())).unwrap();
    is_fit_to_be_read(&page, &pictures(&dir));
}

/// The built program on a board with everything on it; its pictures are those of the README.
#[test]
fn the_page_of_a_night_is_fit_to_be_read_anywhere() {
    if !wanted("page::the_page_of_a_night_is_fit_to_be_read_anywhere") {
        return;
    }
    let board = night::night();
    let page = board.path().join("page.html");
    night::write_page(&board, &page);
    let dir = tempfile::tempdir().unwrap();
    let folder = pictures(&dir).join("night");
    std::fs::create_dir_all(&folder).unwrap();
    is_fit_to_be_read(&page, &folder);
}

#[test]
fn an_open_page_shows_what_was_written_meanwhile() {
    if !wanted("page::an_open_page_shows_what_was_written_meanwhile") {
        return;
    }
    let board = night::night();
    let page = board.path().join("page.html");
    night::write_page(&board, &page);
    let mut browser = Browser::start();
    browser.open(&page, PHONE);
    let shown = |browser: &mut Browser| browser.eval("document.querySelector('h1').textContent");
    let first = shown(&mut browser);
    board.sql("UPDATE tasks SET status = 'done' WHERE id = 't_b41f00d2'");
    night::write_page(&board, &page);
    browser.later(50);
    assert_eq!(shown(&mut browser), first, "it is read again every minute, and not at once");
    browser.later(20);
    assert_eq!((first, shown(&mut browser)), ("3 things need you".into(), "2 things need you".into()));
}

/// Where pictures go: where they were asked for, or where they vanish with the test.
fn pictures(dir: &tempfile::TempDir) -> PathBuf {
    std::env::var_os("WATCHBILL_SCREENSHOTS").map_or(dir.path().to_owned(), PathBuf::from)
}

#[test]
fn hostile_text_stays_text_and_within_the_page() {
    if !wanted("page::hostile_text_stays_text_and_within_the_page") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    std::fs::write(&page, html(&hostile())).unwrap();
    let mut browser = Browser::start();
    for view in [DESK, PHONE] {
        assert_eq!(faults(&mut browser, &page, view), [""; 0], "{view:?}");
        assert!(browser.eval("document.title").as_str().unwrap().ends_with(" · Watchbill"));
        assert_eq!(browser.eval("document.querySelectorAll('script, img, body ~ *').length"), 0);
        browser.picture(&pictures(&dir).join(format!("hostile-{}.png", view.width)));
    }
}

#[test]
fn a_page_with_every_fault_is_found_out() {
    if !wanted("page::a_page_with_every_fault_is_found_out") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("bad.html");
    // Port 9 of this machine: nobody listens, and the network is not asked.
    let bad = "<!doctype html><meta name=viewport content='width=device-width'><body style='background:#777'>\
        <p style='font-size:10px'>small</p><p style='color:#888'>faint</p><p style='width:2000px'>wide \
        <span style='position:absolute;left:1900px'>far</span></p><a href='#nowhere'>dead</a>\
        <section class=chart>empty <svg class=bars><rect width=0 height=9 /></svg></section>\
        <img src='http://127.0.0.1:9/x.png'><script>console.log('said'); oops()</script>";
    std::fs::write(&page, bad).unwrap();
    let found = faults(&mut Browser::start(), &page, PHONE).join("\n");
    for fault in [
        "asked for \"http://127.0.0.1:9/x.png\"",
        "console: ",
        "exception: ",
        "log: ",
        "small: P. small",
        "faint: 1.",
        "cut: SPAN. far",
        "empty: SECTION.chart empty",
        "dead: A. dead",
        "wide: ",
        "ground: ",
        "charts: 1",
    ] {
        assert!(found.contains(fault), "{fault:?} is not in:\n{found}");
    }
}

/// Asserts all of it on a page in a file whose charts all have something to show. Pictures go into the folder.
#[track_caller]
pub fn is_fit_to_be_read(page: &Path, pictures: &Path) {
    let mut browser = Browser::start();
    for (size, view) in [("desk", DESK), ("phone", PHONE)] {
        for (light, is_dark) in [("light", false), ("dark", true)] {
            let view = View { is_dark, ..view };
            assert_eq!(faults(&mut browser, page, view), [""; 0], "{size}, {light}");
            // As a reader finds it, and not with everything opened.
            browser.open(page, view);
            browser.picture(&pictures.join(format!("{size}-{light}.png")));
        }
    }
}

/// What is wrong with a page, as it is found and with all its closed parts opened: a reader who opens one wants to read it.
#[track_caller]
fn faults(browser: &mut Browser, page: &Path, view: View) -> Vec<String> {
    browser.open(page, view);
    let found = browser.eval(LOOK);
    browser.eval("document.querySelectorAll('details').forEach(d => { d.open = true; })");
    let opened = browser.eval(LOOK);
    let mut all = browser.complaints(page);
    for seen in [found, opened] {
        for fault in ["small", "faint", "cut", "empty", "dead"] {
            let texts = seen[fault].as_array().unwrap();
            all.extend(texts.iter().map(|t| format!("{fault}: {}", t.as_str().unwrap())));
        }
        if seen["width"].as_u64().unwrap() > u64::from(view.width) {
            all.push(format!("wide: {} of {}", seen["width"], view.width));
        }
        // A check of nothing would find nothing.
        if seen["charts"].as_u64().unwrap() < 5 || seen["texts"].as_u64().unwrap() < 50 {
            all.push(format!("charts: {}, texts: {}", seen["charts"], seen["texts"]));
        }
        let ground = brightness(&seen["ground"]);
        if if view.is_dark { ground > 0.2 } else { ground < 0.8 } {
            all.push(format!("ground: {ground:.2} with dark {}", view.is_dark));
        }
    }
    all
}

/// 0 for black to 1 for white.
fn brightness(rgb: &Value) -> f64 {
    rgb.as_array().unwrap().iter().map(|c| c.as_f64().unwrap() / 255.0).sum::<f64>() / 3.0
}
