//! What `watchbill notify` tells a target, and when. Pure.
//!
//! One message tells all that began or ended since the last one that was accepted. What a target was told stands in its
//! [`Book`], which is written before and after each message, so that a pass that is killed loses none. Where the answer to a
//! message was lost, the next one tells the same again and says so.

pub mod message;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::doctor::{FAILING, Failing};
use crate::needs::{Need, Now, PASSING, REFUSED, REPLACED, SPLIT, WITH, is_of_gateway, lasting};
use base::names::is_task_id;
use base::quote;
use base::reason::Reason;
use base::time::{HOUR, Time, words};
use config::NotifyKeys;
pub use message::Message;

/// The schema of a [`Book`].
pub const BOOK: &str = "watchbill.told/1";
/// Seconds for which something must be gone before it is told to be over. What comes back earlier is the same episode.
const SETTLED: i64 = 300;
/// Seconds for which some things must be so before they are told: until the next look, and no longer.
const LASTED: i64 = 90;
/// Seconds after which a person is told that something cannot be looked at.
const UNSEEN: i64 = 600;
/// Of so many things that cannot be looked at a message says why, and how much of each where there are several.
const MAX_NAMED: usize = 3;
const MAX_OF_ONE: usize = 100;
/// Seconds until a message that was not accepted is sent again. It doubles with each further try.
const RETRY: i64 = 60;
/// Where that doubling ends.
const MAX_RETRY: i64 = 1_800;

/// What a target was told. Kept between passes, one file a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Book {
    /// [`BOOK`].
    schema: String,
    /// Told to need a person, and not told to be over.
    open: Vec<Episode>,
    /// When messages were accepted in the last hour, oldest first.
    sent: Vec<Time>,
    /// What was sent without an answer: whether it arrived is not known.
    doubt: Option<Doubt>,
    /// Why the last message was not accepted, where it was not.
    failing: Option<Failing>,
    /// Since when not everything could be looked at.
    unseen: Option<Time>,
    /// Since when each of that could not; see [`unseen`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    unseen_each: BTreeMap<String, Time>,
    /// What may be over at the next look, while it was not told, by its key: since when it is so, and when it was seen last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    new: BTreeMap<String, (Time, Time)>,
    /// It cannot be written, so no later pass knows how long anything has lasted.
    #[serde(skip)]
    is_unkept: bool,
}

/// Something that needs a person, from its begin to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// The key of its [`Need`].
    pub key: String,
    /// The board it is about.
    board: Option<String>,
    /// What was so when it was told.
    pub says: String,
    /// Since when it is gone.
    gone: Option<Time>,
    /// When a person was asked; see [`Need::asked`].
    #[serde(default)]
    asked: Option<Time>,
    /// What it was about, each with since when that is gone; see [`Need::about`].
    #[serde(default)]
    about: BTreeMap<String, Option<Time>>,
    /// A clock that was set back told of it: what is asked after that may be of an earlier time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ahead: bool,
    /// It is to be told once more: it grew, was asked anew, or is back after it was over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    again: bool,
}

/// A message whose answer is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Doubt {
    began: Vec<Episode>,
    /// Keys.
    ended: Vec<String>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has it.
    Accepted,
    /// The receiver does not have it, and why.
    Refused(String),
    /// Nobody knows whether the receiver has it, and why.
    Lost(String),
}

/// What is to be done for a target.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Nothing began and nothing ended.
    Quiet,
    /// There is something to tell, and this is not the time for it.
    Wait {
        /// When it is.
        until: Time,
        /// Why not now.
        why: String,
    },
    /// This is to be told now.
    Send(Box<Message>),
}

impl Default for Book {
    fn default() -> Book {
        let (open, sent) = (Vec::new(), Vec::new());
        let (unseen_each, new) = (BTreeMap::new(), BTreeMap::new());
        let schema = BOOK.into();
        Book {
            schema,
            open,
            sent,
            doubt: None,
            failing: None,
            unseen: None,
            unseen_each,
            new,
            is_unkept: false,
        }
    }
}

