//! Rows as the board has them, read tolerantly: a wrong type or a NULL in one column must not lose the row.

use crate::image::Cell;
use crate::verification;
use crate::{CardMade, Event, Fronts, MAX_TEXT, Pin, Place, Run, Task};
use base::clip::lossy;
use base::time::Time;
use rusqlite::Row;
use rusqlite::types::ValueRef;

pub(super) fn int(row: &Row<'_>, i: usize) -> Option<i64> {
    match row.get_ref(i).ok()? {
        ValueRef::Integer(n) => Some(n),
        // Boards hold times written as floats or text; what is not a number is as good as missing.
        ValueRef::Real(f) => Some(f as i64),
        ValueRef::Text(t) => std::str::from_utf8(t).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// A text, or the front of it: SQLite takes up to a gigabyte in one column, and a pass reads many rows.
pub(super) fn text(row: &Row<'_>, i: usize) -> Option<String> {
    upto(row, i, MAX_TEXT)
}

/// A kind or a state by its text. Most are known ones, which need no text of their own.
pub(super) fn named<T: for<'t> From<&'t str>>(row: &Row<'_>, i: usize) -> T {
    match row.get_ref(i) {
        Ok(ValueRef::Text(t)) => T::from(&lossy(&t[..t.len().min(MAX_TEXT)])),
        _ => T::from(text(row, i).unwrap_or_default().as_str()),
    }
}

/// A text, however long.
pub(super) fn whole(row: &Row<'_>, i: usize) -> Option<String> {
    upto(row, i, usize::MAX)
}

fn upto(row: &Row<'_>, i: usize, most: usize) -> Option<String> {
    match row.get_ref(i).ok()? {
        ValueRef::Text(t) | ValueRef::Blob(t) => Some(lossy(&t[..t.len().min(most)]).into_owned()),
        ValueRef::Integer(n) => Some(n.to_string()),
        ValueRef::Real(f) => Some(f.to_string()),
        ValueRef::Null => None,
    }
}

/// The front of a text, see [`Fronts`]: the rest of it is never copied out of SQLite's memory.
pub(super) fn front(row: &Row<'_>, i: usize, most: usize) -> Option<String> {
    match row.get_ref(i).ok()? {
        ValueRef::Text(t) | ValueRef::Blob(t) => {
            Some(Fronts::of(&lossy(&t[..t.len().min(MAX_TEXT)]), most).into_owned())
        }
        _ => text(row, i),
    }
}

/// A cell in the form that an undo restores.
pub(super) fn cell(row: &Row<'_>, i: usize) -> Cell {
    match row.get_ref(i) {
        Ok(ValueRef::Integer(n)) => Cell::Number(n),
        Ok(ValueRef::Null) | Err(_) => Cell::None,
        Ok(_) => text(row, i).map_or(Cell::None, Cell::Text),
    }
}

/// A time that others wrote.
fn time(row: &Row<'_>, i: usize) -> Option<Time> {
    int(row, i).map(Time::of_row)
}

pub(super) fn task(row: &Row<'_>) -> Task {
    let time = |i| time(row, i);
    Task {
        id: text(row, 0).unwrap_or_default(),
        title: text(row, 1).unwrap_or_default(),
        assignee: text(row, 2),
        status: named(row, 3),
        priority: int(row, 4).unwrap_or(0),
        created_at: time(5).unwrap_or_default(),
        started_at: time(6),
        claim_lock: text(row, 7),
        // As its dispatcher takes it: one far away is a claim that does not end.
        claim_expires: int(row, 8).map(Time),
        worker_pid: int(row, 9),
        last_heartbeat_at: time(10),
        current_run: int(row, 11).filter(|n| *n != 0),
        failures: int(row, 12).unwrap_or(0),
        last_failure_error: text(row, 13),
        max_retries: int(row, 14),
        block_kind: text(row, 15),
        block_recurrences: int(row, 16).unwrap_or(0),
        worker_started_at: text(row, 17),
        idempotency_key: text(row, 18),
        pin: pin(row, 19),
        stray_title: false,
    }
}

pub(super) fn run(row: &Row<'_>) -> Run {
    let metadata = text(row, 11);
    Run {
        id: int(row, 0).unwrap_or(0),
        profile: text(row, 1),
        status: text(row, 2).unwrap_or_default(),
        outcome: text(row, 3),
        started_at: time(row, 4).unwrap_or_default(),
        ended_at: time(row, 5),
        claim_lock: text(row, 6),
        worker_pid: int(row, 7),
        last_heartbeat_at: time(row, 8),
        error: text(row, 9),
        summary: text(row, 10),
        pin: Pin::default(),
        route: metadata.as_deref().and_then(Run::route_in),
        failed: metadata.as_deref().map(verification::in_metadata).unwrap_or_default(),
    }
}

pub(super) fn event(row: &Row<'_>) -> Event {
    Event {
        kind: named(row, 0),
        at: Time(int(row, 1).unwrap_or(0)),
        run: int(row, 2),
        payload: text(row, 3).into(),
    }
}

/// What is set for one task alone, from the column at `first` on.
pub(super) fn pin(row: &Row<'_>, first: usize) -> Pin {
    let said = |i| text(row, first + i).filter(|t| !t.is_empty());
    Pin { model: said(0), provider: said(1) }
}

/// Where a task is worked on, from the column at `first` on.
pub(super) fn place(row: &Row<'_>, first: usize) -> Place {
    let said = |i| text(row, first + i).filter(|t| !t.is_empty());
    Place {
        kind: said(0),
        path: said(1),
        branch: said(2),
        tenant: said(3),
        made_by: said(4),
        completed_at: time(row, first + 5),
    }
}

pub(super) fn card_made(row: &Row<'_>) -> CardMade {
    CardMade {
        id: text(row, 0).unwrap_or_default(),
        key: text(row, 1).unwrap_or_default(),
        status: named(row, 2),
        created_at: Time(int(row, 3).unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use rusqlite::types::Value as Cell;
    use serde_json::json;

    use super::*;

    fn read(metadata: &Cell) -> Run {
        let conn = Connection::open_in_memory().unwrap();
        let sql = "SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ?1";
        conn.query_row(sql, [metadata], |row| Ok(run(row))).unwrap()
    }

    #[test]
    fn a_route_is_read_in_whatever_wrapping_a_model_gave_it() {
        let text = |s: &str| Cell::Text(s.to_owned());
        let route = json!({"task": "t_1a2b3c4d", "to": "nova"});
        let inner = json!({"route": route.to_string()}).to_string();
        let broken = format!("{{'route': '{}'}}", "é".repeat(200));
        let table = [
            (text(r#"{"route": {"task": "t_1a2b3c4d", "to": "nova"}, "more": 1}"#), Some(route.clone())),
            (Cell::Blob(br#"{"route": "as is"}"#.to_vec()), Some(json!("as is"))),
            (text(&inner), Some(route.clone())),
            (text(&json!(inner).to_string()), Some(route)),
            (text(r#"{"route": [1]}"#), Some(json!([1]))),
            (text(&broken), Some(json!(broken[..199]))),
            (text(&format!("{}{{}}", " ".repeat(64 * 1024 - 1))), Some(json!("too long"))),
            (text(&format!("{}{{}}", " ".repeat(64 * 1024 - 2))), None),
            (text(r#"{"route": null}"#), None),
            (text(r#"{"route": "null"}"#), None),
            (text(r#"{"by": "route-blocked"}"#), None),
            (text(r#"{"more": {"route": 1}}"#), None),
            (text(r#"["route"]"#), None),
            (text(r#""the route""#), None),
            (text(r#""[\"route\"]""#), None),
            (text("no JSON"), None),
            (text(""), None),
            (Cell::Integer(7), None),
            (Cell::Null, None),
        ];
        for (metadata, route) in table {
            let run = read(&metadata);
            assert_eq!((run.route, run.summary.as_deref()), (route, Some("11")), "{metadata:?}");
        }
    }
}
