//! The board at a glance, and where time and money went.

use super::super::words::{count, known_least, money, rank, short};
use super::super::{Overview, Spent};
use super::MAX_LISTED;
use super::axis::Share;
use super::parts::{Look, bar, chart_section, escaped, key, list, more, number, quoted, stamp};
use base::count::{noun, things};
use base::money::Money;
use base::time::words as span;
use logs::usage::Tokens;

/// Tasks by state, as one bar.
pub(super) fn glance(o: &Overview) -> String {
    let heading = "The board at a glance";
    let mut counts: Vec<(&String, usize)> =
        o.counts.iter().filter(|(_, n)| **n > 0).map(|(s, n)| (s, *n)).collect();
    counts.sort_by_key(|(state, _)| rank(state));
    counts.truncate(MAX_LISTED);
    if counts.is_empty() {
        let none = "<p class=\"muted\">No task is open, and none ended in this time.</p>";
        return chart_section("glance", heading, none);
    }
    let all: i128 = counts.iter().map(|(_, n)| big(*n)).sum();
    let mut before = 0;
    let mut bars = String::new();
    for (state, n) in &counts {
        let (x, width) = (Share::of(before, all), Share::of(big(*n), all).at_least(60));
        bars.push_str(&bar(
            Look::of_state(state),
            &x.percent(),
            &width.percent(),
            &format!("{n} {}", escaped(state, 40)),
        ));
        before += big(*n);
    }
    let keys = counts.iter().map(|(state, n)| {
        let word = escaped(state, 40);
        key(Look::of_state(state), &format!("<b>{n}</b> {word}"))
    });
    chart_section(
        "glance",
        heading,
        &format!(
            "<svg class=\"bars whole\" role=\"img\" aria-label=\"tasks by state, as in the list below\" width=\"100%\" height=\"18\">{bars}</svg>{}",
            list("keys", keys)
        ),
    )
}

fn big(n: usize) -> i128 {
    i128::try_from(n).unwrap_or(i128::MAX / 1_000_000)
}

/// What all profiles used, in a few words.
pub(super) fn total(o: &Overview) -> String {
    let attempts: usize = o.spent.iter().map(|s| s.attempts).sum();
    let seconds = o.spent.iter().fold(0_i64, |all, s| all.saturating_add(s.seconds));
    let known = o.spent.iter().filter_map(|s| s.cost).reduce(Money::plus);
    let is_least = o.spent.iter().any(|s| s.is_least || s.cost.is_none());
    let cost = number(&known_least(is_least, money(known)));
    format!("<b>{cost}</b> in {}, {} of work", things(attempts, "attempt"), span(seconds))
}

/// Money and time by profile.
pub(super) fn spent(o: &Overview) -> String {
    let heading = "Money and time";
    if o.spent.is_empty() {
        let none = "<p class=\"muted\">No attempt was made in this time.</p>";
        return chart_section("spent", heading, none);
    }
    let most_money = o.spent.iter().filter_map(|s| s.cost).map(|m| m.0).max().unwrap_or(0);
    let most_time = o.spent.iter().map(|s| s.seconds).max().unwrap_or(0);
    let rows: String = o.spent.iter().take(MAX_LISTED).map(|s| row(s, most_money, most_time)).collect();
    let more = more(o.spent.len(), MAX_LISTED);
    let note = format!(
        "<p class=\"muted\">By profile, since {}: {}.</p>",
        stamp(o.since, o.now),
        total(o).replace("<b>", "").replace("</b>", "")
    );
    chart_section("spent", heading, &format!("{note}<div class=\"rows\">{rows}</div>{more}"))
}

fn row(s: &Spent, most_money: u64, most_time: i64) -> String {
    let provider = s.provider.as_deref().map_or_else(|| "provider unknown".to_owned(), |p| quoted(p, 80));
    let least = |n: String| number(&known_least(s.is_least, n));
    let cost = match s.cost {
        Some(m) => {
            measure("money", Share::of(i128::from(m.0), i128::from(most_money)), &least(money(s.cost)))
        }
        None => unknown("money"),
    };
    let time = measure("time", Share::of(i128::from(s.seconds), i128::from(most_time)), &span(s.seconds));
    format!(
        "<div class=\"row\"><p class=\"label\"><b>{}</b> <span class=\"muted\">{provider}</span><br>\
         <span class=\"muted\">{}, {} {}, {} tokens</span></p><div>{cost}{time}</div></div>\n",
        quoted(&s.profile, 80),
        things(s.attempts, "attempt"),
        least(count(s.turns)),
        noun(s.turns.unwrap_or_default(), "turn"),
        least(s.tokens.map(Tokens::total).map_or_else(|| count(None), short)),
    )
}

fn measure(kind: &str, share: Share, words: &str) -> String {
    format!(
        "<div class=\"measure\"><svg class=\"bars\" aria-hidden=\"true\" width=\"100%\" height=\"18\">\
         <rect class=\"{kind}\" x=\"0\" y=\"3\" width=\"{}%\" height=\"12\" rx=\"2\"/></svg><span>{words}</span></div>",
        share.at_least(40).percent()
    )
}

fn unknown(kind: &str) -> String {
    format!(
        "<div class=\"measure\"><svg class=\"bars\" aria-hidden=\"true\" width=\"100%\" height=\"18\">\
         <rect class=\"unknown\" x=\"1\" y=\"3\" width=\"99%\" height=\"12\" rx=\"2\"/></svg><span>{kind} ?</span></div>"
    )
}