impl Book {
    /// Reads one.
    ///
    /// # Errors
    /// In one phrase: it is not such a book, or is of another version.
    pub fn read(text: &str) -> Result<Book, Reason> {
        let book: Book = serde_json::from_str(text)?;
        match book.schema == BOOK {
            true => Ok(book),
            false => {
                Err(format!("its schema is {:?}, not {BOOK:?}", base::clip::clip(&book.schema, 40)).into())
            }
        }
    }

    /// Why the last message was not accepted.
    pub fn failing(&self) -> Option<&Failing> {
        self.failing.as_ref()
    }

    /// Leaves some boards to another host, which tells this target of them. What was told of them before counts as told no more: where this
    /// host is to tell of them again, it tells all that is so then.
    pub fn leave(&mut self, boards: &BTreeSet<String>) {
        let is_here = |e: &Episode| e.board.as_ref().is_none_or(|board| !boards.contains(board));
        self.open.retain(is_here);
        self.doubt.iter_mut().for_each(|doubt| doubt.began.retain(is_here));
    }

    /// Takes note of what is so now: what was told and is gone, and how long something could not be looked at. `is_gone`: whether there is
    /// no board of this name any more.
    pub fn observe(&mut self, now: &Now, is_gone: impl Fn(&str) -> bool) {
        let at = now.now;
        self.sent.retain(|sent| (0..HOUR).contains(&at.since(*sent)));
        self.unseen = unseen(now).next().map(|_| self.unseen.filter(|since| *since <= at).unwrap_or(at));
        // What is there at each look lasts, however far apart the looks are.
        for need in now.needs.iter().filter(|n| PASSING.contains(&n.cause.as_str())) {
            let (since, seen) = self.new.entry(need.key.clone()).or_insert((at, at));
            (*since, *seen) = ((*since).min(at), at);
        }
        // Of several that make passes in turn, each second look may see none that failed.
        let is_told = |key: &String| self.open.iter().any(|e| e.key == *key);
        self.new.retain(|key, (_, seen)| (0..SETTLED).contains(&at.since(*seen)) && !is_told(key));
        let was = std::mem::take(&mut self.unseen_each);
        // An earlier version kept one time for all.
        let first = self.unseen.filter(|_| was.is_empty());
        let since =
            |name: &String| was.get(name).copied().or(first).filter(|since| *since <= at).unwrap_or(at);
        self.unseen_each = unseen(now).map(|(name, _)| (name.clone(), since(&name))).collect();
        let blind = self.blind(now);
        let needs: Vec<&Need> = blind.iter().chain(&now.needs).collect();
        self.meet(&needs, at);
        for episode in &mut self.open {
            let board = episode.board.as_deref();
            let is_known =
                || was_looked_for(now, board) && (was_read(now, board) || board.is_some_and(&is_gone));
            let is_so = needs.iter().any(|n| n.key == episode.key) || !is_known();
            episode.gone = (!is_so).then(|| episode.gone.filter(|gone| *gone <= at).unwrap_or(at));
        }
    }

    /// The same where nothing but these needs could be looked at: nothing is over.
    pub fn observe_only(&mut self, now: &Now) {
        self.meet(&now.needs.iter().collect::<Vec<_>>(), now.now);
        let is_so = |e: &&mut Episode| now.needs.iter().any(|n| n.key == e.key);
        self.open.iter_mut().filter(is_so).for_each(|e| e.gone = None);
    }

    /// Takes note of what became of what was told and is still so.
    fn meet(&mut self, needs: &[&Need], at: Time) {
        renamed(&mut self.open, needs);
        self.doubt.iter_mut().for_each(|doubt| renamed(&mut doubt.began, needs));
        for episode in &mut self.open {
            episode.ahead |= episode.asked.is_some_and(|told| told > at);
            let Some(need) = needs.iter().find(|n| n.key == episode.key) else { continue };
            // What is asked anew, or is back after it was over, begins again, also where its end could not be told.
            episode.again |= episode.is_anew(need, at);
            episode.asked = episode.asked.or(need.asked);
            episode.is_about(need, at);
        }
    }

    /// What was noted cannot be kept: so no later pass knows how long anything has lasted, and it is told now.
    pub fn waits_for_nothing(&mut self) {
        self.is_unkept = true;
    }

