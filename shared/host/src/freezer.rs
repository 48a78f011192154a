//! Processes that the kernel's freezer holds (`docker pause`, `systemctl freeze`, a job scheduler): they live and do nothing, and a signal, also
//! SIGKILL in the first version of cgroups, has its effect only once they go on. Their state in `/proc/PID/stat` is that of one that sleeps.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The cgroup that holds a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// Its folder.
    pub cgroup: String,
    /// The file in it that lets its processes go on, and what is to be written there.
    pub thaw: (String, String),
}

/// The two versions of cgroups; a machine may have both (cgroups(7)).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The frozen cgroup of a process; `None` also where nothing tells.
pub(super) fn frozen(proc: &Path, pid: i64) -> Option<Frozen> {
    let groups = fs::read_to_string(proc.join(pid.to_string()).join("cgroup")).ok()?;
    let mounts = fs::read_to_string(proc.join("self/mountinfo")).ok()?;
    groups.lines().find_map(|line| {
        let (version, path) = group(line)?;
        let (mount, root) = mounts.lines().find_map(|line| mounted(line, version))?;
        held(version, mount, Path::new(path).strip_prefix(root).ok()?)
    })
}

/// A line of `/proc/PID/cgroup`, where its hierarchy freezes.
fn group(line: &str) -> Option<(Version, &str)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    match controllers {
        "" => Some((Version::Two, path)),
        _ if controllers.split(',').any(|c| c == "freezer") => Some((Version::One, path)),
        _ => None,
    }
}

/// Where a line of mountinfo mounts such a hierarchy, and which cgroup of it that is.
fn mounted(line: &str, version: Version) -> Option<(&Path, &str)> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1).unwrap_or_default());
    let is_it = match version {
        Version::One => name == "cgroup" && options.split(',').any(|o| o == "freezer"),
        Version::Two => name == "cgroup2",
    };
    let mut fields = mount.split(' ').skip(3);
    let (root, at) = (fields.next()?, fields.next()?);
    is_it.then_some((Path::new(at), root))
}

