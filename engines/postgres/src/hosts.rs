//! Which hosts work on a board, by the server's clock alone, and whether the board is paused.

use std::cell::OnceCell;
use std::time::{SystemTime, UNIX_EPOCH};

use base::error::{Error, Kind, Result};
use base::time::Time;
use board::pause::Pause;
use board::several_hosts::is_off;
use board::{Attendance, Attended, Duty, HOST_LEASE, Known, Neighbour};

use crate::PostgresBoard;
use crate::address::Address;
use crate::server::{Fault, Server, args};

/// For how many seconds the outcome of a part is kept: far longer than any program tries to write one.
const WRITES_KEPT: i64 = 86_400;

/// How many of those rows one pass removes.
const MOST_REMOVED: i64 = 1_000;

impl PostgresBoard {
    /// The pause of this board as it was set, also one that ended by itself.
    ///
    /// # Errors
    /// As [`PostgresBoard::open`].
    pub fn pause(&mut self) -> Result<Option<Pause>> {
        let sql = "SELECT paused_until, paused_why, paused_by, paused_since FROM meta";
        let row = self.read(|server| server.row(sql, args![]))?;
        let told = row.map(|row| Pause {
            until: row.get::<_, Option<i64>>(0).map(Time),
            reason: row.get(1),
            by: row.get(2),
            since: row.get::<_, Option<i64>>(3).map(Time),
            moved_to: None,
        });
        // Whatever is said of a pause, by whomever, pauses.
        Ok(told.filter(|pause| *pause != Pause::default()).map(Pause::read))
    }

    /// Whether this role may pause this board. Nothing is written.
    ///
    /// # Errors
    /// What [`PostgresBoard::set_pause`] would say.
    pub fn may_pause(&mut self) -> Result<()> {
        let sql = "UPDATE meta SET paused_until = paused_until, paused_why = paused_why, paused_by = paused_by, \
                   paused_since = paused_since WHERE false";
        self.change(|server| server.rows(sql, args![]).map(drop))
    }

    /// Pauses this board, in the place of an earlier pause, or ends its pause. One that does not say since when is one since now.
    ///
    /// # Errors
    /// As [`PostgresBoard::open`]; `Permission` for a worker's role.
    pub fn set_pause(&mut self, pause: Option<&Pause>) -> Result<()> {
        let sql = "UPDATE meta SET paused_until = $1, paused_why = $2, paused_by = $3, \
                   paused_since = CASE WHEN $5 = 1 THEN coalesce($4, now_s()) END";
        let none = Pause::default();
        let said = pause.unwrap_or(&none);
        let number = |time: Option<Time>| time.map(|t| t.0);
        self.change(|server| {
            let (reason, by) = (said.reason.as_deref(), said.by.as_deref());
            let args = args![number(said.until), reason, by, number(said.since), i64::from(pause.is_some())];
            server.rows(sql, args).map(drop)
        })
    }
}

/// What the board knows of a name: when it was seen last, and when `heal` ran there. A start that may not work under it is refused. `lock`: what the
/// row is locked with.
fn known(
    server: &mut Server,
    address: &Address,
    me: &Attendance<'_>,
    lock: &str,
) -> std::result::Result<(Option<Time>, Option<Time>), Fault> {
    let sql = format!(
        "SELECT h.boot_id, h.seen_at, h.lease_until, h.forgotten_at IS NOT NULL, now_s(), h.healed_at, \
         CASE WHEN h.boot_id <> $2 THEN (SELECT max(t.claim_expires) FROM tasks t WHERE t.claim_lock IS NOT NULL \
         AND t.claim_expires > (SELECT now_s()) AND split_part(t.claim_lock, ':', 1) = h.name) END \
         FROM hosts h WHERE h.name = $1 {lock}"
    );
    let Some(row) = server.row(&sql, args![me.host, me.boot])? else { return Ok((None, None)) };
    let at = |nth: usize| row.get::<_, Option<i64>>(nth).map(Time);
    let known = Known {
        boot: row.get(0),
        seen_at: Time(row.get(1)),
        lease_until: Time(row.get(2)),
        claimed_until: at(6),
        is_forgotten: row.get(3),
    };
    me.follows(&known, address, Time(row.get(4))).map_err(Fault::Ours)?;
    Ok((Some(known.seen_at), at(5)))
}

