//! Providers: when they refused work, and how they stand now.

use super::super::{Overview, ProviderView};
use super::MAX_LISTED;
use super::axis::Axis;
use super::parts::{Look, bar, chart_section, details, escaped, more, quoted, short_stamp, stamp, table};
use super::timeline::axis_row;
use base::count::things;
use base::time::Time;

/// Most refusals of a provider, the newest ones.
const MAX_REFUSALS: usize = 100;

/// How providers did.
pub(super) fn section(o: &Overview) -> String {
    let heading = "Providers";
    if o.providers.is_empty() {
        let none = "<p class=\"muted\">No provider refused work in this time, and none does now.</p>";
        return chart_section("providers", heading, none);
    }
    let shown = || o.providers.iter().take(MAX_LISTED);
    let axis = Axis::fit(shown().flat_map(newest).map(|r| r.from), o.since, o.now);
    let rows: String = shown().map(|p| row(&axis, p, o)).collect();
    let refusals = shown().flat_map(|p| newest(p).map(move |r| (p, r))).map(|(p, r)| {
        vec![quoted(&p.name, 80), stamp(r.from, o.now), stamp(r.until, o.now), quoted(&r.cause, 200)]
    });
    let all = details("Why, as a table", &table(&["provider", "from", "until", "cause"], refusals));
    let note =
        format!("<p class=\"muted\">Bars are times in which a provider refused work, {}.</p>", axis.words());
    let more = more(o.providers.len(), MAX_LISTED);
    chart_section(
        "providers",
        heading,
        &format!("{note}<div class=\"rows\">{rows}{}</div>{more}{all}", axis_row(&axis)),
    )
}

fn newest(p: &ProviderView) -> impl Iterator<Item = &super::super::Refusal> {
    p.refusals.iter().skip(p.refusals.len().saturating_sub(MAX_REFUSALS))
}

fn row(axis: &Axis, p: &ProviderView, o: &Overview) -> String {
    let bars: String = newest(p)
        .filter(|r| axis.shows(r.from, r.until))
        .map(|r| {
            let (x, width) = axis.bar(r.from, r.until);
            let (from, until) = (short_stamp(r.from, o.now), short_stamp(r.until, o.now));
            bar(Look::Failed, &x, &width, &format!("{from} to {until}: {}", escaped(&r.cause, 200)))
        })
        .collect();
    format!(
        "<div class=\"row\"><p class=\"label\">{} {}<br><span class=\"muted\">{}{}</span></p>\
         <svg class=\"bars\" role=\"img\" aria-label=\"refusals, as in the table below\" width=\"100%\" height=\"18\">{}{bars}</svg></div>\n",
        quoted(&p.name, 80),
        state(&p.state),
        things(p.refusals.len(), "refusal"),
        until(p, o.now),
        axis.grid()
    )
}

fn state(state: &str) -> String {
    let look = match state {
        "healthy" => Look::Good,
        "half open" => Look::Waits,
        "limited" | "out of quota" | "down" | "credential broken" | "given up" => Look::Failed,
        _ => Look::Other,
    };
    let word = if state == "half open" { "trying again" } else { state };
    format!("<span class=\"pill {}\">{}</span>", look.class(), escaped(word, 40))
}

/// Until when the last refusal was said to last, where that is still to come.
fn until(p: &ProviderView, now: Time) -> String {
    let last = p.refusals.iter().map(|r| r.until).max().filter(|until| *until > now);
    last.map_or_else(String::new, |until| format!(", said to last until {}", stamp(until, now)))
}
