//! The files of a release, as `contrib/release` packs them. It is given a program that was built already: to build takes minutes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{place, programs, text};
use crate::support::{program, ran};

/// The files of a release.
pub struct Packed {
    folder: TempDir,
}

impl Packed {
    /// Packs the `watchbill` of this build, without what a debugger needs.
    #[track_caller]
    pub fn new(arguments: &[&str]) -> Packed {
        let folder = tempfile::tempdir().unwrap();
        let built = folder.path().join("built");
        fs::create_dir(&built).unwrap();
        ran(Command::new("strip").arg("-o").arg(built.join("watchbill")).arg(program("watchbill"))).ok();
        let mut release = Command::new(place("contrib/release"));
        release.args(arguments).arg("--programs").arg(&built).arg("--out").arg(folder.path().join("out"));
        ran(&mut release).ok();
        Packed { folder }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// The names of the files, sorted.
    fn names(&self) -> BTreeSet<String> {
        fs::read_dir(self.out()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// The one file whose name ends so.
    #[track_caller]
    pub fn file(&self, end: &str) -> PathBuf {
        let names = self.names();
        let found: Vec<&String> = names.iter().filter(|name| name.ends_with(end)).collect();
        assert_eq!(found.len(), 1, "{end} of {names:?}");
        self.out().join(found[0])
    }

    /// A new folder with what a file holds.
    #[track_caller]
    fn unpacked(&self, end: &str) -> PathBuf {
        let (file, to) = (self.file(end), self.folder.path().join(format!("in{end}")));
        fs::create_dir(&to).unwrap();
        match end {
            ".deb" => ran(Command::new("dpkg-deb").arg("-x").args([&file, &to])),
            _ => ran(Command::new("tar").arg("-xf").arg(&file).arg("-C").arg(&to)),
        }
        .ok();
        to
    }
}

/// The name of the only entry of a folder.
#[track_caller]
fn only(folder: &Path) -> String {
    let mut all = fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
    let first = all.next().unwrap();
    assert_eq!(all.next(), None, "{} has more than one entry", folder.display());
    first
}

#[test]
fn two_packings_are_the_same_bytes_and_hold_what_is_installed() {
    let (one, other) = (Packed::new(&[]), Packed::new(&[]));
    assert_eq!(one.names(), other.names());
    for name in one.names() {
        let [a, b] = [&one, &other].map(|packed| fs::read(packed.out().join(&name)).unwrap());
        assert!(a == b, "{name} differs");
    }
    let checked = ran(Command::new("sha256sum").arg("-c").arg("SHA256SUMS").current_dir(one.out())).ok();
    let mut wanted = one.names();
    wanted.remove("SHA256SUMS");
    assert_eq!(checked.lines().count(), wanted.len(), "{checked}");
    assert!(wanted.iter().all(|name| checked.contains(&format!("{name}: OK"))), "{checked}");
    holds_what_is_installed(&one);
    binstall_finds_the_programs(&one);
}

/// Archive and package hold the same, and each program starts.
#[track_caller]
fn holds_what_is_installed(packed: &Packed) {
    let (archive, package) = (packed.unpacked(".tar.gz"), packed.unpacked(".deb"));
    let prefix = archive.join(only(&archive));
    ran(Command::new("diff").arg("-r").args([&prefix, &package.join("usr")])).ok();
    let version = env!("CARGO_PKG_VERSION");
    for name in programs() {
        let said = ran(Command::new(package.join("usr/bin").join(&name)).arg("--version")).ok();
        assert_eq!(said.trim(), format!("{name} {version}"));
        for file in [
            format!("share/man/man1/{name}.1"),
            format!("share/bash-completion/completions/{name}.bash"),
            format!("share/zsh/vendor-completions/_{name}"),
            format!("share/fish/vendor_completions.d/{name}.fish"),
        ] {
            assert!(prefix.join(&file).is_file(), "{file}");
        }
    }
    for file in [
        "lib/systemd/user/watchbill-run.timer",
        "lib/systemd/system/watchbill-.service.d/hardening.conf",
        "share/doc/watchbill/LICENSE",
        "share/doc/watchbill/examples/Containerfile",
    ] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
    // Whichever user packed it, in whatever order the folder gave: root owns all, in the order of the names.
    let listed = ran(Command::new("tar").arg("-tvf").arg(packed.file(".tar.gz"))).ok();
    assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");
    let names = ran(Command::new("tar").arg("-tf").arg(packed.file(".tar.gz"))).ok();
    let names: Vec<&str> = names.lines().map(|line| line.trim_end_matches('/')).collect();
    assert!(names.is_sorted(), "{names:?}");
    // dpkg can say later what was changed.
    let control = packed.folder.path().join("control");
    ran(Command::new("dpkg-deb").arg("-e").args([&packed.file(".deb"), &control])).ok();
    ran(Command::new("md5sum").args(["--quiet", "-c"]).arg(control.join("md5sums")).current_dir(&package))
        .ok();
    let about = fs::read_to_string(control.join("control")).unwrap();
    assert!(about.contains("\nDepends: libc6 (>= 2."), "{about}");
    let executable = fs::metadata(control.join("prerm")).unwrap().mode() & 0o777;
    assert_eq!(executable, 0o755);
}

/// Each program is where the manifest tells `cargo binstall`.
#[track_caller]
fn binstall_finds_the_programs(packed: &Packed) {
    let manifest: toml::Value = toml::from_str(&text("Cargo.toml")).unwrap();
    let told = &manifest["package"]["metadata"]["binstall"];
    let archive = packed.file("-programs.tar.xz");
    let version = env!("CARGO_PKG_VERSION");
    let name = archive.file_name().unwrap().to_str().unwrap();
    let start = format!("watchbill-{version}-");
    let target = name.strip_prefix(&start).unwrap().strip_suffix("-programs.tar.xz").unwrap();
    let meant = |key: &str, bin: &str| {
        let filled = [("name", "watchbill"), ("version", version), ("target", target), ("bin", bin)];
        let template = told[key].as_str().unwrap().to_owned();
        filled.iter().fold(template, |text, (of, with)| text.replace(&format!("{{ {of} }}"), with))
    };
    assert!(meant("pkg-url", "").ends_with(&format!("/v{version}/{name}")), "{}", meant("pkg-url", ""));
    let folder = packed.unpacked("-programs.tar.xz");
    for bin in programs() {
        // cargo-binstall unpacks files alone, neither links nor hard links.
        let file = folder.join(meant("bin-dir", &bin));
        let is = fs::symlink_metadata(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        assert!(is.is_file() && is.nlink() == 1, "{}", file.display());
        let said = ran(Command::new(&file).arg("--version")).ok();
        assert_eq!(said.trim(), format!("{bin} {version}"));
    }
}

#[test]
fn a_release_says_what_it_cannot_make() {
    let release = |arguments: &[&str]| ran(Command::new(place("contrib/release")).args(arguments)).fails(1);
    let said = release(&["--target", "pdp11-unknown-unix"]);
    assert!(said.contains("no target pdp11-unknown-unix; there are x86_64-unknown-linux-gnu, "), "{said}");
    let full = tempfile::tempdir().unwrap();
    fs::write(full.path().join("older"), "").unwrap();
    let said = release(&["--programs", "/nonexistent", "--out", full.path().to_str().unwrap()]);
    assert!(said.contains("is not empty"), "{said}");
}