    /// A message arrived that tells nothing.
    pub fn reached(&mut self) {
        self.failing = None;
    }

    /// One that tells nothing did not arrive. However often a person tries that, no message waits longer for it.
    pub fn unreached(&mut self, why: &str, now: Time) {
        let none = Failing { since: now, tries: 0, next: now, why: String::new(), tested: true };
        let failing = self.failing.get_or_insert(none);
        (failing.why, failing.tested) = (why.to_owned(), true);
    }

    /// What is to be told now. `elsewhere`: boards of which another host tells this target.
    pub fn decide(&self, now: &Now, target: &NotifyKeys, elsewhere: &BTreeSet<String>) -> Decision {
        let message = self.message(now, elsewhere);
        if message.began.is_empty() && message.ended.is_empty() {
            return Decision::Quiet;
        }
        match self.wait(now.now, target) {
            Some((until, why)) => Decision::Wait { until, why },
            None => Decision::Send(Box::new(message)),
        }
    }

    /// Why there is nothing to tell, where that is so.
    pub fn quiet(&self, now: &Now, elsewhere: &BTreeSet<String>) -> String {
        let is_other = |n: &&Need| n.board.as_ref().is_some_and(|board| elsewhere.contains(board));
        let is_told = |n: &&Need| self.open.iter().any(|e| e.key == n.key);
        let needs = now.needs.iter().filter(|n| self.tells(n));
        let (other, here): (Vec<&Need>, Vec<&Need>) = needs.partition(is_other);
        let told = here.iter().copied().filter(is_told).count();
        let is_young = self.unseen.is_some() && self.blind(now).is_none();
        let all = [
            (told, "told already".to_owned()),
            (other.len(), "told by another host".to_owned()),
            (here.len() - told, "new, and told if still so at the next look".to_owned()),
            (
                self.open.iter().filter(|e| e.gone.is_some()).count(),
                format!("over for less than {}", words(SETTLED)),
            ),
            (usize::from(is_young), format!("unread for less than {}", words(UNSEEN))),
        ];
        let said: Vec<String> =
            all.into_iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
        if said.is_empty() { "nothing needs you".to_owned() } else { said.join(", ") }
    }

    /// Whether something began that this target was not told.
    pub fn begins(&self, now: &Now, elsewhere: &BTreeSet<String>) -> bool {
        !self.message(now, elsewhere).began.is_empty()
    }

    /// Whether this target is told of it. That it cannot be told anything is told to the others, and over once it is.
    fn tells(&self, need: &Need) -> bool {
        self.failing.is_none() || need.cause != FAILING
    }

    /// All that began and ended since the last message that was accepted.
    fn message(&self, now: &Now, elsewhere: &BTreeSet<String>) -> Message {
        let doubted_end = |key: &String| self.doubt.as_ref().is_some_and(|doubt| doubt.ended.contains(key));
        let is_open = |key: &String| self.open.iter().any(|e| e.key == *key);
        let blind = self.blind(now);
        let needs = blind.iter().chain(&now.needs).filter(|n| self.tells(n));
        let needs = needs.filter(|n| n.board.as_ref().is_none_or(|board| !elsewhere.contains(board)));
        let is_again = |key: &String| self.open.iter().any(|e| e.again && e.key == *key);
        let is_long = |since: Time| self.is_unkept || now.now.since(since) >= LASTED;
        let has_lasted = |key: &String| self.new.get(key).is_none_or(|(since, _)| is_long(*since));
        let is_new = |key: &String| !is_open(key) && has_lasted(key);
        let began = |n: &&Need| is_new(&n.key) || is_again(&n.key) || doubted_end(&n.key);
        let began = needs.filter(began).cloned().collect::<Vec<_>>();
        let is_over = |e: &&Episode| {
            let gone = e.gone.map(|gone| now.now.since(gone));
            gone.is_some_and(|seconds| seconds >= SETTLED || doubted_end(&e.key))
        };
        // What may have been told, and is gone before it was told for certain.
        let doubted = self.doubt.iter().flat_map(|doubt| &doubt.began).filter(|e| {
            !is_open(&e.key)
                && began.iter().all(|n| n.key != e.key)
                && was_looked_for(now, e.board.as_deref())
        });
        let ended = self.open.iter().filter(is_over).chain(doubted).cloned();
        // Where the configuration is refused nothing was looked at, so nothing is known to be over.
        let ended: Vec<Episode> = ended
            .filter(|_| now.needs.iter().all(|n| n.cause != REFUSED))
            .map(|e| match was_read(now, e.board.as_deref()) {
                true => e,
                false => Episode { says: format!("{}; the board is gone", e.says), ..e },
            })
            .collect();
        let open = self.open.iter().filter(|e| e.gone.is_none() && !e.again && !doubted_end(&e.key)).count();
        let is_well = now.needs.is_empty()
            && self.open.iter().all(|e| ended.iter().any(|over| over.key == e.key))
            && unseen(now).next().is_none()
            && now.boards.iter().all(|b| b.findings.is_empty())
            // Work that waits for the end of a pause is not well, however short that is.
            && now.boards.iter().all(|b| b.paused.is_none() || b.due == 0);
        Message::of(now, began, ended, open, is_well, self.doubt.is_some(), self.sent.last().copied())
    }

