//! For reference, what a ledger costs beside none: maps in memory, and rows that are written and synced, and never read
//! again. No upper bound: who writes into a file that is long enough already syncs faster than a log that grows.
//!
//! [`Disk::Log`] has one write and one fdatasync a batch, behind the same hand-over between callers as the peers.
//! [`Disk::Sled`] has the same over the engine that the store is on: transactions of as many pages as a power cut
//! allows, each with a flush and an fdatasync, but without the store's walk over the leaf that it wrote to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sled::transaction::{ConflictableTransactionError, TransactionError};
use sled::{Db, Tree};

use super::{Answer, Balances, CACHE_BYTES, Peer, Saved, place};
use crate::Result;
use crate::work::Grant;

/// Bytes of a page, and pages of a transaction: the store's own bounds.
const PAGE_LEN: usize = 4096;
const PAGES: usize = 8;

pub(super) struct Floor(Mutex<State>);

struct State {
    disk: Disk,
    receipts: HashMap<Vec<u8>, Saved>,
    balances: Balances,
}

/// Where rows go.
enum Disk {
    Log(File),
    Sled { database: Db, pages: Tree, log: File, next: u64 },
}

impl Disk {
    /// Makes rows durable.
    fn write(&mut self, rows: &[u8]) -> Result<()> {
        match self {
            Self::Log(log) => {
                log.write_all(rows)?;
                log.sync_data()?;
            }
            Self::Sled { database, pages, log, next } => {
                for group in rows.chunks(PAGES * PAGE_LEN) {
                    append(pages, *next, group)?;
                    *next += PAGES as u64;
                    database.flush()?;
                    log.sync_data()?;
                }
            }
        }
        Ok(())
    }
}

/// Writes pages in one transaction.
fn append(pages: &Tree, first: u64, group: &[u8]) -> Result<()> {
    let done = pages.transaction(|pages| {
        for (number, page) in (first..).zip(group.chunks(PAGE_LEN)) {
            pages.insert(&number.to_be_bytes(), page)?;
        }
        Ok::<_, ConflictableTransactionError<sled::Error>>(())
    });
    done.map_err(|error| match error {
        TransactionError::Abort(error) | TransactionError::Storage(error) => error.into(),
    })
}

impl Floor {
    pub(super) fn on_log(folder: &Path) -> Result<Self> {
        Ok(Self::on(Disk::Log(File::create(folder.join("log"))?)))
    }

    pub(super) fn on_sled(folder: &Path) -> Result<Self> {
        let config =
            sled::Config::new().path(folder).cache_capacity(u64::from(CACHE_BYTES)).flush_every_ms(None);
        let database = config.open()?;
        let pages = database.open_tree("pages")?;
        let log = File::options().read(true).write(true).open(folder.join("db"))?;
        Ok(Self::on(Disk::Sled { database, pages, log, next: 0 }))
    }

    fn on(disk: Disk) -> Self {
        Self(Mutex::new(State { disk, receipts: HashMap::new(), balances: Balances::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Answers a grant and, if it is new, puts its row behind those that are to be written.
    fn apply(&mut self, grant: &Grant, rows: &mut Vec<u8>) -> Result<Answer> {
        let vacant = match self.receipts.entry(place(grant)) {
            Entry::Occupied(saved) => return Ok(saved.get().replay(grant)),
            Entry::Vacant(vacant) => vacant,
        };
        let saved = Saved::new(self.balances.get(&grant.account).copied().unwrap_or(0), grant)?;
        rows.extend_from_slice(vacant.key());
        rows.extend_from_slice(&saved.row());
        vacant.insert(saved);
        match self.balances.get_mut(&grant.account) {
            Some(balance) => *balance = saved.balance_after,
            None => drop(self.balances.insert(grant.account.clone(), saved.balance_after)),
        }
        Ok(Answer::Applied(saved.balance_after))
    }
}

impl Peer for Floor {
    fn grant(&self, _caller: usize, grant: &Grant) -> Result<Answer> {
        self.grant_batch(&[grant])?.pop().ok_or_else(|| "no answer".into())
    }

    fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        let (mut state, mut rows) = (self.state(), Vec::new());
        let answers = grants.iter().map(|grant| state.apply(grant, &mut rows)).collect::<Result<_>>()?;
        if !rows.is_empty() {
            state.disk.write(&rows)?;
        }
        Ok(answers)
    }

    fn balances(&self) -> Result<Balances> {
        Ok(self.state().balances.clone())
    }
}
