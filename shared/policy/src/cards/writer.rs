//! The distress cards of one pass: what they are written from, and everything that a card is written with.

use std::collections::{BTreeMap, BTreeSet};

use crate::authorship;
use crate::cards::asked::{Asked, asked};
use crate::cards::identity::named;
use crate::cards::seen::Seen;
use crate::clock::is_within;
use crate::routing::facts::Routing;
use crate::routing::router::Router;
use crate::runtime::Runtime;
use crate::said::{Kind, Said};
use crate::{Pass, Profiles};
use base::cause::Cause;
use base::time::{DAY, Time};
use board::{Detail, Rule};
use card::Blocker;
use config::Config;
use coord::SessionId;
use logs::Evidence;

/// Who takes the cards where nothing else is said.
const ORCHESTRATOR: &str = "tuesday";

/// Every profile that may take cards, in the order they are tried: ours to name, else Hermes' own setting, else the name of
/// the contract; then its stand-ins.
pub fn orchestrators(config: &Config, hermes: Option<String>) -> Vec<String> {
    let first = config.distress.orchestrator.clone().or(hermes).unwrap_or_else(|| ORCHESTRATOR.into());
    let mut all = vec![first];
    for other in &config.orchestrator.fallbacks {
        if !all.contains(other) {
            all.push(other.clone());
        }
    }
    all
}

/// The same on a board with this runtime around it.
///
/// # Errors
/// Why they are not known: Hermes may name the first one where nobody can read it, or nobody names it and whether there is a profile of the
/// contract's name cannot be told.
pub fn deciders(config: &Config, runtime: Option<&Runtime>) -> Result<Vec<String>, String> {
    let hermes = runtime.and_then(|r| r.orchestrator.clone());
    let why = Profiles::of(runtime).unknown().filter(|_| config.distress.orchestrator.is_none());
    match why.filter(|_| hermes.is_none()) {
        None => Ok(orchestrators(config, hermes)),
        Some(why) => Err(format!("who takes cards is not known: {why}")),
    }
}

/// What a pass says where nobody can tell who works on its board.
pub fn blind(config: &Config, runtime: Option<&Runtime>) -> Option<Said> {
    let why = Profiles::of(runtime).unknown()?;
    let left = match deciders(config, runtime) {
        Err(_) => {
            "who takes cards and which profiles there are is not known, so no card is made and no task is moved"
        }
        Ok(_) => "which profiles there are is not known, so no task is moved",
    };
    Some(Said::of(Kind::Unread, format!("{why}: {left}")))
}

/// What is wrong with one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    /// Which rule found it.
    pub case: Rule,
    /// What kind of help is needed.
    pub blocker: Blocker,
    /// Why the attempt ended, where that is known.
    pub cause: Option<Cause>,
    /// The word for the cause in keys; a worker's own block has one of its own.
    pub word: &'static str,
    /// The newest run, 0 where there never was one.
    pub run: i64,
    /// One sentence about it.
    pub what: String,
    /// The line that says so.
    pub evidence: Option<Evidence>,
    /// Further lines, oldest first; untrusted.
    pub quotes: Vec<String>,
    /// The card becomes its parent now. Not while a worker runs, and not in triage, where nothing waits for parents.
    pub link: bool,
    /// The task is held: else it would be started again, and fail for the same cause.
    pub park: bool,
    /// It was moved as often as allowed: what is left is a narrower task, or a person.
    pub spent: bool,
    /// Why its card wakes nobody yet.
    pub wait: Option<&'static str>,
    /// A draft of narrower tasks, as lines of the card.
    pub draft: Vec<String>,
    /// When it began, where several things may go wrong within one attempt.
    pub began: Option<Time>,
    /// The session that asks, and waits for the answer.
    pub asking: Option<SessionId>,
}

impl Trouble {
    /// One of which no more is known, and whose task goes on as it is.
    pub fn new(case: Rule, blocker: Blocker, word: &'static str, run: i64, what: String) -> Trouble {
        Trouble {
            case,
            blocker,
            cause: None,
            word,
            run,
            what,
            evidence: None,
            quotes: Vec::new(),
            link: false,
            park: false,
            spent: false,
            wait: None,
            draft: Vec::new(),
            began: None,
            asking: None,
        }
    }
}