/// Renews the lease of a host, in a transaction that writes. `before` is kept over the tries of one attendance, whose answers may be lost.
pub(crate) fn attend(
    server: &mut Server,
    address: &Address,
    me: &Attendance<'_>,
    before: &OnceCell<Option<Time>>,
) -> std::result::Result<Attended, Fault> {
    // The one use of this host's own clock: to say by how much it is off.
    let sent = SystemTime::now();
    // A lease that is lost with the server is renewed soon: its commit waits for no disk.
    let sql = "SELECT (1000 * extract(epoch FROM clock_timestamp()))::bigint, has_table_privilege('hosts', 'INSERT'), \
               set_config('synchronous_commit', 'off', true)";
    let row = server.row(sql, args![])?.ok_or(Fault::Again)?;
    let skew = ahead(sent, SystemTime::now(), row.get(0));
    if !row.get::<_, bool>(1) {
        let what = format!("the role {} may not speak for a host", address.role_word());
        let hint = format!(
            "a watcher and `board run` need a role in {}_watch; its owner grants that: {}",
            address.schema,
            address.grant("--watcher")
        );
        let error = Error::new(Kind::Permission, address, what);
        return Err(Fault::Ours(error.hint(hint)));
    }
    let (seen, healed) = known(server, address, me, "FOR NO KEY UPDATE")?;
    let sql = format!(
        "INSERT INTO hosts AS h (name, boot_id, program, since, seen_at, lease_until, healed_at, skew_ms) \
         SELECT $1, $2, $3, n.now, n.now, n.now + {HOST_LEASE}, CASE WHEN $4 = 1 THEN n.now END, $5 \
         FROM (SELECT now_s() AS now) n \
         ON CONFLICT (name) DO UPDATE SET boot_id = excluded.boot_id, program = excluded.program, \
         seen_at = excluded.seen_at, lease_until = excluded.lease_until, \
         healed_at = coalesce(excluded.healed_at, h.healed_at), skew_ms = excluded.skew_ms, forgotten_at = NULL \
         WHERE h.boot_id = excluded.boot_id OR $6 = 1 RETURNING h.seen_at"
    );
    let args = args![
        me.host,
        me.boot,
        me.program,
        i64::from(judges(me.duty, skew)),
        skew,
        i64::from(seen.is_some())
    ];
    // Nobody had the name when we looked, and now another one has it.
    let row = server.row(&sql, args)?.ok_or(Fault::Again)?;
    let before = *before.get_or_init(|| if me.duty == Duty::Heals { healed } else { seen });
    if me.duty == Duty::Heals {
        let sql = format!(
            "DELETE FROM writes WHERE id = ANY (ARRAY(SELECT id FROM writes WHERE at < $1 ORDER BY at \
             LIMIT {MOST_REMOVED} FOR UPDATE SKIP LOCKED))"
        );
        server.rows(&sql, args![row.get::<_, i64>(0) - WRITES_KEPT])?;
    }
    let (now, hosts) = hosts(server)?;
    Ok(Attended { now, before, hosts })
}

/// What [`attend`] tells a caller that only asks: nothing is renewed.
pub(crate) fn look(
    server: &mut Server,
    address: &Address,
    me: &Attendance<'_>,
) -> std::result::Result<Attended, Fault> {
    let (seen, healed) = known(server, address, me, "")?;
    let (now, hosts) = hosts(server)?;
    Ok(Attended { now, before: if me.duty == Duty::Heals { healed } else { seen }, hosts })
}

/// The server's clock, and all hosts in the order of their names.
pub(crate) fn hosts(server: &mut Server) -> std::result::Result<(Time, Vec<Neighbour>), Fault> {
    let sql = "SELECT n.now, h.name, h.seen_at, h.lease_until, h.healed_at, h.skew_ms, h.forgotten_at, h.since \
               FROM (SELECT now_s() AS now) n LEFT JOIN hosts h ON true ORDER BY h.name";
    let rows = server.rows(sql, args![])?;
    let now = rows.first().ok_or(Fault::Again)?.get(0);
    let of = |row: &tokio_postgres::Row| {
        Some(Neighbour {
            host: row.get::<_, Option<String>>(1)?,
            since: Time(row.get(7)),
            seen_at: Time(row.get(2)),
            lease_until: Time(row.get(3)),
            healed_at: row.get::<_, Option<i64>>(4).map(Time),
            skew_ms: row.get(5),
            forgotten_at: row.get::<_, Option<i64>>(6).map(Time),
        })
    };
    Ok((Time(now), rows.iter().filter_map(of).collect()))
}

/// Whether a pass judges the workers of its host: a `heal` whose clock can be trusted.
fn judges(duty: Duty, skew_ms: i64) -> bool {
    duty == Duty::Heals && !is_off(skew_ms)
}

/// Milliseconds by which our clock is ahead of the server's, which was read between two looks at ours.
fn ahead(sent: SystemTime, heard: SystemTime, server: i64) -> i64 {
    let ms = |at: SystemTime| {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    };
    i64::midpoint(ms(sent), ms(heard)).saturating_sub(server)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_heal_whose_clock_is_wrong_judges_nobody() {
        assert!(judges(Duty::Heals, 60_000) && judges(Duty::Heals, -60_000));
        assert!(!judges(Duty::Heals, 60_001) && !judges(Duty::Heals, -60_001));
        assert!(!judges(Duty::Works, 0) && !judges(Duty::Asks, 0));
    }

    #[test]
    fn a_clock_is_compared_with_the_middle_of_a_round_trip() {
        let at = |ms: u64| UNIX_EPOCH + Duration::from_millis(ms);
        let epoch = 1_800_000_000_000;
        assert_eq!(ahead(at(epoch), at(epoch + 40), 1_800_000_000_020), 0);
        assert_eq!(ahead(at(epoch), at(epoch), 1_799_999_940_000), 60_000);
        assert_eq!(ahead(at(epoch), at(epoch + 2_000), 1_800_000_009_000), -8_000);
        assert_eq!(ahead(at(0), at(0), 1_800_000_000_000), -1_800_000_000_000);
    }
}
