//! The time of an attempt, and which lines of a log lie in it.

use serde::{Deserialize, Serialize};

use crate::session::Millis;
use base::time::Time;

/// How much earlier than the attempt's start a log may have been written last and still belong to it, in
/// seconds: the board and the file system round to whole seconds, each in its own way.
pub(crate) const SLACK_SECONDS: i64 = 2;

/// Seconds after an attempt's end within which its agent may still have written: a board ends a run before the process is
/// gone.
const AFTER_SECONDS: i64 = 120;

/// The time of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// The first and the last millisecond of it.
    pub(crate) from: Millis,
    pub(crate) to: Millis,
    /// The last millisecond at which a session of it may have started: what starts in the slack behind it is the next
    /// attempt's.
    pub(crate) starts: Millis,
}

/// Where a line lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum When {
    Before,
    Within,
    After,
}

impl Window {
    /// From an attempt's start to its end, or to the time of the pass while it runs, with some slack on both sides.
    /// Never past the start of the next attempt, which may go on in the same log.
    pub(crate) fn new(from: Time, to: Option<Time>, next: Option<Time>, now: Time) -> Window {
        let millis = |t: Time| Millis(t.0.saturating_mul(1_000));
        // Clocks of boards and files state whole seconds.
        let whole = |t: Time| Millis(millis(t).0.saturating_add(999));
        let last = whole(to.unwrap_or(now).plus(AFTER_SECONDS));
        // Where that one's slack begins, so that no line is in both.
        let before = |next: Time| Millis(millis(next.plus(-SLACK_SECONDS)).0.saturating_sub(1));
        let last = next.map_or(last, |next| last.min(before(next)));
        let starts = to.map_or(last, |to| whole(to.plus(SLACK_SECONDS)).min(last));
        Window { from: millis(from.plus(-SLACK_SECONDS)), to: last, starts }
    }

    pub(crate) fn when(&self, at: Millis) -> When {
        if at < self.from {
            When::Before
        } else if at > self.to {
            When::After
        } else {
            When::Within
        }
    }
}

/// Judges line by line. A line without a time lies where the one before it does; before any time is stated, within.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Clock {
    last: Option<When>,
    /// The oldest and the newest time that was counted, and the oldest that came too late: another end would judge them anew.
    first: Option<Millis>,
    counted: Option<Millis>,
    late: Option<Millis>,
    /// The oldest time of all.
    oldest: Option<Millis>,
}

impl Clock {
    pub(crate) fn judge(&mut self, at: Option<Millis>, window: &Window) -> When {
        if let Some(at) = at {
            self.oldest = Some(self.oldest.map_or(at, |oldest| oldest.min(at)));
            let when = window.when(at);
            self.last = Some(when);
            match when {
                When::Before => {}
                When::Within => {
                    self.first = Some(self.first.map_or(at, |first| first.min(at)));
                    self.counted = self.counted.max(Some(at));
                }
                When::After => self.late = Some(self.late.map_or(at, |late| late.min(at))),
            }
        }
        self.last.unwrap_or(When::Within)
    }

    /// Whether any line stated a time.
    pub(crate) fn is_dated(&self) -> bool {
        self.last.is_some()
    }

    /// When the oldest line that was counted was written.
    pub(crate) fn first(&self) -> Option<Millis> {
        self.first
    }

    /// When the oldest line was written.
    pub(crate) fn oldest(&self) -> Option<Millis> {
        self.oldest
    }

    /// Whether every line would be judged the same by this window, which starts where the last one did.
    pub(crate) fn fits(&self, window: &Window) -> bool {
        self.counted.is_none_or(|at| at <= window.to) && self.late.is_none_or(|at| at > window.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lie_within_by_their_time_or_the_one_before() {
        let window = Window::new(Time(100), Some(Time(200)), None, Time(900));
        let mut clock = Clock::default();
        for (at, want) in [
            (None, When::Within),
            (Some(97_999), When::Before),
            (None, When::Before),
            (Some(98_000), When::Within),
            (Some(320_999), When::Within),
            (Some(321_000), When::After),
            (None, When::After),
            (Some(150_000), When::Within),
        ] {
            assert_eq!(clock.judge(at.map(Millis), &window), want, "{at:?}");
        }
        let fits = |to| clock.fits(&Window::new(Time(100), Some(Time(to)), None, Time(900)));
        assert_eq!((fits(199), fits(200), fits(201)), (false, true, false));
        let running = Window::new(Time(0), None, None, Time(7));
        assert_eq!((running.to, running.starts), (Millis(127_999), Millis(127_999)));
        assert_eq!((window.starts, clock.first()), (Millis(202_999), Some(Millis(98_000))));
        assert_eq!(clock.oldest(), Some(Millis(97_999)));
        Window::new(Time(i64::MIN), Some(Time(i64::MAX)), Some(Time(i64::MIN)), Time(0));
    }
}