    /// That something cannot be looked at, once that has lasted.
    fn blind(&self, now: &Now) -> Option<Need> {
        let is_long = |since: Time| self.is_unkept || now.now.since(since) >= UNSEEN;
        let since = self.unseen.filter(|since| is_long(*since))?;
        let has_lasted = |name: &str| self.unseen_each.get(name).is_some_and(|since| is_long(*since));
        let mut said: Vec<(String, &str)> = Vec::new();
        for (name, what) in unseen(now) {
            if said.iter().all(|(other, _)| *other != name) {
                said.push((name, what));
            }
        }
        // What cannot be looked at for a moment only is named where nothing else is.
        let is_named = said.iter().any(|(name, _)| has_lasted(name));
        said.retain(|(name, _)| !is_named || has_lasted(name));
        let what = match said.as_slice() {
            [] => return None,
            [(_, what)] => (*what).to_owned(),
            several => {
                let one = |(name, what): &(String, &str)| {
                    let board = name.split_once(WITH).map_or("", |(board, _)| board);
                    let board = if board.is_empty() { String::new() } else { format!("{board}: ") };
                    format!("{board}{}", quote::line(what, MAX_OF_ONE))
                };
                several.iter().take(MAX_NAMED).map(one).collect::<Vec<_>>().join("; ")
            }
        };
        Some(Need {
            key: "unseen".into(),
            cause: "unseen".into(),
            says: match now.now.since(since) {
                0 => format!("not everything could be looked at: {what}"),
                seconds => format!("not everything could be looked at for {}: {what}", words(seconds)),
            },
            since: Some(since),
            run: Some("watchbill status".into()),
            about: said.into_iter().map(|(name, _)| name).filter(|_| is_named).collect(),
            ..Need::default()
        })
    }

    /// Until when nothing may be sent, and why.
    fn wait(&self, now: Time, target: &NotifyKeys) -> Option<(Time, String)> {
        if let Some(until) = target.quiet.and_then(|quiet| quiet.until(now)) {
            return Some((until, "quiet hours".into()));
        }
        if let Some(failing) = self.failing.as_ref().filter(|f| (1..=MAX_RETRY).contains(&f.next.since(now)))
        {
            return Some((failing.next, format!("the last try failed: {}", failing.why)));
        }
        let most = usize::try_from(target.max_per_hour).unwrap_or(usize::MAX);
        let first = self.sent.len().checked_sub(most).and_then(|i| self.sent.get(i))?;
        let until = first.plus(HOUR);
        (until > now).then(|| (until, format!("{most} messages were sent within the hour")))
    }

    /// The message is about to be sent: until its outcome is known, it may have arrived.
    pub fn sending(&mut self, message: &Message) {
        let began = message.began.iter().map(Episode::of);
        let ended = message.ended.iter().map(|e| e.key.clone());
        let doubt = self.doubt.get_or_insert(Doubt { began: Vec::new(), ended: Vec::new() });
        for episode in began {
            doubt.began.retain(|e| e.key != episode.key);
            doubt.began.push(episode);
        }
        for key in ended {
            if !doubt.ended.contains(&key) {
                doubt.ended.push(key);
            }
        }
    }

