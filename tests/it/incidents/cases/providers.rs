//! What a provider refuses.

use serde_json::json;

use super::super::incident::Incident;
use super::super::verdict::Expect::{Handed, Recovered};
use super::super::world::{Act, World};

/// An incident whose workers end as a recorded log says. Hermes 0.19's workers end with 0 whatever stopped them.
macro_rules! ends {
    ($id:expr, $title:expr, $sources:expr, $log:expr, $code:expr) => {
        Incident::new(
            $id,
            $title,
            $sources,
            |w| {
                w.act("luna", Act::Ends($log, $code));
                w.task(json!({}));
            },
            Recovered,
        )
    };
}

pub fn all() -> Vec<Incident> {
    let mut all = vec![
        ends!("W-429", "a minute limit", "48000, 55445, 62227, 49430, agenc#29", "r429.t_79a491c3.log", 0)
            .short(),
        ends!("W-429-cron", "the same under cron", "41805", "r429.t_79a491c3.log", 0).cron(),
        Incident::new(
            "W-429-real",
            "the same with the real worker",
            "48000",
            |w| {
                w.real("luna", "r429");
                w.task(json!({}));
            },
            Recovered,
        ),
        ends!("W-quota", "the quota is used up", "41805, 100771, opencrabs#952", "quota.t_8a4e5bed.log", 0),
        ends!("W-402", "no credits are left", "41805", "r402.t_2c59f014.log", 0),
        ends!("W-503", "the provider is down", "108927", "r503.t_aadb6d47.log", 0),
        ends!("W-529", "the provider is overloaded", "108927", "r529.t_da3df14d.log", 0),
        ends!("W-401", "the key is refused", "62227, 49430", "r401.t_edb03c05.log", 0),
        ends!("W-403", "the account has no right to the model", "62227", "r403.t_31cb5a80.log", 0),
        ends!("W-404", "the model does not exist", "92236, 104430, 77060", "r404.t_f1037397.log", 0),
        ends!("W-refused", "nobody listens at the endpoint", "108927", "refused.t_0b5c7d21.log", 0)
            .minutes(240, 3),
        ends!("W-nokey", "no key is configured", "49430", "nokey.t_0b5c7d22.log", 1),
        ends!("W-badcfg", "the profile's configuration cannot be read", "49430", "badcfg.t_08197f86.log", 1),
        ends!("W-chat", "talks and never closes its task", "44812, 46593", "chat.t_8f3a3353.log", 0),
        Incident::new(
            "W-goal-429",
            "a minute limit in goal mode, real worker",
            "by experiment",
            |w| goal(w, "r429"),
            Recovered,
        ),
        Incident::new(
            "W-goal-402",
            "no credits in goal mode, real worker",
            "by experiment",
            |w| goal(w, "r402"),
            Recovered,
        ),
        Incident::new(
            "W-fallback",
            "a minute limit, and a second provider in Hermes' own configuration, real worker",
            "by experiment",
            |w| {
                w.real("sol", "ok");
                w.real("luna", "r429");
                let provider = w.provider.as_ref().unwrap();
                let to = |mode| {
                    format!("{{base_url: '{}', api_key: KEY, default_model: m1}}", provider.mode(mode))
                };
                let text = format!(
                    "model: {{provider: fake, default: m1}}\nproviders:\n  fake: {}\n  other: {}\n\
                 fallback_providers: [{{provider: other, model: m1}}]\nagent: {{api_max_retries: 2, max_turns: 6}}\n",
                    to("r429"),
                    to("ok")
                );
                w.configured("luna", &text);
                w.task(json!({}));
            },
            Recovered,
        ),
    ];
    all.extend([
        ends!(
            "E7",
            "a minute limit, booked as such by a newer worker's exit code",
            "114511, PR 114518, 81437, gc#1400",
            "r429.t_79a491c3.log",
            75
        )
        .minutes(120, 3),
        Incident::new(
            "W-429-lone",
            "a minute limit for 40 minutes, and no other provider",
            "108927, 110528, claude-code#6254, agent-of-empires#3514, claude-code#95803",
            |w| {
                w.lone = true;
                w.act("luna", Act::Ends("r429.t_79a491c3.log", 0));
                w.act("tuesday", Act::Decides(json!({"task": "SOURCE", "action": "unblock"})));
                w.task(json!({}));
            },
            Recovered,
        )
        .each(|w| {
            if w.minute == 40 {
                w.act("luna", Act::Works);
            }
        })
        .minutes(180, 1),
        Incident::new(
            "W-429-both",
            "a minute limit, and the other provider is overloaded all night",
            "48000, ai-dispatch#154, PR 114518",
            |w| {
                w.act("luna", Act::Ends("r429.t_79a491c3.log", 0));
                w.act("sol", Act::Ends("r529.t_da3df14d.log", 0));
                w.act(
                    "tuesday",
                    Act::Decides(json!({"task": "SOURCE", "action": "human", "reason": "both refuse"})),
                );
                w.task(json!({}));
            },
            Handed("both refuse"),
        )
        .minutes(480, 10),
        Incident::new(
            "W-429-storm",
            "six tasks at once meet one minute limit",
            "44880, 44812, gastown#2086",
            |w| {
                w.ends_after = 8.0;
                w.act("luna", Act::Ends("r429.t_79a491c3.log", 0));
                for _ in 0..6 {
                    w.task(json!({}));
                }
            },
            Recovered,
        )
        .minutes(120, 2),
        Incident::new(
            "W-404-card",
            "the model does not exist, and the orchestrator dies of every card",
            "29783",
            |w| {
                w.act("luna", Act::Ends("r404.t_f1037397.log", 0));
                w.act("tuesday", Act::Dies);
                w.task(json!({}));
            },
            Handed("card-failed"),
        )
        .minutes(240, 2)
        .after(|w| {
            let cards = w.home.value(
                "SELECT count(*) FROM tasks WHERE title LIKE '[BLOCKED]%' AND title NOT LIKE '[BLOCKED] ' || (
                   SELECT id FROM tasks WHERE title NOT LIKE '[BLOCKED]%' LIMIT 1) || '%'",
            );
            if w.watched {
                w.note(format!("{cards} cards about cards"));
            }
        }),
    ]);
    all
}

fn goal(w: &mut World, mode: &str) {
    w.real("luna", mode);
    w.task(json!({"goal_mode": true, "goal_max_turns": 2}));
}
