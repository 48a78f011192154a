//! Which boards there are, exactly as Hermes resolves paths, environment and slugs (0.19 `kanban_db.py`).

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode, Yaml};

use super::{BoardId, Location};
use base::error::{Error, Kind, Result};
use base::quote;
use base::snapshot::with_end;
use base::untrusted_file;
use base::worker_env::{HERMES, SHARED};

/// The environment, handed in so that resolution can be tested without touching the process's own.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What the command line and the configuration say about which boards to use.
#[derive(Debug, Clone, Default)]
pub struct Which {
    /// `--db`: these boards and no others.
    pub db: Vec<Location>,
    /// `--board`: these slugs under the root.
    pub board: Vec<String>,
    /// `--hermes-root`, or the configured one.
    pub root: Option<PathBuf>,
    /// A board from the configuration, watched beside those of the root.
    pub configured: Option<Location>,
    /// Files of boards that earlier passes looked at. A board whose file is lost is still listed.
    pub seen: BTreeSet<PathBuf>,
}

/// Whether a slug is one Hermes accepts: 1 to 64 of `a-z 0-9 - _`, not starting with `-` or `_`.
pub fn is_slug(s: &str) -> bool {
    let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=64).contains(&s.len()) && s.bytes().all(ok) && !s.starts_with(['-', '_'])
}

/// The folder that holds boards and profiles: `HERMES_KANBAN_HOME`, else the root behind `HERMES_HOME` (its grandparent
/// when that is `<root>/profiles/<name>`), else `~/.hermes`.
pub fn root(given: Option<&Path>, env: Env<'_>) -> Option<PathBuf> {
    if let Some(given) = given {
        return Some(given.to_path_buf());
    }
    let set = |name: &str| env(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
    if let Some(home) = set("HERMES_KANBAN_HOME") {
        return Some(expanded(&home, env));
    }
    let native = env("HOME").filter(|h| !h.is_empty()).map(|h| PathBuf::from(h).join(".hermes"));
    let Some(home) = env("HERMES_HOME").filter(|v| !v.is_empty()).map(PathBuf::from) else { return native };
    let real = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_path_buf());
    if let Some(native) = native.filter(|n| real(&home).starts_with(real(n))) {
        return Some(native);
    }
    match home.parent() {
        Some(parent) if parent.file_name().is_some_and(|n| n == "profiles") => {
            parent.parent().map(Path::to_path_buf)
        }
        _ => Some(home),
    }
}

