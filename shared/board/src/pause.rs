//! The pause of a board: a plain file beside the board's own, which works even when the board does not; on a server a row.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{BoardId, Location};
use base::atomic_file::{beside, may_write};
use base::error::{Error, Kind};
use base::time::{Time, words};
use base::untrusted_file::{open, others_hand};

/// The name of the file, in the folder of a board.
pub const FILE: &str = "watchbill.pause";

/// How the reason of a pause begins that `board copy` leaves on the board that was moved.
const MOVED: &str = "moved to ";

/// What stands in such a reason before the pause that was in force until then.
const BEFORE: &str = "; before that ";

/// Far above any pause this program writes, in bytes.
const MAX_BYTES: u64 = 16 << 10;

/// What the file says. An empty one, and whatever else has its name, pauses as well: without an end, until it is removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// When it ends by itself.
    pub until: Option<Time>,
    /// Why, in its author's words.
    pub reason: Option<String>,
    /// Who paused.
    pub by: Option<String>,
    /// When.
    pub since: Option<Time>,
}

/// Where the pause of a board is.
pub fn place(id: &BoardId) -> String {
    id.folder().map_or_else(|| id.at.to_string(), |folder| of_folder(&folder).display().to_string())
}

pub(crate) fn fault(id: &BoardId, e: &io::Error) -> Error {
    match Kind::of_io(e) {
        Kind::NoInput => Error::new(Kind::NoInput, &id.at, "no such board"),
        Kind::Permission => Error::new(Kind::Permission, place(id), "cannot be written; nothing was changed")
            .hint("run this as the user who owns the folder"),
        _ => Error::new(Kind::Io, place(id), e).hint(hint(id.folder().as_deref())),
    }
}

/// What stands now, where a pause could not be written or taken off.
fn hint(folder: Option<&Path>) -> &'static str {
    let is_away = |folder| {
        std::fs::symlink_metadata(of_folder(folder)).is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
    };
    match folder.is_none_or(is_away) {
        true => "nothing has that name, so the board is not paused; an empty file of that name pauses it",
        false => {
            "something of that name still exists, so the board is still paused; remove it by hand to end the pause"
        }
    }
}

pub(crate) fn of_folder(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// The pause of the board in this folder; `None` where nothing has its name.
pub(crate) fn of_file(folder: &Path) -> Option<Pause> {
    let file = of_folder(folder);
    std::fs::symlink_metadata(&file).ok()?;
    // A file that cannot be read as a pause, or that other users may write, pauses all the same: then it has no end.
    Some(told(&file).unwrap_or_default())
}

/// Whether a pause could be written into this folder. Nothing is.
pub(crate) fn may_be_written(folder: &Path) -> io::Result<()> {
    place_of_ours(folder)?;
    may_write(folder)
}

/// The file, unless something else has its name.
fn place_of_ours(folder: &Path) -> io::Result<PathBuf> {
    let file = of_folder(folder);
    if std::fs::symlink_metadata(&file).is_ok_and(|m| !m.is_file()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "exists and is not a plain file"));
    }
    Ok(file)
}

fn told(file: &Path) -> Option<Pause> {
    let file = open(file).ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() > MAX_BYTES || others_hand(&meta).is_some() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    toml::from_str(&text).ok()
}

impl Pause {
    /// Whether it ended by itself.
    pub fn is_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// The pause of a board that is moved. What it said before is not lost: a move to the same place leaves it as it is.
    pub fn of_move(to: &str, by: Option<String>, now: Time, before: Option<&Pause>) -> Pause {
        if let Some(same) = before.filter(|before| before.is_move_to(to)) {
            return same.clone();
        }
        let before = before.map_or_else(String::new, |before| {
            let until = before.until.map_or_else(String::new, |until| format!(" until {until}"));
            let by = before.by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
            let reason = before.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
            format!("{BEFORE}paused{until}{by}{reason}")
        });
        Pause { until: None, reason: Some(format!("{MOVED}{to}{before}")), by, since: Some(now) }
    }

    /// Whether `board copy` moved the board, wherever to.
    pub fn is_move(&self) -> bool {
        self.moved().is_some()
    }

