//! The Debian package. It is put together here from the list in Cargo.toml that cargo-deb reads: building that program
//! takes minutes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Machine, all_passed, drop_in, hurry};
use crate::support::{program, ran};

/// The package of this version in `folder`.
fn package(folder: &Path, version: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(here.join("Cargo.toml")).unwrap();
    let deb = manifest.split("[package.metadata.deb]").nth(1).unwrap();
    let assets = deb.split("assets = [").nth(1).unwrap().split("\n]").next().unwrap();
    let root = folder.join(version);
    for line in assets.lines().filter(|l| l.contains('"')) {
        let words: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        let (from, to, mode) = (words[0], words[1], words[2]);
        // The programs of this test's build stand for those of a release.
        let built = from.strip_prefix("target/release/").map(|name| PathBuf::from(program(name)));
        let pattern = built.unwrap_or_else(|| here.join(from));
        // `to` is a folder where it ends in a slash, as for cargo-deb.
        let line = format!(
            "mkdir -p \"$(dirname {0}/x)\" && for f in {1}; do
                 if [ -L \"$f\" ]; then cp -P \"$f\" {0}{2}; else install -Dm {mode} \"$f\" {0}{2}; fi; done",
            root.join(to).display(),
            pattern.display(),
            if to.ends_with('/') { "/" } else { "" },
        );
        ran(Command::new("sh").args(["-ec", &line])).ok();
    }
    let scripts = deb.split("maintainer-scripts = \"").nth(1).unwrap().split('"').next().unwrap();
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control).unwrap();
    let text = format!(
        "Package: watchbill\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\nDescription: test\n"
    );
    fs::write(control.join("control"), text).unwrap();
    ran(Command::new("sh")
        .args(["-ec", &format!("install -m 755 {}/* {}", here.join(scripts).display(), control.display())]))
    .ok();
    let file = folder.join(format!("{version}.deb"));
    ran(Command::new("dpkg-deb").args(["-b", "-Znone"]).arg(&root).arg(&file)).ok();
    file
}

#[test]
fn installed_upgraded_and_removed_with_its_timers_on() {
    let Some(m) = Machine::boot() else { return };
    let folder = tempfile::tempdir().unwrap();
    for version in ["1.0", "1.1"] {
        let to = format!("{}/root/{version}.deb", m.folder);
        fs::copy(package(folder.path(), version), to).unwrap();
    }
    // The programs of the package, not those that the machine has for the other tests.
    m.root("rm /usr/local/bin/*; dpkg -i /root/1.0.deb");
    assert_eq!(
        m.root("systemctl list-units --all --plain --no-legend 'watchbill-*'"),
        "",
        "nothing starts by itself"
    );
    // One executable and six links to it, each the program of its name.
    let links = "cd /usr/bin && find . -type l -lname watchbill | wc -l; heal --version; board --help | head -1; command -v coord";
    let said = m.root(links);
    let version = env!("CARGO_PKG_VERSION");
    let about = "Read and change tasks on a board, as a worker or the operator";
    assert_eq!(said.trim(), format!("6\nheal {version}\n{about}\n/usr/bin/coord"));
    // Pictures that the README shows lie where it says.
    let shown = "cd /usr/share/doc/watchbill; grep -o '(docs/[^)]*[.]png)' README.md | tr -d '()' | xargs ls";
    assert!(m.root(shown).contains(".png"));
    // What the units alone are given is said.
    m.root("echo WATCHBILL_HOST_PID_NAMESPACE=same > /etc/default/watchbill");
    let told = m.root("watchbill doctor --hermes-root /home/anna/.hermes || true");
    assert!(told.contains("config-differs") && told.contains("WATCHBILL_HOST_PID_NAMESPACE"), "{told}");
    m.root("rm /etc/default/watchbill");
    m.root(&format!(
        "{} for w in heal synthesize-distress route-blocked budget-check; do mkdir -p /etc/systemd/system/watchbill-$w.service.d
         printf '%s' '{}' > /etc/systemd/system/watchbill-$w.service.d/override.conf
         systemctl enable -q --now watchbill-$w.timer; done",
        hurry("/etc/systemd/system"),
        drop_in()
    ));
    let _ = m.until("anna", "watchbill timers status", all_passed);
    m.root("dpkg -i /root/1.1.deb");
    let timers = "systemctl list-units --state=active --plain --no-legend 'watchbill-*.timer' | wc -l";
    assert_eq!(m.root(timers).trim(), "4", "an upgrade leaves them on");
    assert!(!m.root("systemctl status watchbill-heal.timer 2>&1 || true").contains("daemon-reload"));
    m.root("dpkg -r watchbill");
    let left = m.root(
        "systemctl list-units --all --plain --no-legend 'watchbill-*'; systemctl --failed --plain --no-legend
         ls /etc/systemd/system/timers.target.wants | grep watchbill || true",
    );
    assert_eq!(left, "", "nothing runs, nothing failed, nothing is wanted any more");
}