fn expanded(path: &str, env: Env<'_>) -> PathBuf {
    match (path.strip_prefix("~/"), env("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

/// The file of a board under a root.
pub fn db_path(root: &Path, slug: &str) -> PathBuf {
    if slug == "default" { root.join("kanban.db") } else { boards(root).join(slug).join("kanban.db") }
}

fn boards(root: &Path) -> PathBuf {
    root.join("kanban").join("boards")
}

/// Whether a file is the board itself, or one of the files SQLite keeps beside it, under whatever name: to open and close it like
/// any other file would take the locks off it that this process holds (SQLite, "How To Corrupt", 2.2).
pub fn is_board_file(id: &BoardId, file: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    let Some(named) = identity(file) else { return false };
    id.file().is_some_and(|board| files(board).iter().any(|own| identity(own) == Some(named)))
}

/// The file of a board, and those that SQLite keeps beside it while a process has it open.
pub fn files(board: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|end| with_end(board, end))
}

/// What a board and its dispatcher write at any time, wherever that is: the files of the board and its logs, without links on the way.
/// Some may be absent.
pub fn own_files(id: &BoardId) -> Vec<PathBuf> {
    let plain = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
    };
    let of_board = |board: PathBuf| files(&board).into_iter().chain([with_end(&board, "-journal")]);
    let logs = logs_dir(id).and_then(|logs| plain(&logs));
    id.file().and_then(plain).into_iter().flat_map(of_board).chain(logs).collect()
}

/// The folder of a board's worker logs. `None` for a board outside any Hermes root.
pub fn logs_dir(id: &BoardId) -> Option<PathBuf> {
    match (&id.root, id.slug.as_deref()) {
        (Some(root), Some("default")) => Some(root.join("kanban").join("logs")),
        (Some(root), Some(slug)) => Some(boards(root).join(slug).join("logs")),
        _ => None,
    }
}

/// Most boards that are named where another one is not there.
const MAX_NAMED: usize = 16;

/// Longest name of a log without its ending, in bytes; a file system takes 255 with it.
const MAX_NAME: usize = 200;

/// How many logs of earlier attempts of a task our harness keeps beside its log.
pub const KEPT_LOGS: usize = 5;

/// Where our harness keeps the log of the attempt so many before the newest one, from 1 to [`KEPT_LOGS`].
pub fn kept_log(log: &str, before: usize) -> String {
    format!("{log}.{before}")
}

/// The log of a task in the folder of its board's worker logs. An id comes from a row that any program may have written, and never
/// leads out of the folder: what no file name can hold stands there as `%2F`. Ids of Hermes stay as they are.
pub fn log_file(folder: &Path, task: &str) -> PathBuf {
    let mut name = String::new();
    for (n, c) in task.char_indices() {
        if c.is_control() || c == '/' || c == '%' || (n == 0 && c == '.') {
            name.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            name.push(c);
        }
    }
    if name.len() > MAX_NAME {
        let front = base::clip::clip(&name, MAX_NAME - 17);
        name = format!("{front}%{:016x}", base::hash::fnv(task.bytes()));
    }
    folder.join(format!("{name}.log"))
}

/// The root and slug a file belongs to, by where it lies, first as it was named and then with links resolved: so a board
/// named by `--db` still finds its logs. Elsewhere it is the default board of a root that was named with it.
fn placed(at: &Location, named_root: Option<&Path>) -> BoardId {
    let alone = BoardId { at: at.clone(), slug: None, root: None };
    let Some(path) = at.file() else { return alone };
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let real = path.canonicalize().unwrap_or_else(|_| whole.clone());
    let found = [whole, real].iter().find_map(|p| home_of(p));
    let found = found.or_else(|| named_root.map(|r| ("default".to_owned(), r.to_path_buf())));
    match found {
        Some((slug, root)) => BoardId { slug: Some(slug), root: Some(root), ..alone },
        None => alone,
    }
}

fn home_of(db: &Path) -> Option<(String, PathBuf)> {
    let name = |n: usize| db.ancestors().nth(n).and_then(Path::file_name).and_then(|n| n.to_str());
    if name(0) != Some("kanban.db") {
        return None;
    }
    if name(2) == Some("boards") && name(3) == Some("kanban") {
        return Some((name(1)?.to_owned(), db.ancestors().nth(4)?.to_path_buf()));
    }
    // Without anything else of Hermes beside it, this may be another program's file.
    let is_root = |root: &&Path| {
        ["kanban", "profiles"].iter().any(|folder| root.join(folder).is_dir())
            || root.join("config.yaml").is_file()
    };
    let root = db.parent().filter(is_root)?;
    Some(("default".into(), root.to_path_buf()))
}

/// The slug Hermes works on where none is named: `HERMES_KANBAN_BOARD`, else what `boards switch` chose.
fn current(root: &Path, env: Env<'_>) -> String {
    let switched = || untrusted_file::text(&root.join("kanban").join("current"));
    let slug = env("HERMES_KANBAN_BOARD").or_else(switched).map(|s| s.trim().to_lowercase());
    slug.filter(|s| is_slug(s)).unwrap_or_else(|| "default".into())
}

/// Whether commands that name no board take another one than this: it is `default`, and `hermes kanban boards switch` chose another.
pub fn is_switched_from(id: &BoardId) -> bool {
    let chosen = || id.root.as_deref().map(|root| current(root, &|_| None));
    id.slug.as_deref() == Some("default") && chosen().is_some_and(|slug| slug != "default")
}

/// Whether commands find a board by its file alone: only the configuration names the root it is under. `root`: the one that commands take
/// without it.
pub fn is_elsewhere(id: &BoardId, root: Option<&Path>) -> bool {
    let real = |root: &Path| root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    id.root.as_deref().is_some_and(|under| root.map(real) != Some(real(under)))
}

/// The boards to use, each file once, in a fixed order: default first, the rest by name.
///
/// # Errors
/// `NoInput` where there is none at all: a cron job without `HERMES_HOME` must not watch nothing in silence.
/// `Usage` for a slug Hermes would refuse.
pub fn find(which: &Which, env: Env<'_>) -> Result<Vec<BoardId>> {
    let mut found = all(which, env)?;
    let (mut known, mut servers) = (BTreeSet::new(), BTreeSet::new());
    // Two names of one file are one board.
    found.retain(|id| match &id.at {
        Location::File(path) => !path.metadata().is_ok_and(|m| !known.insert((m.dev(), m.ino()))),
        Location::Server(address) => servers.insert(address.clone()),
    });
    Ok(found)
}

fn all(which: &Which, env: Env<'_>) -> Result<Vec<BoardId>> {
    if !which.db.is_empty() {
        return Ok(which.db.iter().map(|p| placed(p, which.root.as_deref())).collect());
    }
    let root = root(which.root.as_deref(), env);
    if !which.board.is_empty() {
        let root = root.ok_or_else(|| no_root("--board needs one"))?;
        return which.board.iter().map(|s| named(&root, s)).collect();
    }
    let set = |name: &str| env(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
    let by_hermes = which.root.is_none().then(|| set(HERMES.db)).flatten();
    // As a worker on a board of several hosts is told where that is. What Hermes started below it works for a board of Hermes.
    if let Some(at) = set(SHARED.db).filter(|_| by_hermes.is_none()) {
        let at = Location::read(at.as_ref()).map_err(|why| Error::new(Kind::Config, SHARED.db, why))?;
        return Ok(vec![placed(&at, which.root.as_deref())]);
    }
    // As a Hermes worker is told where its board is: the same variables pin us to the same file.
    if which.root.is_none() {
        if let Some(path) = by_hermes {
            // The file may lie anywhere; logs and profiles are where root and slug say.
            let path = expanded(&path, env);
            let slug = root.as_deref().map(|r| current(r, env));
            return Ok(vec![BoardId { at: Location::File(path), slug, root }]);
        }
        // Where that board does not exist Hermes falls back in silence; so do we, to the whole root: see `passed_over`.
        if let Some((root, slug)) = root.as_deref().and_then(|root| Some((root, pinned(root, env)?))) {
            return Ok(vec![named(root, &slug)?]);
        }
    }
    if let Some(denied) = root.as_deref().filter(|root| which.configured.is_none() && is_denied(root)) {
        return Err(Error::new(Kind::Permission, denied.display(), "permission denied")
            .hint("run this as the user who owns it"));
    }
    let mut found = root.as_deref().map(|root| all_under(root, &which.seen)).unwrap_or_default();
    // A root that is named and not there is no root less; without any other board that is the answer.
    let is_named =
        which.root.is_some() || ["HERMES_KANBAN_HOME", "HERMES_HOME"].iter().any(|n| set(n).is_some());
    let is_lost = |root: &PathBuf| is_named && root.try_exists().is_ok_and(|there| !there);
    if let Some(lost) = root.as_ref().filter(|r| which.configured.is_some() && found.is_empty() && is_lost(r))
    {
        found.push(BoardId { at: lost.clone().into(), root: Some(lost.clone()), slug: None });
    }
    found.extend(which.configured.as_ref().map(|at| placed(at, None)));
    if found.is_empty() {
        let at = root.map_or_else(|| "no Hermes root".to_owned(), |r| r.display().to_string());
        return Err(Error::new(Kind::NoInput, at, "no board found").hint(
            "set HERMES_HOME or --hermes-root, name a board with --db, or set board.db in the configuration; or make a board: `board init FILE`",
        ));
    }
    Ok(found)
}

/// What `HERMES_KANBAN_BOARD` says, without the spaces around it.
fn pin(env: Env<'_>) -> Option<String> {
    env("HERMES_KANBAN_BOARD").map(|v| v.trim().to_owned()).filter(|v| !v.is_empty())
}

/// The board of a root that it names, if there is such a one.
fn pinned(root: &Path, env: Env<'_>) -> Option<String> {
    let slug = pin(env)?.to_lowercase();
    let known = |file: &str| boards(root).join(&slug).join(file).exists();
    let there = is_slug(&slug) && (slug == "default" || known("kanban.db") || known("board.json"));
    there.then_some(slug)
}

/// The root, and the name that `HERMES_KANBAN_BOARD` has for none of its boards, where that variable would have chosen one: [`find`] takes
/// others, as Hermes does.
pub fn passed_over(which: &Which, env: Env<'_>) -> Option<(PathBuf, String)> {
    let is_set = |name: &str| env(name).is_some_and(|v| !v.trim().is_empty());
    let is_named = !which.db.is_empty() || !which.board.is_empty() || which.root.is_some();
    if is_named || is_set(HERMES.db) || is_set(SHARED.db) {
        return None;
    }
    let name = pin(env)?;
    let root = root(None, env).filter(|root| pinned(root, env).is_none())?;
    Some((root, name))
}

/// What a person does where a root that is named is not there, and stands for its boards.
pub(crate) fn lost_root(id: &BoardId) -> Option<&'static str> {
    let is_root = id.root.is_some() && id.root.as_deref() == id.file();
    is_root.then_some(
        "mount its disk; where Hermes is gone on purpose, name no root (HERMES_HOME, HERMES_KANBAN_HOME, board.hermes_root), and run \
         `watchbill timers install`",
    )
}

/// Why the named board does not exist; below a root with the names of those that do.
pub fn missing(id: &BoardId) -> Option<Error> {
    if !id.file()?.try_exists().is_ok_and(|there| !there) {
        return None;
    }
    let Some((root, slug)) = id.root.as_deref().zip(id.slug.as_deref()) else {
        return Some(Error::new(Kind::NoInput, &id.at, "no such board"));
    };
    let names: Vec<String> =
        all_under(root, &BTreeSet::new()).into_iter().filter_map(|id| id.slug).take(MAX_NAMED).collect();
    let there = match names.as_slice() {
        [] => "there is none".to_owned(),
        names => format!("there are {}", names.join(", ")),
    };
    let at = format!("board {slug} of {}", root.display());
    Some(Error::new(Kind::NoInput, at, "no such board").hint(there))
}

/// Whether nothing in a root can be seen.
fn is_denied(root: &Path) -> bool {
    std::fs::metadata(db_path(root, "default")).is_err_and(|e| e.kind() == ErrorKind::PermissionDenied)
}

fn no_root(why: &str) -> Error {
    Error::new(Kind::NoInput, "no Hermes root", why).hint("set HERMES_HOME or --hermes-root")
}

fn named(root: &Path, slug: &str) -> Result<BoardId> {
    let slug = slug.trim().to_lowercase();
    if !is_slug(&slug) {
        return Err(Error::new(Kind::Usage, format!("--board {slug}"), "not a board slug")
            .hint("1 to 64 of a-z, 0-9, - and _, starting with a letter or digit"));
    }
    Ok(BoardId { at: db_path(root, &slug).into(), root: Some(root.to_path_buf()), slug: Some(slug) })
}

/// Every board of a root that has a file with something in it, that cannot be looked at, or that Hermes knows by its `board.json`: that
/// one's file is lost. So is that of one that was `seen`, also where its folder or the whole root is gone. Archived ones are left out.
/// Where the folder of boards cannot be listed, it stands there in their place.
fn all_under(root: &Path, seen: &BTreeSet<PathBuf>) -> Vec<BoardId> {
    // A link that leads nowhere may lead to a disk that is not mounted.
    let has_board = |p: &Path| match std::fs::metadata(p) {
        Ok(m) => m.is_file() && m.len() > 0,
        Err(e) if e.kind() == ErrorKind::NotFound => std::fs::symlink_metadata(p).is_ok(),
        Err(e) => e.kind() != ErrorKind::NotADirectory,
    };
    let listed = std::fs::read_dir(boards(root)).and_then(|entries| {
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.collect::<std::io::Result<Vec<_>>>()
    });
    let (names, unlisted) = match listed {
        Ok(names) => (names, None),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => (Vec::new(), None),
        Err(_) => (Vec::new(), Some(BoardId { at: boards(root).into(), root: None, slug: None })),
    };
    let mut slugs: Vec<String> = names.into_iter().flatten().filter(|n| is_slug(n)).collect();
    // Also where their folders are gone: by a slip as well as on purpose.
    let lost: BTreeSet<String> = seen.iter().filter_map(|file| slug_under(root, file)).collect();
    slugs.extend(lost.iter().filter(|slug| !is_put_away(root, slug)).cloned());
    slugs.retain(|s| s != "default" && !is_archived(&boards(root).join(s).join("board.json")));
    slugs.sort();
    slugs.dedup();
    slugs.insert(0, "default".into());
    let id = |slug: String| BoardId {
        at: db_path(root, &slug).into(),
        root: Some(root.to_path_buf()),
        slug: Some(slug),
    };
    let is_known = |id: &BoardId| {
        id.folder().is_some_and(|folder| folder != root && folder.join("board.json").is_file())
    };
    let was_seen = |id: &BoardId| id.slug.as_ref().is_some_and(|slug| lost.contains(slug));
    let is_there = |id: &BoardId| id.file().is_some_and(has_board) || is_known(id) || was_seen(id);
    let there = slugs.into_iter().map(id).filter(is_there);
    there.chain(unlisted).collect()
}

/// The slug of the board of a root that has this file.
fn slug_under(root: &Path, file: &Path) -> Option<String> {
    let root = std::path::absolute(root).ok()?;
    let folder = file.parent()?;
    let slug = if folder == root { "default" } else { folder.file_name()?.to_str()? };
    (is_slug(slug) && db_path(&root, slug) == file).then(|| slug.to_owned())
}

/// Whether Hermes moved the folder of a board to its archive, as `boards rm` of 0.19 does: under its slug and the seconds since 1970.
fn is_put_away(root: &Path, slug: &str) -> bool {
    if boards(root).join(slug).exists() {
        return false;
    }
    let names = std::fs::read_dir(boards(root).join("_archived")).into_iter().flatten().flatten();
    let names = names.filter_map(|e| e.file_name().into_string().ok());
    let is_it = |name: String| {
        let at = name.strip_prefix(slug).and_then(|rest| rest.strip_prefix('-'));
        at.is_some_and(|at| !at.is_empty() && at.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
    };
    names.into_iter().any(is_it)
}

/// Where Hermes keeps the boards of a root, as its configuration says it, unless that is SQLite. A `kanban.db` that still lies
/// there is an old copy then.
pub fn foreign_storage(root: &Path) -> Option<String> {
    // Most configurations do not name it, and this is asked for each board that is opened.
    let text = untrusted_file::text(&root.join("config.yaml")).filter(|text| text.contains("storage"))?;
    let documents = Yaml::load_from_str(&text).unwrap_or_default();
    let storage = documents.first()?.as_mapping_get("kanban")?.as_mapping_get("storage")?;
    let backend = storage.as_mapping_get("backend")?.as_str()?.trim().to_lowercase();
    (!backend.is_empty() && backend != "sqlite").then(|| quote::inline(&backend, 60))
}

/// What each of several boards is called: its name, or its file where another one has that name, as the default boards of two Hermes
/// roots have.
pub fn names(ids: &[BoardId]) -> Vec<String> {
    let is_shared = |name: &str| ids.iter().filter(|id| id.name() == name).count() > 1;
    ids.iter().map(|id| if is_shared(&id.name()) { id.address() } else { id.name() }).collect()
}

/// Whether there is no board of this name any more: its folder is gone, or Hermes archived it. `name`: its slug, else its file.
pub fn is_gone(root: Option<&Path>, name: &str) -> bool {
    let is_absent = |path: &Path| path.try_exists().is_ok_and(|there| !there);
    if !is_slug(name) {
        return Path::new(name).parent().is_some_and(is_absent);
    }
    let Some(root) = root else { return false };
    let folder = boards(root).join(name);
    match name {
        "default" => is_absent(root),
        // A folder of boards that is not there may be a disk that is not mounted.
        _ => is_archived(&folder.join("board.json")) || (is_absent(&folder) && boards(root).is_dir()),
    }
}

fn is_archived(board_json: &Path) -> bool {
    let Some(text) = untrusted_file::text(board_json) else { return false };
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    parsed.get("archived").and_then(serde_json::Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_told_its_board_by_hermes_or_by_us() {
        let found = |vars: &[(&str, &str)]| {
            let env = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            find(&Which::default(), &env).map(|found| found[0].at.to_string()).ok()
        };
        assert_eq!(found(&[("WATCHBILL_DB", "/b.db")]).as_deref(), Some("/b.db"));
        let both = [("WATCHBILL_DB", "/b.db"), ("HERMES_KANBAN_DB", "/a.db")];
        assert_eq!(found(&both).as_deref(), Some("/a.db"), "the nearer one");
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn the_default_board_is_named_where_hermes_works_on_another() {
        let root = tempfile::tempdir().unwrap();
        let id = |slug: Option<&str>| BoardId {
            at: "/b.db".into(),
            slug: slug.map(str::to_owned),
            root: Some(root.path().to_owned()),
        };
        let kanban = root.path().join("kanban");
        std::fs::create_dir(&kanban).unwrap();
        for (current, want) in
            [(None, false), (Some("default\n"), false), (Some("work\n"), true), (Some("../x"), false)]
        {
            if let Some(text) = current {
                std::fs::write(kanban.join("current"), text).unwrap();
            }
            assert_eq!(is_switched_from(&id(Some("default"))), want, "{current:?}");
            assert!(!is_switched_from(&id(Some("work"))) && !is_switched_from(&id(None)), "{current:?}");
        }
        assert!(!is_switched_from(&BoardId { root: None, ..id(Some("default")) }));
    }

    #[test]
    fn boards_of_one_name_are_called_by_their_files() {
        let id = |path: &str, slug: Option<&str>| BoardId {
            at: path.into(),
            slug: slug.map(str::to_owned),
            root: None,
        };
        let default = |root: &str| id(&format!("{root}/kanban.db"), Some("default"));
        let named = |ids: &[BoardId]| names(ids).join(" ");
        assert_eq!(named(&[default("/a"), id("/a/side.db", Some("side"))]), "default side");
        let two = [default("/a"), id("/a/side.db", Some("side")), default("/b"), id("/c.db", None)];
        assert_eq!(named(&two), "/a/kanban.db side /b/kanban.db /c.db");
    }

    #[test]
    fn a_board_whose_file_is_lost_is_a_board_until_it_is_archived() {
        let dir = tempfile::tempdir().unwrap();
        let (root, boards) = (dir.path(), dir.path().join("kanban/boards"));
        let about = |slug: &str, text: &str| {
            std::fs::create_dir_all(boards.join(slug)).unwrap();
            std::fs::write(boards.join(slug).join("board.json"), text).unwrap();
        };
        about("lost", "{\"archived\": false}");
        about("empty", "{}");
        about("old", "{\"archived\": true}");
        std::fs::write(boards.join("empty/kanban.db"), "").unwrap();
        std::fs::create_dir(boards.join("none")).unwrap();
        std::fs::create_dir(boards.join("away")).unwrap();
        std::os::unix::fs::symlink("/nowhere/kanban.db", boards.join("away/kanban.db")).unwrap();
        std::fs::create_dir_all(boards.join("_archived/away-for-good-1764255600-1")).unwrap();
        let slugs = ["default", "none", "old", "gone", "away-for-good", "Not A Slug"];
        let mut seen = BTreeSet::from(slugs.map(|slug| db_path(root, slug)));
        seen.insert("/elsewhere/kanban.db".into());
        let names = |seen: &BTreeSet<PathBuf>| {
            all_under(root, seen).into_iter().filter_map(|id| id.slug).collect::<Vec<_>>()
        };
        assert_eq!(names(&BTreeSet::new()), ["away", "empty", "lost"]);
        assert_eq!(
            names(&seen),
            ["default", "away", "empty", "gone", "lost", "none"],
            "what earlier passes looked at"
        );
        let gone = |name: &str| is_gone(Some(root), name);
        for (name, want) in
            [("lost", false), ("empty", false), ("old", true), ("removed", true), ("default", false)]
        {
            assert_eq!(gone(name), want, "{name}");
        }
        let file = |name: &str| root.join(name).display().to_string();
        assert!(!gone(&file("own.db")) && gone(&file("removed/own.db")));
        std::fs::remove_dir_all(&boards).unwrap();
        assert!(!gone("lost"), "perhaps its disk is not mounted");
        let left = ["default", "away-for-good", "gone", "none", "old"];
        assert_eq!(names(&seen), left, "all that passes looked at, where nothing says that it was put away");
        std::fs::remove_dir_all(root).unwrap();
        assert_eq!((names(&seen), names(&BTreeSet::new()).len()), (left.map(str::to_owned).to_vec(), 0));
    }

    #[test]
    fn a_root_that_is_named_and_not_there_is_found_beside_another_board() {
        let dir = tempfile::tempdir().unwrap();
        let (own, root) = (dir.path().join("own.db"), dir.path().join("gone"));
        std::fs::write(&own, "x").unwrap();
        let found = |root: Option<&Path>, env: Env<'_>| {
            let which = Which {
                root: root.map(Path::to_path_buf),
                configured: Some(Location::File(own.clone())),
                ..Which::default()
            };
            let all = find(&which, env).unwrap().into_iter();
            all.map(|id| id.file().unwrap().file_name().unwrap().to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let home = dir.path().display().to_string();
        let gone = root.display().to_string();
        let set = |name: &str| (name == "HERMES_HOME").then(|| gone.clone());
        assert_eq!(found(None, &set), ["gone", "own.db"]);
        assert_eq!(found(Some(&root), &|_| None), ["gone", "own.db"]);
        assert_eq!(
            found(None, &|name| (name == "HOME").then(|| home.clone())),
            ["own.db"],
            "nobody named it"
        );
        std::fs::create_dir(&root).unwrap();
        assert_eq!(found(None, &set), ["own.db"]);
    }

    #[test]
    fn two_names_of_one_file_are_one_board() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::write(root.join("kanban.db"), "x").unwrap();
        std::fs::write(root.join("own.db"), "x").unwrap();
        std::os::unix::fs::symlink(root.join("kanban.db"), root.join("link.db")).unwrap();
        let at = |name: &str| Location::File(root.join(name));
        let here = || Which { root: Some(root.to_path_buf()), ..Which::default() };
        let names = |which: &Which| {
            let ids = find(which, &|_| None).unwrap();
            ids.iter()
                .map(BoardId::name)
                .map(|n| n.rsplit('/').next().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        for (configured, want) in [
            ("kanban.db", &["default"][..]),
            ("../link.db", &["default", "link.db"]),
            ("link.db", &["default"]),
            ("own.db", &["default", "own.db"]),
        ] {
            assert_eq!(names(&Which { configured: Some(at(configured)), ..here() }), want, "{configured}");
        }
        let db = ["own.db", "./own.db", "link.db", "kanban.db", "gone.db"].map(at).to_vec();
        assert_eq!(names(&Which { db, ..Which::default() }), ["own.db", "link.db", "gone.db"]);
    }

    #[test]
    fn a_root_is_where_anything_else_of_hermes_lies() {
        for (beside, is_root) in [
            ("kanban/", true),
            ("profiles/", true),
            ("config.yaml", true),
            ("logs/", false),
            ("notes.txt", false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let (root, db) = (dir.path(), dir.path().join("kanban.db"));
            std::fs::write(&db, "x").unwrap();
            match beside.strip_suffix('/') {
                Some(folder) => std::fs::create_dir(root.join(folder)).unwrap(),
                None => std::fs::write(root.join(beside), "").unwrap(),
            }
            let found = find(&Which { db: vec![db.into()], ..Which::default() }, &|_| None).unwrap();
            assert_eq!(found[0].root.as_deref(), is_root.then_some(root), "{beside}");
        }
    }

    #[test]
    fn each_task_has_one_log_in_the_folder() {
        let folder = Path::new("/x/logs");
        let name = |id: &str| {
            let path = log_file(folder, id);
            assert_eq!(path.parent(), Some(folder), "{id}");
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        for (id, want) in [
            ("t_1a2b3c4d", "t_1a2b3c4d.log"),
            ("PROJ-12", "PROJ-12.log"),
            ("owner/repo#12", "owner%2Frepo#12.log"),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.log"),
            ("a%2Fb", "a%252Fb.log"),
            ("a\0b", "a%00b.log"),
            ("", ".log"),
        ] {
            assert_eq!(name(id), want);
        }
        let long = [name(&"ä".repeat(300)), name(&"ä".repeat(301))];
        assert!(long[0] != long[1] && long.iter().all(|n| n.len() <= MAX_NAME + 4), "{long:?}");
    }
}
