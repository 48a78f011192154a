//! One incident, as data and a few small functions.

use super::verdict::Expect;
use super::world::World;

/// What happened, where it was reported, and what is to come of it.
#[derive(Clone)]
pub struct Incident {
    pub id: &'static str,
    pub title: &'static str,
    /// Experiments and issues it stands for; plain numbers are those of NousResearch/hermes-agent.
    pub sources: &'static str,
    pub set_up: fn(&mut World),
    /// Once a minute, before Hermes ticks.
    pub each: fn(&mut World),
    /// When the night is over.
    pub after: fn(&mut World),
    /// How long it is watched.
    pub minutes: i64,
    /// Minutes between two looks.
    pub stride: i64,
    /// How Hermes is run: `gateway`, or `cron`.
    pub how: &'static str,
    /// Its claims name the gateway by its pid.
    pub pids: bool,
    pub expect: Expect,
    /// Also in the short form of the book.
    pub short: bool,
    /// Watched to the end, also when all is done.
    pub to_the_end: bool,
    /// Why it is right to leave it alone; or another word to the reader.
    pub remark: &'static str,
}

fn nothing(_: &mut World) {}

impl Incident {
    pub fn new(
        id: &'static str,
        title: &'static str,
        sources: &'static str,
        set_up: fn(&mut World),
        expect: Expect,
    ) -> Incident {
        Incident {
            id,
            title,
            sources,
            set_up,
            each: nothing,
            after: nothing,
            minutes: 60,
            stride: 1,
            how: "gateway",
            pids: false,
            expect,
            short: false,
            to_the_end: false,
            remark: "",
        }
    }

    pub fn each(self, each: fn(&mut World)) -> Incident {
        Incident { each, ..self }
    }

    pub fn after(self, after: fn(&mut World)) -> Incident {
        Incident { after, ..self }
    }

    /// Watched for so long, with a look every so many minutes.
    pub fn minutes(self, minutes: i64, stride: i64) -> Incident {
        Incident { minutes, stride, ..self }
    }

    pub fn cron(self) -> Incident {
        Incident { how: "cron", ..self }
    }

    pub fn pids(self) -> Incident {
        Incident { pids: true, ..self }
    }

    pub fn short(self) -> Incident {
        Incident { short: true, ..self }
    }

    pub fn whole(self) -> Incident {
        Incident { to_the_end: true, ..self }
    }

    pub fn remark(self, remark: &'static str) -> Incident {
        Incident { remark, ..self }
    }
}
