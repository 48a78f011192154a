//! What a watcher sees of a state, and what it decides.

use shared::board::{Attended, Duty, Step};
use shared::config::Config;
use shared::host::{Ask, Freed, HostFacts, Look, Proof, Recheck, View};
use shared::logs::cache::Cache;
use shared::logs::provider::Profile;
use shared::logs::{LogEnd, Reading};
use shared::policy::runtime::{LogAsk, LogReader};
use shared::policy::{Decision, Pass, Witness, World};
use shared::watch::Watcher;
use shared::watch::heal::Heal;
use shared::watch::route::RouteBlocked;

use super::super::bare_world;
use super::{Actor, HOSTS, Mutant, Pending, Program, State, Told, What};

/// A host of a state, as those on it see it.
pub(super) struct Here<'a> {
    pub(super) state: &'a State,
    pub(super) host: usize,
}

impl Here<'_> {
    fn with<T>(&self, f: impl FnOnce(&View<'_>) -> T) -> T {
        let machine = &self.state.hosts[self.host].machine;
        let facts = machine.facts(self.state.now());
        f(&machine.view(&facts, &[]))
    }
}

impl Witness for Here<'_> {
    fn facts(&self) -> HostFacts {
        self.with(|v| v.facts.clone())
    }
    fn is_here(&self, host: &str) -> bool {
        host == HOSTS[self.host]
    }
    fn look(&self, asks: &[Ask]) -> Vec<Look> {
        self.with(|v| v.look(asks))
    }
    fn recheck(&self, proofs: &[Option<Proof>], freed: &[Freed<'_>]) -> Recheck {
        self.with(|v| v.recheck(proofs, freed))
    }
    fn boot_clock(&self) -> Option<i64> {
        Some(self.state.hosts[self.host].machine.up)
    }
}

impl LogReader for Here<'_> {
    fn read(&self, ask: &LogAsk<'_>, _cache: &mut Cache) -> Reading {
        match self.state.logs.get(ask.task).filter(|(host, ..)| *host == self.host) {
            None => Reading::of(LogEnd::Absent, None),
            Some((_, _, written)) if *written < ask.since => Reading::of(LogEnd::NoEvidence, Some(*written)),
            Some((_, end, written)) => Reading::of(end.clone(), Some(*written)),
        }
    }
}

/// `luna` works at one provider, `nova` at another one.
fn profile(name: &str) -> Option<Profile> {
    let (provider, fallbacks) = match name {
        "luna" => ("moon", vec!["nova".to_owned()]),
        "nova" => ("star", Vec::new()),
        _ => return None,
    };
    Some(Profile {
        name: name.into(),
        provider: Some(provider.into()),
        endpoint: Some(format!("api.{provider}.example")),
        fallbacks,
        says: Some(0),
        ..Profile::default()
    })
}

impl State {
    /// A watcher attends, looks, and decides; what it will write waits.
    pub(super) fn pass(
        &mut self,
        program: Program,
        host: usize,
        without: Option<Mutant>,
        told: &mut Told,
    ) -> bool {
        let decision = self.decides(program, host, without);
        told.lines.extend(decision.left.iter().map(|l| format!("{} is left: {}", l.task, l.because)));
        told.lines.extend(decision.steps.iter().map(|s| format!("{} {} of {}", s.action, s.case, s.task)));
        let actor = Actor::Watcher(program, host);
        let had = self.pending.remove(&actor).is_some();
        let steps: Vec<Step> = decision.steps;
        let decides = !steps.is_empty();
        if decides {
            self.pending.insert(actor, Pending { at: self.now(), steps, what: What::Pass });
        }
        // What heal said of its host counts for the other one. A pass that decided nothing else leaves nothing behind.
        had || decides || program == Program::Heal
    }

    /// What a watcher decides now.
    pub(super) fn decides(&mut self, program: Program, host: usize, without: Option<Mutant>) -> Decision {
        let duty = if program == Program::Heal { Duty::Heals } else { Duty::Works };
        let mut attended = self.attend(host, duty);
        if without == Some(Mutant::Doubt)
            && let Some(attended) = &mut attended
        {
            attended.before = Some(attended.now);
        }
        match program {
            Program::Heal => self.decided(&Heal, host, attended, without),
            Program::Route => self.decided(&RouteBlocked, host, attended, without),
        }
    }

    fn decided<W: Watcher>(
        &self,
        watcher: &W,
        host: usize,
        hosts: Option<Attended>,
        without: Option<Mutant>,
    ) -> Decision {
        let here = Here { state: self, host };
        let mut config = Config::default();
        if without == Some(Mutant::Patience) {
            config.host.gone_after = std::time::Duration::ZERO;
        }
        let now = self.now();
        let id = format!("p-{}", W::NAME);
        let pass = Pass { id, program: W::NAME, now, clock_given: false, only: None, dry: false };
        // What is remembered between passes is lost in each of them: it must never be the ground of a bolder action.
        let (mut board, mut cache) = (self.board.clone(), Cache::in_memory());
        let bare = bare_world(&mut board, &here, &mut cache, &profile, &config);
        let mut world = World { hosts, clock_offset: now.0 - self.hosts[host].machine.up, ..bare };
        match watcher.observe(&mut world, &pass) {
            Ok(seen) => watcher.decide(&seen, &pass, &config),
            Err(_) => Decision::default(),
        }
    }
}
