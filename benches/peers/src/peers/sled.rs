//! Plain sled: two trees, a transaction a call; then a flush, which alone does not sync, and an fdatasync, which does.

use std::fs::File;
use std::path::Path;

use sled::transaction::{ConflictableTransactionError, TransactionError, TransactionalTree};
use sled::{Db, Transactional, Tree};

use super::{Answer, Balances, CACHE_BYTES, Peer, Saved, number, place};
use crate::Result;
use crate::work::Grant;

type Abort = ConflictableTransactionError<Box<dyn std::error::Error + Send + Sync>>;

/// A database, and sled's log, where what it flushed is synced too.
pub(super) struct Engine {
    database: Db,
    log: Option<File>,
}

impl Engine {
    /// Opens one that syncs, or one that only flushes.
    pub(super) fn open(folder: &Path, sync: bool) -> Result<Self> {
        let config =
            sled::Config::new().path(folder).cache_capacity(u64::from(CACHE_BYTES)).flush_every_ms(None);
        let database = config.open()?;
        let log = sync.then(|| File::options().read(true).write(true).open(folder.join("db"))).transpose()?;
        Ok(Self { database, log })
    }

    pub(super) fn tree(&self, name: &str) -> Result<Tree> {
        Ok(self.database.open_tree(name)?)
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.database.flush()?;
        if let Some(log) = &self.log {
            log.sync_data()?;
        }
        Ok(())
    }
}

pub(super) struct Sled {
    engine: Engine,
    balances: Tree,
    receipts: Tree,
}

impl Sled {
    /// Opens a ledger that syncs, or one that only flushes and so may lose in a power cut what it acknowledged.
    pub(super) fn open(folder: &Path, sync: bool) -> Result<Self> {
        let engine = Engine::open(folder, sync)?;
        let (balances, receipts) = (engine.tree("balances")?, engine.tree("receipts")?);
        Ok(Self { engine, balances, receipts })
    }

    fn transaction(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        let done = (&self.balances, &self.receipts).transaction(|(balances, receipts)| {
            grants.iter().map(|grant| apply(balances, receipts, grant)).collect::<Result<Vec<_>, Abort>>()
        });
        done.map_err(|error| match error {
            TransactionError::Abort(error) => error,
            TransactionError::Storage(error) => error.into(),
        })
    }
}

impl Peer for Sled {
    fn grant(&self, _caller: usize, grant: &Grant) -> Result<Answer> {
        self.grant_batch(&[grant])?.pop().ok_or_else(|| "no answer".into())
    }

    /// One transaction for all: some times as fast as one for each. That sled can lose what was there before in a
    /// power cut during transactions this large is not held against it here.
    fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        let answers = self.transaction(grants)?;
        self.engine.sync()?;
        Ok(answers)
    }

    fn balances(&self) -> Result<Balances> {
        let row = |row: sled::Result<(sled::IVec, sled::IVec)>| {
            let (account, points) = row?;
            Ok((String::from_utf8(account.to_vec())?, number(&points)?))
        };
        self.balances.iter().map(row).collect()
    }
}

fn apply(balances: &TransactionalTree, receipts: &TransactionalTree, grant: &Grant) -> Result<Answer, Abort> {
    let place = place(grant);
    if let Some(row) = receipts.get(&place)? {
        return Ok(Saved::of_row(&row).map_err(Abort::Abort)?.replay(grant));
    }
    let balance = balances.get(&grant.account)?.map_or(Ok(0), |row| number(&row)).map_err(Abort::Abort)?;
    let saved = Saved::new(balance, grant).map_err(Abort::Abort)?;
    balances.insert(grant.account.as_str(), &saved.balance_after.to_be_bytes())?;
    receipts.insert(place.as_slice(), &saved.row())?;
    Ok(Answer::Applied(saved.balance_after))
}
