//! The versions of a board's tables, and the way from each one to the next.

use std::time::Duration;

use base::error::{Error, Kind, Result};

use crate::address::Address;
use crate::server::{Fault, Server, args};
use crate::writes::WRITE;
use crate::{Held, PostgresBoard, Secrets, alone, filled_in, meta, newer, owned, tried};

/// The version of the tables that this program makes: that of schema.sql.
pub(crate) const SHAPE: i32 = 2;

/// The oldest version on which it works.
const OLDEST: i32 = 1;

/// The version that `board prune` needs.
pub(crate) const PRUNES: i32 = 2;

/// What makes a version of the one before.
struct Step {
    to: i32,
    /// May be done twice. What adds a table or a column also grants it, as roles.sql does.
    sql: &'static str,
    /// The oldest versions whose programs may read and write then.
    min: [i32; 2],
}

/// In the order of the versions, without a gap.
const STEPS: &[Step] = &[Step { to: 2, sql: include_str!("upgrades/2.sql"), min: [1, 1] }];

impl PostgresBoard {
    /// Brings the tables of a board to the version of this program, in one transaction. Gives the version before and after.
    ///
    /// # Errors
    /// As [`PostgresBoard::open`]; `Data` for a board that is newer than this program; `Permission` for who does not own it.
    pub fn upgrade(url: &str, patience: Duration, secrets: &Secrets) -> Result<(i32, i32)> {
        let address = Address::read(url)?;
        tried(&mut Held::default(), &address, secrets, patience, |server, left| {
            server.begin(WRITE, left)?;
            alone(server, &address)?;
            let meta = meta(server)?.ok_or_else(|| Fault::Ours(no_board(&address)))?;
            if meta.version > SHAPE {
                return Err(Fault::Ours(newer(&address, "made by a newer Watchbill", &meta)));
            }
            owned(server, &address, "only the owner of this board upgrades it")?;
            carry_out(server, &address, meta.version)?;
            server.batch("COMMIT")?;
            Ok((meta.version, SHAPE))
        })
    }
}

fn carry_out(server: &mut Server, address: &Address, from: i32) -> std::result::Result<(), Fault> {
    if STEPS.first().is_some_and(|first| from < first.to - 1) {
        let what = format!("its tables are of version {from}, which nothing upgrades");
        return Err(Fault::Ours(Error::new(Kind::Data, address, what)));
    }
    for Step { to, sql, min } in STEPS.iter().filter(|step| step.to > from) {
        server.batch(&filled_in(sql, address))?;
        let [reader, writer] = min.map(i64::from);
        let done = "UPDATE meta SET version = $1, min_reader = greatest(min_reader, $2), \
                    min_writer = greatest(min_writer, $3)";
        server.rows(done, args![i64::from(*to), reader, writer])?;
    }
    Ok(())
}

pub(crate) fn no_board(address: &Address) -> Error {
    Error::new(Kind::Data, address, "not a board of Watchbill")
}

/// Why this program does not work on tables of a version, if it does not.
pub(crate) fn too_old(address: &Address, version: i32) -> Option<Error> {
    needs(address, version, OLDEST, "made by an older Watchbill")
}

/// What is said of tables on which this program works, though not all of it.
pub(crate) fn outdated(address: &Address, version: i32) -> Option<Error> {
    needs(address, version, SHAPE, "what needs newer tables than it has is refused")
}

/// Why something is not done on tables of a version: it needs a later one.
pub(crate) fn needs(address: &Address, version: i32, least: i32, what: &str) -> Option<Error> {
    (version < least).then(|| {
        let what = format!("{what} (tables of version {version}; this needs {least})");
        Error::new(Kind::Data, address, what).hint(format!("its owner runs: {}", address.upgrade()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_step_to_each_version_and_the_last_one_is_that_of_the_schema() {
        let versions: Vec<i32> = STEPS.iter().map(|step| step.to).collect();
        assert_eq!(versions, (OLDEST + 1..=SHAPE).collect::<Vec<_>>());
        let made = format!("VALUES ({SHAPE}, {}, {}, now_s())", STEPS[0].min[0], STEPS[0].min[1]);
        assert!(include_str!("schema.sql").contains(&made), "{made}");
    }
}
