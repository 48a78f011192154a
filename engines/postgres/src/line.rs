//! A line to a server: nobody waits on it for ever.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use base::error::Error;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Socket};

use crate::server::Fault;

/// How long it may take until a server accepts a connection, with TLS and a password.
const CONNECT: Duration = Duration::from_secs(10);

/// How long one statement may take on a server that answers.
pub(crate) const STATEMENT: Duration = Duration::from_secs(30);

/// How long an answer is waited for: until a server that works has ended the statement by itself, and a moment more.
const ANSWER: Duration = Duration::from_secs(35);

/// How long it may take to take leave of a server.
const LEAVE: Duration = Duration::from_secs(1);

/// A statement on its way.
pub(crate) type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + 'a>>;

type Driver = Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send>>;

/// A connection, which moves only while a statement waits for its answer.
pub(crate) struct Line {
    /// `None` only while it ends.
    runtime: Option<Runtime>,
    /// `None` before it stands and after it ended.
    driver: Option<Driver>,
    /// In what the database stores texts, as far as the server said so when it let us in.
    pub(crate) encoding: Option<String>,
}

impl Line {
    /// Connects, within [`CONNECT`].
    pub(crate) fn connect<T>(config: &Config, tls: T) -> Result<(Client, Line), Fault>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
    {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Fault::Ours(Error::io("the client of PostgreSQL", &e)))?;
        let mut line = Line { runtime: Some(runtime), driver: None, encoding: None };
        let (client, connection) = line.within(CONNECT, config.connect(tls))?;
        line.encoding = connection.parameter("server_encoding").map(str::to_owned);
        line.driver = Some(Box::pin(connection));
        Ok((client, line))
    }

    /// What the server answers, within [`ANSWER`].
    pub(crate) fn answer<T>(
        &mut self,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Fault> {
        self.within(ANSWER, asked)
    }

    /// What the server answers to all of these, which are sent one behind the other in one round trip. Of several faults the first one.
    pub(crate) fn answers<T>(&mut self, asked: Vec<Asked<'_, T>>) -> Result<Vec<T>, Fault> {
        let longest = ANSWER.saturating_mul(u32::try_from(asked.len()).unwrap_or(u32::MAX));
        let mut all: Vec<(Asked<'_, T>, Option<T>)> = asked.into_iter().map(|one| (one, None)).collect();
        let told = poll_fn(|cx| {
            let mut waits = false;
            for (asked, told) in all.iter_mut().filter(|(_, told)| told.is_none()) {
                match asked.as_mut().poll(cx) {
                    Poll::Ready(Ok(one)) => *told = Some(one),
                    Poll::Ready(Err(e)) => return Poll::Ready(Err(e)),
                    Poll::Pending => waits = true,
                }
            }
            if waits { Poll::Pending } else { Poll::Ready(Ok(())) }
        });
        self.within(longest, told)?;
        Ok(all.into_iter().filter_map(|(_, told)| told).collect())
    }

    /// Sends something whose answer changes nothing, and does not wait for it.
    pub(crate) fn send(&mut self, asked: impl Future) {
        let Line { runtime: Some(runtime), driver, .. } = self else { return };
        let mut asked = pin!(asked);
        runtime.block_on(poll_fn(|cx| {
            _ = asked.as_mut().poll(cx);
            if driver.as_mut().is_some_and(|driver| driver.as_mut().poll(cx).is_ready()) {
                *driver = None;
            }
            Poll::Ready(())
        }));
    }

    fn within<T>(
        &mut self,
        longest: Duration,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Fault> {
        let Line { runtime: Some(runtime), driver, .. } = self else { return Err(Fault::Silent) };
        let mut asked = pin!(asked);
        let told = runtime.block_on(async {
            let both = poll_fn(|cx| {
                // What ended the connection says more than that it is closed.
                if let Some(Poll::Ready(ended)) = driver.as_mut().map(|driver| driver.as_mut().poll(cx)) {
                    *driver = None;
                    if let Err(e) = ended {
                        return Poll::Ready(Err(e));
                    }
                }
                asked.as_mut().poll(cx)
            });
            timeout(longest, both).await
        });
        match told {
            Ok(told) => told.map_err(Fault::Server),
            Err(_) => {
                // No leave is taken of who does not listen.
                *driver = None;
                Err(Fault::Silent)
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if let Some(driver) = self.driver.take() {
            _ = runtime.block_on(async { timeout(LEAVE, driver).await });
        }
        // A name that is still being looked up is not waited for.
        runtime.shutdown_background();
    }
}
