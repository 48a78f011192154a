//! A server that is some way off: what is sent to it and what it answers takes its time. It counts the round trips.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::server::Place;

/// What a client says as it leaves. It waits for no answer.
const LEAVE: &[u8] = b"X\0\0\0\x04";

/// The end of a transaction: one that only read waits for no answer either.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|w| w == word.as_bytes())
}

/// The way to a server.
pub struct Distance {
    folder: tempfile::TempDir,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    round_trips: AtomicUsize,
    down: AtomicUsize,
}

impl Distance {
    /// A way to the server with this socket: a round trip on it takes so long.
    pub fn to(server: &Path, round_trip: Duration) -> Distance {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let (server, counts) = (server.join(".s.PGSQL.5432"), Arc::new(Counts::default()));
        let its = counts.clone();
        // Ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, UnixStream::connect(&server)) else { continue };
                let (counts, its) = (its.clone(), its.clone());
                let answered = Arc::new(AtomicBool::new(true));
                let (asks, reads) = (answered.clone(), AtomicBool::new(false));
                let up = (client.try_clone().unwrap(), server.try_clone().unwrap());
                carry(up.0, up.1, round_trip / 2, move |bytes| {
                    for (word, only) in [("READ ONLY", true), ("READ COMMITTED", false)] {
                        if holds(bytes, word) {
                            reads.store(only, Ordering::SeqCst);
                        }
                    }
                    let waits = bytes != LEAVE && !(bytes == COMMIT && reads.load(Ordering::SeqCst));
                    if waits && asks.swap(false, Ordering::SeqCst) {
                        counts.round_trips.fetch_add(1, Ordering::SeqCst);
                    }
                });
                carry(server, client, round_trip / 2, move |bytes| {
                    answered.store(true, Ordering::SeqCst);
                    its.down.fetch_add(bytes.len(), Ordering::SeqCst);
                });
            }
        });
        Distance { folder, counts }
    }

    /// The address of a board over this way.
    pub fn url(&self, place: &Place<'_>) -> String {
        let encoded = |path: &Path| path.display().to_string().replace('/', "%2F");
        place.url.replace(&encoded(&place.server.folder), &encoded(self.folder.path()))
    }

    /// How many round trips there were since it was asked last, and how many bytes of answers.
    pub fn counted(&self) -> (usize, usize) {
        (self.counts.round_trips.swap(0, Ordering::SeqCst), self.counts.down.swap(0, Ordering::SeqCst))
    }
}

/// Carries what comes from one to the other, each byte so much later.
fn carry(mut from: UnixStream, mut to: UnixStream, delay: Duration, sees: impl Fn(&[u8]) + Send + 'static) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(n @ 1..) = from.read(&mut bytes) {
            sees(&bytes[..n]);
            if sender.send((Instant::now() + delay, bytes[..n].to_vec())).is_err() {
                break;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, bytes) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        _ = to.shutdown(Shutdown::Both);
    });
}
