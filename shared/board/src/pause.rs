//! The pause of a board: a plain file in its folder, which works even when the board does not; on a server a row. It is for all boards of the
//! folder. That of a board which was moved is a file of its own, for that board alone.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{BoardId, Location};
use base::atomic_file::{beside, may_write};
use base::error::{Error, Kind, Result};
use base::snapshot::with_end;
use base::time::{Time, words};
use base::untrusted_file::{open, others_hand};

/// The name of the file, in the folder of a board.
pub const FILE: &str = "watchbill.pause";

/// How the reason of a pause begins that `board copy` leaves on the board that was moved. A server's row, and a file of before, say so by
/// this alone.
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
    /// Where `board copy` moved the board to.
    pub moved_to: Option<String>,
}

/// What pauses a board file.
struct Places {
    /// This board alone.
    alone: PathBuf,
    /// All boards of the folder.
    all: PathBuf,
}

/// Beside the path of a board, and beside its file where that path leads through a link. New pauses are put into the last of them.
fn places(id: &BoardId) -> Vec<Places> {
    let (Some(path), Some(folder)) = (id.file(), id.folder()) else { return Vec::new() };
    let beside = |path: &Path, folder: &Path| Places {
        alone: with_end(path, &format!(".{FILE}")),
        all: folder.join(FILE),
    };
    let mut all = vec![beside(path, &folder)];
    let real = path.canonicalize().ok();
    if let Some((real, its)) = real.as_deref().and_then(|real| Some((real, real.parent()?))) {
        let is_same = path.file_name() == real.file_name() && folder.canonicalize().is_ok_and(|f| f == its);
        all.extend((!is_same).then(|| beside(real, its)));
    }
    all
}

/// Where this pause of a board is.
pub fn place(id: &BoardId, pause: &Pause) -> String {
    let places = places(id);
    let mut all = places.iter().flat_map(|p| [&p.alone, &p.all]);
    let found = all.find(|file| of_file(file).as_ref() == Some(pause)).or(places.last().map(|p| &p.all));
    found.map_or_else(|| id.at.to_string(), |file| file.display().to_string())
}

fn fault(id: &BoardId, file: &Path, e: &io::Error) -> Error {
    match Kind::of_io(e) {
        Kind::NoInput => Error::new(Kind::NoInput, &id.at, "no such board"),
        Kind::Permission => {
            Error::new(Kind::Permission, file.display(), "cannot be written; nothing was changed")
                .hint("run this as the user who owns the folder")
        }
        _ => Error::new(Kind::Io, file.display(), e).hint(hint(file)),
    }
}

/// What stands now, where a pause could not be written or taken off.
fn hint(file: &Path) -> &'static str {
    match std::fs::symlink_metadata(file).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        true => "nothing has that name, so the board is not paused; an empty file of that name pauses it",
        false => {
            "something of that name still exists, so the board is still paused; remove it by hand to end the pause"
        }
    }
}

/// The pause of a board file. Of several it is the one that lasts longest; of those the one of a move.
pub(crate) fn of_board(id: &BoardId) -> Option<Pause> {
    let all = places(id).into_iter().flat_map(|p| [p.alone, p.all]);
    all.filter_map(|file| of_file(&file)).max_by_key(|p| (p.until.is_none(), p.until, p.is_move()))
}

/// Pauses a board file, in the place of an earlier pause, or takes its pauses off. A move takes the place of none: that of its folder is for
/// other boards, too.
pub(crate) fn set(id: &BoardId, pause: Option<&Pause>) -> Result<()> {
    let places = places(id);
    let Some((real, links)) = places.split_last() else { return Ok(()) };
    let write = |pause: &Pause, file: &Path| pause.write(file).map_err(|e| fault(id, file, &e));
    match pause {
        Some(moved) if moved.is_move() => return write(moved, &real.alone),
        Some(pause) => {
            write(pause, &real.all)?;
            let earlier = links.iter().filter(|p| p.all.symlink_metadata().is_ok());
            earlier.into_iter().try_for_each(|p| write(pause, &p.all))?;
        }
        None => places.iter().try_for_each(|p| remove(id, &p.all))?,
    }
    end_move(id)
}