/// The cgroup below this mount that holds what is in `path`: that one, or one above it.
fn held(version: Version, mount: &Path, path: &Path) -> Option<Frozen> {
    let word = |at: &Path, file: &str| fs::read_to_string(at.join(file)).unwrap_or_default();
    let is = |at: &Path, file: &str, want: &str| word(at, file).trim() == want;
    let (asked, file, thawed) = match version {
        Version::One => ("freezer.self_freezing", "freezer.state", "THAWED"),
        Version::Two => ("cgroup.freeze", "cgroup.freeze", "0"),
    };
    let folder = |path: &Path| if path == Path::new("") { mount.to_owned() } else { mount.join(path) };
    let own = folder(path);
    let is_held = match version {
        Version::One => matches!(word(&own, "freezer.state").trim(), "FROZEN" | "FREEZING"),
        Version::Two => word(&own, "cgroup.events").lines().any(|line| line == "frozen 1"),
    };
    let above = path.ancestors().map(folder).find(|at| is(at, asked, "1"));
    let at: PathBuf = above.or_else(|| is_held.then_some(own))?;
    let thaw = (at.join(file).to_str()?.to_owned(), thawed.to_owned());
    Some(Frozen { cgroup: at.to_str()?.to_owned(), thaw })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose process 42 is in this cgroup, with these files below where cgroups are mounted.
    fn machine(groups: &str, mounts: &[(&str, &str, &str)], files: &[(&str, &str)]) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let at = dir.path().join(name);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, text).unwrap();
        };
        put("proc/42/cgroup", groups);
        let line = |(root, at, kind): &(&str, &str, &str)| {
            format!("30 22 0:26 {root} {}/{at} rw,nosuid shared:4 - {kind}\n", dir.path().display())
        };
        put("proc/self/mountinfo", &mounts.iter().map(line).collect::<String>());
        files.iter().for_each(|(name, text)| put(name, text));
        let frozen = frozen(&dir.path().join("proc"), 42)?;
        assert!(frozen.thaw.0.starts_with(&format!("{}/", frozen.cgroup)), "{frozen:?}");
        let (file, word) = frozen.thaw;
        Some(format!("{word} > {}", Path::new(&file).strip_prefix(dir.path()).unwrap().display()))
    }

    #[test]
    fn what_a_frozen_cgroup_holds() {
        const TWO: &[(&str, &str, &str)] = &[("/", "cg", "cgroup2 cgroup2 rw")];
        const ONE: &[(&str, &str, &str)] =
            &[("/", "cpu", "cgroup cgroup rw,cpu"), ("/", "fr", "cgroup cgroup rw,freezer")];
        let both: &[_] = &[ONE, TWO].concat();
        for (groups, mounts, files, want) in [
            // By itself, by one above it, and while it is only being frozen.
            (
                "0::/a/b\n",
                TWO,
                &[("cg/a/b/cgroup.freeze", "1\n"), ("cg/a/b/cgroup.events", "populated 1\nfrozen 1\n")][..],
                Some("0 > cg/a/b/cgroup.freeze"),
            ),
            (
                "0::/a/b\n",
                TWO,
                &[
                    ("cg/a/b/cgroup.freeze", "0\n"),
                    ("cg/a/b/cgroup.events", "frozen 1\n"),
                    ("cg/a/cgroup.freeze", "1\n"),
                ],
                Some("0 > cg/a/cgroup.freeze"),
            ),
            ("0::/a\n", TWO, &[("cg/a/cgroup.freeze", "1\n")], Some("0 > cg/a/cgroup.freeze")),
            // What holds it is not seen from here.
            ("0::/a\n", TWO, &[("cg/a/cgroup.events", "frozen 1\n")], Some("0 > cg/a/cgroup.freeze")),
            (
                "0::/a\n",
                TWO,
                &[("cg/a/cgroup.freeze", "0\n"), ("cg/a/cgroup.events", "populated 1\nfrozen 0\n")],
                None,
            ),
            ("0::/\n", TWO, &[], None),
            // The first version.
            (
                "6:freezer:/c\n1:cpu:/\n",
                ONE,
                &[("fr/c/freezer.state", "FROZEN\n"), ("fr/c/freezer.self_freezing", "1\n")],
                Some("THAWED > fr/c/freezer.state"),
            ),
            (
                "6:perf,freezer:/c/d\n",
                ONE,
                &[
                    ("fr/c/d/freezer.state", "FROZEN\n"),
                    ("fr/c/d/freezer.self_freezing", "0\n"),
                    ("fr/c/freezer.self_freezing", "1\n"),
                ],
                Some("THAWED > fr/c/freezer.state"),
            ),
            (
                "6:freezer:/c\n",
                ONE,
                &[("fr/c/freezer.state", "FREEZING\n")],
                Some("THAWED > fr/c/freezer.state"),
            ),
            ("6:freezer:/c\n", ONE, &[("fr/c/freezer.state", "THAWED\n")], None),
            // Both, of which either may freeze it.
            ("6:freezer:/\n0::/a\n", both, &[("cg/a/cgroup.freeze", "1\n")], Some("0 > cg/a/cgroup.freeze")),
            (
                "6:freezer:/c\n0::/a\n",
                both,
                &[("fr/c/freezer.state", "FROZEN\n")],
                Some("THAWED > fr/c/freezer.state"),
            ),
            // A part of the hierarchy alone is mounted, and it is not there.
            (
                "0::/docker/x\n",
                &[("/docker/x", "cg", "cgroup2 cgroup2 rw")],
                &[("cg/cgroup.freeze", "1\n")],
                Some("0 > cg/cgroup.freeze"),
            ),
            (
                "0::/docker/y\n",
                &[("/docker/x", "cg", "cgroup2 cgroup2 rw")],
                &[("cg/cgroup.freeze", "1\n")],
                None,
            ),
            ("0::/../y\n", TWO, &[("cg/y/cgroup.freeze", "0\n")], None),
            // Nothing tells.
            ("0::/a\n", &[], &[("cg/a/cgroup.freeze", "1\n")], None),
            ("", TWO, &[("cg/a/cgroup.freeze", "1\n")], None),
            ("0\n:\n", TWO, &[("cg/cgroup.freeze", "1\n")], None),
        ] {
            assert_eq!(machine(groups, mounts, files).as_deref(), want, "{groups:?} {files:?}");
        }
        assert_eq!(frozen(Path::new("/nonexistent"), 42), None);
    }
}