    /// What became of the message. `before`: the book as it was before [`Book::sending`].
    pub fn sent(&mut self, message: &Message, outcome: Outcome, before: &Book, now: Time) {
        match outcome {
            Outcome::Accepted => {
                self.open.retain(|e| message.ended.iter().all(|over| over.key != e.key));
                for mut episode in message.began.iter().map(Episode::of) {
                    if let Some(told) = self.open.iter().find(|e| e.key == episode.key) {
                        episode.remembers(told, now);
                    }
                    self.open.retain(|e| e.key != episode.key);
                    self.open.push(episode);
                }
                self.sent.push(now);
                self.doubt = None;
                self.failing = None;
            }
            Outcome::Refused(why) => {
                self.doubt.clone_from(&before.doubt);
                self.failed(why, now);
            }
            Outcome::Lost(why) => self.failed(why, now),
        }
    }

    fn failed(&mut self, why: String, now: Time) {
        let tries = self.failing.as_ref().map_or(0, |f| f.tries);
        let wait = RETRY.saturating_mul(1 << tries.min(10)).min(MAX_RETRY);
        let since = self.failing.as_ref().map_or(now, |f| f.since.min(now));
        let tested = self.failing.as_ref().is_some_and(|f| f.tested);
        self.failing =
            Some(Failing { since, tries: tries.saturating_add(1), next: now.plus(wait), why, tested });
    }
}

impl Episode {
    fn of(need: &Need) -> Episode {
        let (key, board) = (need.key.clone(), need.board.clone());
        let about = need.about.iter().map(|name| (name.clone(), None)).collect();
        Episode {
            key,
            board,
            says: need.says.clone(),
            gone: None,
            asked: need.asked,
            about,
            ahead: false,
            again: false,
        }
    }

    /// Whether it is to be told once more.
    fn is_anew(&self, need: &Need, now: Time) -> bool {
        let is_over = self.gone.is_some_and(|gone| now.since(gone) >= SETTLED);
        let is_asked = self
            .asked
            .zip(need.asked)
            .is_some_and(|(told, asked)| asked > told || (self.ahead && asked != told));
        is_over || is_asked || self.is_more(need, now)
    }

    /// Whether it grew: it is about something now that was not told within the hour, and about all that it was about last. An episode of
    /// an earlier version knows nothing of that.
    fn is_more(&self, need: &Need, now: Time) -> bool {
        let is_told = |name: &String| {
            let gone = self.about.get(name);
            gone.is_some_and(|gone| gone.is_none_or(|gone| now.since(gone) < HOUR))
        };
        // Where one takes the place of another one, it is told once it stays.
        let is_whole = self.about.iter().all(|(name, gone)| gone.is_some() || need.about.contains(name));
        // Work that waits on one more board waits for the same gateway.
        !is_of_gateway(&need.cause) && !self.about.is_empty() && is_whole && !need.about.iter().all(is_told)
    }

    /// Takes over what was told of it within the hour.
    fn remembers(&mut self, told: &Episode, now: Time) {
        for (name, gone) in &told.about {
            let gone = gone.unwrap_or(now);
            if now.since(gone) < HOUR {
                self.about.entry(name.clone()).or_insert(Some(gone));
            }
        }
    }

    /// Takes note of what it is about now.
    fn is_about(&mut self, need: &Need, now: Time) {
        // What comes back after that counts as told no more, also at its second look.
        self.about.retain(|_, gone| gone.is_none_or(|gone| now.since(gone) < HOUR));
        for (name, gone) in &mut self.about {
            let was = gone.filter(|gone| *gone <= now);
            *gone = (!need.about.contains(name)).then_some(was.unwrap_or(now));
        }
        // One more board behind a gateway is the same matter; by it the episode is known where the first one goes.
        if self.about.is_empty() || is_of_gateway(&need.cause) {
            let new = need.about.iter().filter(|name| !self.about.contains_key(*name));
            self.about.extend(new.map(|name| (name.clone(), None)).collect::<Vec<_>>());
        }
    }
}