/// Writes the cards of one pass.
pub struct CardWriter<'a> {
    /// What the pass saw.
    pub seen: &'a Seen,
    /// Which pass it is.
    pub pass: &'a Pass,
    /// Its configuration.
    pub config: &'a Config,
    /// Open cards by their id.
    pub cards: BTreeMap<&'a str, &'a Detail>,
    /// Work that was looked at, by its id.
    pub looked: BTreeMap<&'a str, &'a Detail>,
    /// The same by the open cards it has, in the order in which it was seen.
    pub under: BTreeMap<&'a str, Vec<&'a Detail>>,
    /// Open cards by their source, of any author and however they name it.
    pub open: BTreeMap<String, BTreeSet<String>>,
    /// Profiles to whose provider nothing may be sent now.
    pub held: BTreeSet<String>,
    /// Who may take cards, in the order they are tried; empty where that is not known.
    pub deciders: Vec<String>,
    /// Whether cards get their texts.
    pub texts: bool,
}

/// Whether a source has an open card, by whatever sign: its key, its title, a link, or what the card's own first event says.
fn open_cards(
    seen: &Seen,
    cards: &BTreeMap<&str, &Detail>,
    looked: &BTreeMap<&str, &Detail>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut open: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut note = |source: &str, card: &str| {
        open.entry(source.to_owned()).or_default().insert(card.to_owned());
    };
    for card in &seen.cards {
        let left = |source: &String| {
            looked.get(source.as_str()).is_some_and(|d| authorship::has_left(d, &card.task.id))
        };
        if let Some(source) = named(card).filter(|source| !left(source)) {
            note(&source, &card.task.id);
        }
    }
    for d in looked.values() {
        for card in &d.cards {
            note(&d.task.id, card);
        }
        // A card is known by its key too, even if its title was changed.
        for p in d.parents.iter().filter(|p| cards.contains_key(p.id.as_str())) {
            note(&d.task.id, &p.id);
        }
    }
    open
}

impl<'a> CardWriter<'a> {
    /// Nothing is written yet.
    pub fn new(seen: &'a Seen, pass: &'a Pass, config: &'a Config) -> CardWriter<'a> {
        let by_id = |d: &'a Detail| (d.task.id.as_str(), d);
        let cards = seen.cards.iter().map(by_id).collect();
        let work = || seen.sources.iter().map(|s| &s.detail).chain(&seen.others);
        let looked = work().map(by_id).collect();
        let mut under: BTreeMap<&str, Vec<&Detail>> = BTreeMap::new();
        for (d, card) in work().flat_map(|d| d.cards.iter().map(move |card| (d, card))) {
            under.entry(card).or_default().push(d);
        }
        let open = open_cards(seen, &cards, &looked);
        let deciders = deciders(config, seen.runtime.as_ref()).unwrap_or_default();
        let held = BTreeSet::new();
        let mut writer =
            CardWriter { seen, pass, config, cards, looked, under, open, held, deciders, texts: true };
        writer.held = writer.held_by(&writer.router(&seen.routing));
        writer
    }

    /// Where tasks may be moved to.
    pub fn router<'r>(&self, routing: &'r Routing) -> Router<'r>
    where
        'a: 'r,
    {
        let runtime = self.seen.runtime.as_ref();
        Router::new(routing, self.config, self.seen.now, Profiles::of(runtime), self.deciders.clone())
    }

    /// The profiles that may take no work now.
    pub fn held_by(&self, router: &Router<'_>) -> BTreeSet<String> {
        let all = self.seen.routing.profiles.keys().chain(self.seen.profiles.keys());
        all.filter(|p| router.state(p).is_held()).cloned().collect()
    }

    /// How many cards a task had today, where that is as many as it may have.
    pub fn used_up(&self, d: &Detail) -> Option<usize> {
        let today = |a: &&Asked| is_within(a.at, self.seen.now, DAY - 1);
        let made = asked(d).iter().filter(today).count();
        let most = usize::try_from(self.config.distress.max_cards).unwrap_or(usize::MAX);
        (made >= most).then_some(made)
    }
}
