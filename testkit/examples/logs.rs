//! How fast a long log is read, and how little of it: `cargo run --release -p watchbill-testkit --example logs [MiB]`.
//!
//! Makes a worker log (1,024 MiB unless given) under the temporary directory, reads it as a watcher does and from end to end,
//! and prints seconds, bytes read and ratios. The bytes are those the kernel counts for this process (`rchar` of
//! `/proc/self/io`). `rg` is measured where it is installed.

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use shared::cache::Cache;
use shared::logs::file::{Ask, Of, read, read_all};
use shared::time::Time;

const NOW: Time = Time(4_000_000_000);

fn main() -> Result<(), Box<dyn Error>> {
    let mib: u64 = std::env::args().nth(1).map_or(Ok(1024), |n| n.parse())?;
    let dir = tempfile::tempdir()?;
    let log = dir.path().join("t_1.log");
    let mut file = BufWriter::new(File::create(&log)?);
    fill(&mut file, mib << 20)?;
    file.into_inner()?;
    let size = fs::metadata(&log)?.len();
    let mut out = std::io::stdout();

    // The state goes through its file, as from one pass to the next.
    let state = dir.path().join("state.db");
    let mut cache = Cache::open(Some(state.clone()));
    let (first, first_bytes) = pass(&log, &mut cache)?;
    cache.save();
    let mut cache = Cache::open(Some(state.clone()));
    pass(Path::new("/proc/self/none"), &mut cache)?;
    let (again, again_bytes) = pass(&log, &mut cache)?;
    fill(&mut OpenOptions::new().append(true).open(&log)?, 1 << 20)?;
    let (grown, grown_bytes) = pass(&log, &mut cache)?;

    let mut lines = 0_u64;
    let mut signals = 0_u64;
    let begun = Instant::now();
    read_all(&log, Some("t_1"), NOW, &mut |_, said, _| {
        lines += 1;
        signals += said.len() as u64;
    })?;
    let whole = begun.elapsed().as_secs_f64();
    let rg = rg(&log);

    writeln!(out, "log                  {} MiB, {lines} lines, {signals} signals", size >> 20)?;
    writeln!(out, "first look           {:.6} s, {first_bytes} bytes", first)?;
    writeln!(out, "unchanged            {:.6} s, {again_bytes} bytes (state included)", again)?;
    writeln!(out, "1 MiB more           {:.6} s, {grown_bytes} bytes", grown)?;
    writeln!(out, "from end to end      {whole:.3} s, {:.0} MiB/s", size as f64 / whole / 1048576.0)?;
    writeln!(out, "from end to end      {:.0} times an unchanged pass", whole / again)?;
    match rg {
        Some(rg) => {
            writeln!(out, "rg -c 'HTTP 429'     {rg:.3} s; from end to end {:.1} times as long", whole / rg)?
        }
        None => writeln!(out, "rg                   not installed")?,
    }
    Ok(())
}

/// Seconds and bytes of one look at a log.
fn pass(log: &Path, cache: &mut Cache) -> Result<(f64, u64), Box<dyn Error>> {
    let before = bytes_read()?;
    let begun = Instant::now();
    read(&Ask { path: log, of: Of::Task("t_1"), since: Time(0), now: NOW }, cache);
    let took = begun.elapsed().as_secs_f64();
    // The count itself is read from a file, once on each side.
    let own = bytes_read()? - before;
    let idle = {
        let a = bytes_read()?;
        bytes_read()? - a
    };
    Ok((took, own.saturating_sub(idle)))
}

fn bytes_read() -> Result<u64, Box<dyn Error>> {
    let io = fs::read_to_string("/proc/self/io")?;
    let count = io.lines().find_map(|l| l.strip_prefix("rchar: ")).ok_or("no rchar in /proc/self/io")?;
    Ok(count.trim().parse()?)
}

/// Attempts of a worker as they look, one in ten of which is limited.
fn fill(out: &mut impl Write, bytes: u64) -> std::io::Result<()> {
    let tools: String = (0..200)
        .map(|i| format!("  ┊ 💻 $         cargo test --package p{i} -- --nocapture | tail -n 429  {i}.1s\n"))
        .collect();
    let answer = "╭─ ⚕ Hermes ───────────────╮\n    All 503 tests pass now, the author said.\n╰──────────────────────────╯\n";
    let failed = "⚠️  API call failed (attempt 2/2): RateLimitError [HTTP 429]\n   🔌 Provider: custom  Model: m1\n   🌐 Endpoint: http://127.0.0.1:1/v1\n   📝 Error: HTTP 429: slow down\n❌ Rate limited after 2 retries — HTTP 429: slow down\n   💀 Final error: HTTP 429: slow down\n";
    let mut written = 0;
    for n in 0.. {
        let end = if n % 10 == 0 { failed } else { answer };
        let text = format!(
            "Query: work kanban task t_1\nInitializing agent...\n{tools}{end}\nSession:        x\nDuration:       8s\nMessages:       400 (1 user, 200 tool calls)\n"
        );
        out.write_all(text.as_bytes())?;
        written += text.len() as u64;
        if written >= bytes {
            break;
        }
    }
    out.flush()
}

fn rg(log: &Path) -> Option<f64> {
    let run = || {
        let begun = Instant::now();
        let done =
            Command::new("rg").args(["-c", "HTTP 429"]).arg(log).stdout(Stdio::null()).status().ok()?;
        done.success().then(|| begun.elapsed().as_secs_f64())
    };
    // The first run warms the page cache for both.
    run()?;
    run()
}
