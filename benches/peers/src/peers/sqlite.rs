//! SQLite: one connection, WAL, `synchronous=FULL`, a transaction a call.
//!
//! As rusqlite builds it, it syncs with fsync, which can cost more than the fdatasync of the others.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::{Answer, Balances, CACHE_BYTES, Peer, Saved};
use crate::Result;
use crate::work::Grant;

const TABLES: &str = "
    CREATE TABLE balances (account TEXT PRIMARY KEY, points INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE receipts (
        account TEXT NOT NULL, key TEXT NOT NULL, points INTEGER NOT NULL, balance_after INTEGER NOT NULL,
        recorded_at_ms INTEGER NOT NULL, PRIMARY KEY (account, key)
    ) WITHOUT ROWID;";

/// Behind one mutex: writers exclude each other anyhow, and waiting here is cheaper than for SQLite's busy handler.
pub(super) struct Sqlite(Mutex<Connection>);

impl Sqlite {
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let connection = Connection::open(folder.join("points.sqlite"))?;
        let mode: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let synchronous: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
        if (mode.as_str(), synchronous) != ("wal", 2) {
            return Err(format!("settings were not taken, mode={mode} synchronous={synchronous}").into());
        }
        connection.pragma_update(None, "cache_size", -i64::from(CACHE_BYTES / 1024))?;
        connection.execute_batch(TABLES)?;
        Ok(Self(Mutex::new(connection)))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peer for Sqlite {
    fn grant(&self, _caller: usize, grant: &Grant) -> Result<Answer> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let answer = apply(&transaction, grant)?;
        transaction.commit()?;
        Ok(answer)
    }

    fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let answers = grants.iter().map(|grant| apply(&transaction, grant)).collect::<Result<_>>()?;
        transaction.commit()?;
        Ok(answers)
    }

    fn balances(&self) -> Result<Balances> {
        let connection = self.connection();
        let mut rows = connection.prepare("SELECT account, points FROM balances")?;
        let balances = rows.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
        Ok(balances.collect::<Result<_, _>>()?)
    }
}

fn apply(transaction: &Transaction<'_>, grant: &Grant) -> Result<Answer> {
    let mut known = transaction.prepare_cached(
        "SELECT points, balance_after, recorded_at_ms FROM receipts WHERE account = ?1 AND key = ?2",
    )?;
    let saved = known.query_row((&grant.account, &grant.key), |row| {
        let field = |at| Ok::<_, rusqlite::Error>(row.get::<_, i64>(at)?.unsigned_abs());
        Ok(Saved { points: field(0)?, balance_after: field(1)?, recorded_at_ms: field(2)? })
    });
    if let Some(saved) = saved.optional()? {
        return Ok(saved.replay(grant));
    }
    let mut add = transaction.prepare_cached(
        "INSERT INTO balances (account, points) VALUES (?1, ?2)
         ON CONFLICT (account) DO UPDATE SET points = points + excluded.points RETURNING points",
    )?;
    let points = i64::try_from(grant.points)?;
    let balance: i64 = add.query_row((&grant.account, points), |row| row.get(0))?;
    let saved = Saved::new(balance.unsigned_abs() - grant.points, grant)?;
    let mut keep = transaction.prepare_cached(
        "INSERT INTO receipts (account, key, points, balance_after, recorded_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    keep.execute((&grant.account, &grant.key, points, balance, i64::try_from(saved.recorded_at_ms)?))?;
    Ok(Answer::Applied(saved.balance_after))
}
