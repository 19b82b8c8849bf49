//! The baseline: a points ledger on plain sled, as people write one.
//!
//! Two trees. A grant is one transaction that looks for the receipt, reads the balance and writes a row to each
//! tree; then its caller flushes and syncs. It gives the same answers as a store does, and as durable ones.

use std::fs::File;
use std::path::Path;

use pointstore::{Clock, SystemClock};
use sled::Transactional;
use sled::transaction::{ConflictableTransactionError, TransactionError};

const CACHE_BYTES: u64 = 64 << 20;

/// Bytes of a receipt's row: points, balance after, time.
const RECEIPT_LEN: usize = 24;

/// What can go wrong with it.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// An open ledger.
#[derive(Debug)]
pub(crate) struct Baseline {
    db: sled::Db,
    receipts: sled::Tree,
    balances: sled::Tree,
    /// sled's log: its own flush does not sync it.
    log: File,
    clock: SystemClock,
}

/// What is kept of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) points: u64,
    pub(crate) balance_after: u64,
    pub(crate) recorded_at_ms: u64,
}

/// The answer to a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It had its effect now.
    Applied(Receipt),
    /// It had had it before.
    Replayed(Receipt),
    /// The key belongs to a grant of so many other points.
    Reused(u64),
}

impl Baseline {
    /// Opens or makes one.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let db = sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None).open()?;
        let (receipts, balances) = (db.open_tree("receipts")?, db.open_tree("balances")?);
        let log = File::options().read(true).write(true).open(path.join("db"))?;
        Ok(Self { db, receipts, balances, log, clock: SystemClock })
    }

    /// Grants points, once for each key; durable when it returns.
    pub(crate) fn grant(&self, account: &str, key: &str, points: u64) -> Result<Answer, Error> {
        let answer = self.grant_unsynced(account, key, points)?;
        self.sync()?;
        Ok(answer)
    }

    /// The transaction alone.
    pub(crate) fn grant_unsynced(&self, account: &str, key: &str, points: u64) -> Result<Answer, Error> {
        let place = [account.as_bytes(), &[0], key.as_bytes()].concat();
        let recorded_at_ms = self.clock.wall().as_unix_millis();
        let done = (&self.receipts, &self.balances).transaction(|(receipts, balances)| {
            if let Some(row) = receipts.get(&place)? {
                let saved = receipt(&row)?;
                return Ok(if saved.points == points {
                    Answer::Replayed(saved)
                } else {
                    Answer::Reused(saved.points)
                });
            }
            let balance = balances.get(account)?.map_or(Ok(0), |row| number(&row))?;
            let balance_after =
                balance.checked_add(points).ok_or_else(|| abort("the balance is too large"))?;
            let new = Receipt { points, balance_after, recorded_at_ms };
            receipts.insert(place.as_slice(), &row(&new))?;
            balances.insert(account, &balance_after.to_be_bytes())?;
            Ok(Answer::Applied(new))
        });
        done.map_err(|error| match error {
            TransactionError::Abort(error) => error,
            TransactionError::Storage(error) => error.into(),
        })
    }

    /// Makes every transaction so far durable.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.db.flush()?;
        Ok(self.log.sync_data()?)
    }

    /// What an account has.
    pub(crate) fn balance(&self, account: &str) -> Result<u64, Error> {
        match self.balances.get(account)? {
            None => Ok(0),
            Some(row) => Ok(u64::from_be_bytes(row.as_ref().try_into()?)),
        }
    }
}

fn row(receipt: &Receipt) -> [u8; RECEIPT_LEN] {
    let mut row = [0; RECEIPT_LEN];
    let fields = [receipt.points, receipt.balance_after, receipt.recorded_at_ms];
    for (bytes, field) in row.chunks_exact_mut(8).zip(fields) {
        bytes.copy_from_slice(&field.to_be_bytes());
    }
    row
}

fn receipt(row: &[u8]) -> Result<Receipt, ConflictableTransactionError<Error>> {
    let mut fields = row.chunks(8).map(number);
    let mut next = || fields.next().unwrap_or_else(|| Err(abort("a receipt is too short")));
    Ok(Receipt { points: next()?, balance_after: next()?, recorded_at_ms: next()? })
}

fn number(row: &[u8]) -> Result<u64, ConflictableTransactionError<Error>> {
    row.try_into().map(u64::from_be_bytes).map_err(|_| abort("a number is not eight bytes long"))
}

fn abort(what: &str) -> ConflictableTransactionError<Error> {
    ConflictableTransactionError::Abort(what.into())
}