    /// Whether `board copy` moved the board to this place.
    pub fn is_move_to(&self, to: &str) -> bool {
        let rest = self.moved().and_then(|moved| moved.strip_prefix(to));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(BEFORE))
    }

    fn moved(&self) -> Option<&str> {
        self.reason.as_deref()?.strip_prefix(MOVED)
    }

    /// `paused until 06:00 (5h 12m) by anna: the database is moved`.
    pub fn words(&self, now: Time) -> String {
        let mut said = match self.until {
            Some(until) if until <= now => format!("a pause that ended {} ago", words(now.since(until))),
            Some(until) => format!("paused until {} ({})", until.local_moment(now), words(until.since(now))),
            None => "paused".into(),
        };
        if let Some(by) = self.by.as_deref().filter(|b| !b.is_empty()) {
            said.push_str(&format!(" by {by}"));
        }
        if let Some(reason) = self.reason.as_deref().filter(|r| !r.is_empty()) {
            said.push_str(&format!(": {reason}"));
        }
        base::quote::inline(&said, 400)
    }

    /// The error for a program that wanted to write to the board.
    pub fn refusal(&self, id: &BoardId, now: Time) -> Error {
        let or = match &id.at {
            Location::File(_) => ", or remove this file,",
            Location::Server(_) => "",
        };
        let hint =
            format!("`watchbill unpause --db {}`{or} to go on", base::quote::shell_word(&id.at.to_string()));
        Error::new(Kind::Busy, place(id), self.words(now)).hint(hint)
    }

    /// Writes it, in the place of an earlier one, so that nobody ever reads half of it.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let file = place_of_ours(folder)?;
        let text = toml::to_string(self).map_err(io::Error::other)?;
        let said = "# Nothing is changed on this board meanwhile. `watchbill unpause`, or remove this file.";
        // Every user who runs a watcher must be able to read when it ends.
        let new = beside(folder, &format!("{said}\n{text}"), 0o644)?;
        new.as_file().sync_all()?;
        new.persist(&file).map_err(|e| e.error)?;
        File::open(folder)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NOW: Time = Time(1_800_000_000);

    fn whole() -> Pause {
        Pause {
            until: Some(NOW.plus(3_600)),
            reason: Some("the \"database\"\nis moved".into()),
            by: Some("anna".into()),
            since: Some(NOW),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(of_file(dir.path()), None);
        for pause in [Pause::default(), whole(), Pause { until: None, ..whole() }] {
            pause.write(dir.path()).unwrap();
            assert_eq!(of_file(dir.path()), Some(pause));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn what_failed_says_whether_the_board_is_paused() {
        let dir = tempfile::tempdir().unwrap();
        let id = BoardId { at: Location::File(dir.path().join("kanban.db")), slug: None, root: None };
        let full = io::Error::from_raw_os_error(28);
        let hint = || fault(&id, &full).hint.unwrap();
        assert!(hint().contains("the board is not paused"), "{}", hint());
        fs::create_dir(of_folder(dir.path())).unwrap();
        assert!(hint().starts_with("something of that name still exists"), "{}", hint());
    }

    #[test]
    fn whatever_else_has_its_name_pauses_without_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let at = of_folder(dir.path());
        let far = "until = \"2020-01-01T00:00:00Z\"\n";
        for text in ["", "until = 3.5\n", "later\n", &format!("{far}once = 1\n"), &"#".repeat(20_000)] {
            fs::write(&at, text).unwrap();
            assert_eq!(of_file(dir.path()), Some(Pause::default()), "{:.20}", text);
        }
        fs::write(&at, far).unwrap();
        assert!(of_file(dir.path()).unwrap().is_over(NOW));
        fs::set_permissions(&at, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(of_file(dir.path()), Some(Pause::default()), "anybody could have written when it ends");
        fs::remove_file(&at).unwrap();
        fs::create_dir(&at).unwrap();
        assert_eq!(of_file(dir.path()), Some(Pause::default()));
        assert!(whole().write(dir.path()).is_err());
    }

    #[test]
    fn a_move_keeps_what_was_said_before() {
        let said = |pause: &Pause| pause.reason.clone().unwrap();
        let move_to = |to: &str, before: Option<&Pause>| Pause::of_move(to, Some("bo".into()), NOW, before);
        let plain = move_to("/new.db", None);
        assert_eq!(said(&plain), "moved to /new.db");
        assert_eq!(move_to("/new.db", Some(&plain)), plain, "it was killed and is made again");
        let kept = move_to("/new.db", Some(&Pause { reason: Some("it is wet".into()), ..whole() }));
        assert_eq!(
            said(&kept),
            format!("moved to /new.db; before that paused until {} by anna: it is wet", NOW.plus(3_600))
        );
        assert_eq!((kept.until, kept.by.as_deref()), (None, Some("bo")));
        assert_eq!(move_to("/new.db", Some(&kept)), kept);
        assert!(kept.is_move() && kept.is_move_to("/new.db"));
        assert!(!kept.is_move_to("/new") && !kept.is_move_to("/other.db") && !whole().is_move());
    }

    #[test]
    fn it_ends_in_the_second_it_names() {
        assert!(!whole().is_over(NOW.plus(3_599)) && whole().is_over(NOW.plus(3_600)));
        assert!(!Pause::default().is_over(Time(i64::MAX)));
    }

    #[test]
    fn it_says_how_long_who_and_why_in_one_line() {
        let said = whole().words(NOW);
        assert!(said.starts_with("paused until ") && !said.contains('\n'), "{said}");
        assert!(said.contains("(1h) by anna: the \"database\" is moved"), "{said}");
        assert_eq!(Pause::default().words(NOW), "paused");
        assert!(whole().words(NOW.plus(7_200)).starts_with("a pause that ended 1h ago by anna"));
    }
}
