//! Claude Code and Codex from the npm registry, pinned and installed once.

use std::path::PathBuf;
use std::process::Command;

use crate::installed::Package;

/// The versions whose logs the readers were made after.
const VERSIONS: [&str; 2] = ["@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.169.0"];
const AGENTS: Package<'_> = Package {
    folder: "agents-claude-2.1.197-codex-0.169.0",
    variable: "WATCHBILL_AGENTS",
    needs: "node and npm",
};

/// The folder with `claude` and `codex` in it, filled on first use. `None` where they were asked to be left out.
pub fn programs() -> Option<PathBuf> {
    let home = AGENTS.home(|home| {
        // Scripts of packages are off: whether they run by themselves depends on the version of npm. The one that is needed
        // puts the program of this machine in its place.
        let flags = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
        let mut npm = Command::new("npm");
        npm.args(flags).arg(home).args(VERSIONS).current_dir(home);
        let mut node = Command::new("node");
        node.arg(home.join("node_modules/@anthropic-ai/claude-code/install.cjs"));
        vec![npm, node]
    })?;
    Some(home.join("node_modules/.bin"))
}