/// Gives episodes of an earlier version, which had one for all profiles of a board, the keys of now, and what they are about its names.
fn renamed(episodes: &mut Vec<Episode>, needs: &[&Need]) {
    let is_split = |e: &Episode| {
        let is_known =
            SPLIT.iter().any(|cause| e.key.strip_prefix(cause).is_some_and(|at| at.starts_with(':')));
        is_known && needs.iter().all(|n| n.key != e.key)
    };
    let of_board = |n: &Need, e: &Episode| {
        let board = e.key.strip_prefix(&n.cause).and_then(|board| board.strip_prefix(':'));
        let is_about = |board: &str| n.about.contains(board) || e.about.keys().any(|b| n.about.contains(b));
        board.is_some_and(is_about)
    };
    let before = std::mem::take(episodes);
    for e in before {
        let of_it = |n: &&&Need| n.key.rsplit_once(':').is_some_and(|(key, _)| key == e.key);
        // It had one for each board of a gateway; and the first board of a root may go, whose name the key has.
        let joined = needs.iter().find(|n| is_of_gateway(&n.cause) && of_board(n, &e));
        if let Some(need) = joined.filter(|_| needs.iter().all(|n| n.key != e.key)) {
            episodes.push(Episode { key: need.key.clone(), ..e });
            continue;
        }
        let keys: Vec<&String> = needs.iter().filter(of_it).map(|n| &n.key).collect();
        if keys.is_empty() || !is_split(&e) {
            episodes.push(e);
            continue;
        }
        episodes.extend(keys.into_iter().map(|key| Episode { key: key.clone(), ..e.clone() }));
    }
    let mut seen = BTreeSet::new();
    episodes.retain(|e| seen.insert(e.key.clone()));
    for e in episodes {
        let Some(need) = needs.iter().find(|n| n.key == e.key) else { continue };
        for name in &need.about {
            let is_bare = |(bare, _): &(&str, &str)| !need.about.contains(*bare);
            let gone = name.rsplit_once(WITH).filter(is_bare).and_then(|(bare, _)| e.about.remove(bare));
            e.about.extend(gone.map(|gone| (name.clone(), gone)));
        }
    }
}

/// What could not be looked at, each with what it is called in a [`Book`]: the board, and what is so of it whatever task it is about.
fn unseen(now: &Now) -> impl Iterator<Item = (String, &str)> {
    let none = now.unknown.iter().map(|what| ("", what));
    let of_boards = now.boards.iter().flat_map(|b| b.unknown.iter().map(|what| (b.board.as_str(), what)));
    none.chain(of_boards).map(|(board, what)| {
        // No more than what it is: why may be long, and cut off.
        let mut of_no_task = what.split_whitespace().filter(|word| !is_task_id(word.trim_end_matches(':')));
        let mut of_it: Vec<&str> = Vec::new();
        while !of_it.last().is_some_and(|word| word.ends_with(':')) {
            let Some(word) = of_no_task.next() else { break };
            of_it.push(word);
        }
        (format!("{board}{WITH}{}", lasting(&of_it.join(" "))), what.as_str())
    })
}

/// Whether the board was read, where it is about one.
fn was_read(now: &Now, board: Option<&str>) -> bool {
    board.is_none_or(|board| now.boards.iter().any(|b| b.board == board))
}

/// Whether it would be seen if it still were so: what cannot be looked at has not ended.
fn was_looked_for(now: &Now, board: Option<&str>) -> bool {
    let Some(board) = board else { return now.unknown.is_empty() };
    match now.boards.iter().find(|b| b.board == board) {
        // Another file may lie in the place of its own.
        Some(seen) => seen.unknown.is_empty() && !is_of_board(now, board, |n| n.cause == REPLACED),
        // It is gone, unless it could not be found or read.
        None => now.unknown.is_empty() && !is_of_board(now, board, |_| true),
    }
}

/// Whether such a need is about the board.
fn is_of_board(now: &Now, board: &str, such: impl Fn(&Need) -> bool) -> bool {
    now.needs.iter().any(|n| n.board.as_deref() == Some(board) && such(n))
}

#[cfg(test)]
mod tests;
