//! The Debian package, made by `contrib/release`.

use std::fs;

use super::{Machine, all_passed, drop_in, hurry};
use crate::contrib::release::Packed;

#[test]
fn installed_upgraded_and_removed_with_its_timers_on() {
    let Some(m) = Machine::boot() else { return };
    for version in ["1.0", "1.1"] {
        let to = format!("{}/root/{version}.deb", m.folder);
        fs::copy(Packed::new(&["--version", version]).file(".deb"), to).unwrap();
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