/// Takes off what pauses a board file alone.
pub(crate) fn end_move(id: &BoardId) -> Result<()> {
    places(id).iter().try_for_each(|p| remove(id, &p.alone))
}

fn remove(id: &BoardId, file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(fault(id, file, &e)),
        _ => Ok(()),
    }
}

/// Whether a board file could be paused. Nothing is written.
pub(crate) fn may_set(id: &BoardId) -> Result<()> {
    let places = places(id);
    let Some(real) = places.last() else { return Ok(()) };
    [&real.alone, &real.all].into_iter().try_for_each(|file| {
        let may = is_free(file).and_then(|()| may_write(folder_of(file)));
        may.map_err(|e| fault(id, file, &e))
    })
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What this file says; `None` where nothing has its name.
fn of_file(file: &Path) -> Option<Pause> {
    std::fs::symlink_metadata(file).ok()?;
    // A file that cannot be read as a pause, or that other users may write, pauses all the same: then it has no end.
    Some(told(file).unwrap_or_default().read())
}

/// Fails where something other than a plain file has this name.
fn is_free(file: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(file).is_ok_and(|m| !m.is_file()) {
        true => Err(io::Error::new(io::ErrorKind::AlreadyExists, "exists and is not a plain file")),
        false => Ok(()),
    }
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
        Pause {
            until: None,
            reason: Some(format!("{MOVED}{to}{before}")),
            by,
            since: Some(now),
            moved_to: Some(to.to_owned()),
        }
    }

    /// The same, where it says only by its reason where the board was moved to: a path from the root, or an address.
    #[must_use]
    pub fn read(self) -> Pause {
        let moved = self.reason.as_deref().and_then(|reason| reason.strip_prefix(MOVED));
        let to = moved.and_then(|moved| moved.split(BEFORE).next()).filter(|to| {
            let place = Location::from(*to);
            self.until.is_none() && place.file().is_none_or(Path::is_absolute)
        });
        Pause { moved_to: self.moved_to.or(to.map(str::to_owned)), ..self }
    }

    /// Whether `board copy` moved the board, wherever to.
    pub fn is_move(&self) -> bool {
        self.moved_to.is_some()
    }

    /// Whether `board copy` moved the board to this place.
    pub fn is_move_to(&self, to: &str) -> bool {
        self.moved_to.as_deref() == Some(to)
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
        Error::new(Kind::Busy, place(id, self), self.words(now)).hint(hint)
    }

    /// Writes it, in the place of an earlier one, so that nobody ever reads half of it.
    fn write(&self, file: &Path) -> io::Result<()> {
        is_free(file)?;
        let folder = folder_of(file);
        let text = toml::to_string(self).map_err(io::Error::other)?;
        let said = match self.is_move() {
            true => {
                "Nothing is changed on this board. `watchbill unpause --db` with its name, or remove this file."
            }
            false => "Nothing is changed on this board meanwhile. `watchbill unpause`, or remove this file.",
        };
        // Every user who runs a watcher must be able to read when it ends.
        let new = beside(folder, &format!("# {said}\n{text}"), 0o644)?;
        new.as_file().sync_all()?;
        new.persist(file).map_err(|e| e.error)?;
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
            moved_to: None,
        }
    }

    fn board(path: PathBuf) -> BoardId {
        BoardId { at: Location::File(path), slug: None, root: None }
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join(FILE);
        assert_eq!(of_file(&at), None);
        let moved = Pause::of_move("/new; before that.db", None, NOW, None);
        for pause in [Pause::default(), whole(), Pause { until: None, ..whole() }, moved] {
            pause.write(&at).unwrap();
            assert_eq!(of_file(&at), Some(pause));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn what_failed_says_whether_the_board_is_paused() {
        let dir = tempfile::tempdir().unwrap();
        let (id, at) = (board(dir.path().join("kanban.db")), dir.path().join(FILE));
        let full = io::Error::from_raw_os_error(28);
        let hint = || fault(&id, &at, &full).hint.unwrap();
        assert!(hint().contains("the board is not paused"), "{}", hint());
        fs::create_dir(&at).unwrap();
        assert!(hint().starts_with("something of that name still exists"), "{}", hint());
    }

    #[test]
    fn whatever_else_has_its_name_pauses_without_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join(FILE);
        let far = "until = \"2020-01-01T00:00:00Z\"\n";
        for text in ["", "until = 3.5\n", "later\n", &format!("{far}once = 1\n"), &"#".repeat(20_000)] {
            fs::write(&at, text).unwrap();
            assert_eq!(of_file(&at), Some(Pause::default()), "{:.20}", text);
        }
        fs::write(&at, far).unwrap();
        assert!(of_file(&at).unwrap().is_over(NOW));
        fs::set_permissions(&at, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(of_file(&at), Some(Pause::default()), "anybody could have written when it ends");
        fs::remove_file(&at).unwrap();
        fs::create_dir(&at).unwrap();
        assert_eq!(of_file(&at), Some(Pause::default()));
        assert!(whole().write(&at).is_err());
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
    fn a_move_is_told_by_its_place_and_by_no_other_words() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join(FILE);
        for (reason, want) in [
            ("moved to /srv/a b.db", Some("/srv/a b.db")),
            ("moved to postgres://h/d; before that paused: moved to a shelf", Some("postgres://h/d")),
            ("moved to a new rack tonight", None),
            ("is moved to /srv", None),
        ] {
            let by = Pause { until: None, reason: Some(reason.into()), ..whole() };
            by.write(&at).unwrap();
            assert_eq!(of_file(&at).unwrap().moved_to.as_deref(), want, "{reason}");
        }
    }

    #[test]
    fn a_move_pauses_its_board_alone_and_leaves_the_pause_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (night, day) = (board(dir.path().join("night.db")), board(dir.path().join("day.db")));
        let moved = Pause::of_move("/new.db", None, NOW, None);
        set(&night, Some(&moved)).unwrap();
        assert_eq!((of_board(&night), of_board(&day)), (Some(moved.clone()), None));
        assert!(place(&night, &moved).ends_with("/night.db.watchbill.pause"));
        for plain in [whole(), Pause { until: None, ..whole() }] {
            set(&day, Some(&plain)).unwrap();
            assert_eq!((of_board(&night), of_board(&day)), (Some(moved.clone()), Some(plain)));
        }
        end_move(&night).unwrap();
        assert_eq!(of_board(&night), of_board(&day), "what paused it before still does");
        set(&night, Some(&moved)).unwrap();
        set(&night, None).unwrap();
        assert_eq!((of_board(&night), of_board(&day)), (None, None));
    }

    #[test]
    fn a_pause_holds_under_every_name_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let [data, links] = ["data", "links"].map(|name| dir.path().join(name));
        fs::create_dir(&data).and(fs::create_dir(&links)).unwrap();
        let (real, link) = (board(data.join("night.db")), board(links.join("now.db")));
        fs::write(data.join("night.db"), "").unwrap();
        std::os::unix::fs::symlink(data.join("night.db"), links.join("now.db")).unwrap();
        let moved = Pause::of_move("/new.db", None, NOW, None);
        for by in [&real, &link] {
            for pause in [&whole(), &moved] {
                set(by, Some(pause)).unwrap();
                assert_eq!((of_board(&real).as_ref(), of_board(&link).as_ref()), (Some(pause), Some(pause)));
            }
            set(by, None).unwrap();
            assert_eq!((of_board(&real), of_board(&link)), (None, None));
        }
        // A file beside the link counts for the link, and an end that is said later counts there, too.
        fs::write(links.join(FILE), "").unwrap();
        assert_eq!((of_board(&real), of_board(&link)), (None, Some(Pause::default())));
        set(&link, Some(&whole())).unwrap();
        assert_eq!((of_board(&real), of_board(&link)), (Some(whole()), Some(whole())));
        set(&link, None).unwrap();
        assert_eq!((of_board(&real), of_board(&link)), (None, None));
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
