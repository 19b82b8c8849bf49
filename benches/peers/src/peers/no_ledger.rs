//! For reference, what a ledger costs beside none: maps in memory, and rows that are written and synced, and never read
//! again.
//!
//! [`Disk::Log`] has one write and one fdatasync a batch, behind the same hand-over between callers as the peers, over
//! zeros that were written before anything is measured, so that a sync has only bytes to write: next to nothing besides.
//! [`Disk::Sled`] has the same over the engine that the store is on: transactions of as many pages as a power cut
//! allows, each with a flush and an fdatasync, but without the store's walk over the leaf that it wrote to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sled::Tree;
use sled::transaction::{ConflictableTransactionError, TransactionError};

use super::sled::Engine;
use super::{Answer, Balances, Peer, Saved, place};
use crate::Result;
use crate::work::Grant;

/// Bytes of a page, and pages of a transaction: the store's own bounds.
const PAGE_LEN: usize = 4096;
const PAGES: usize = 8;

/// Bytes of zeros that a log has ahead.
const AHEAD: usize = if cfg!(test) { 1 << 16 } else { 256 << 20 };

pub(super) struct NoLedger(Mutex<State>);

struct State {
    disk: Disk,
    receipts: HashMap<Vec<u8>, Saved>,
    balances: Balances,
}

/// Where rows go.
enum Disk {
    Log(Log),
    Sled { engine: Engine, pages: Tree, next: u64 },
}

impl Disk {
    /// Makes rows durable.
    fn write(&mut self, rows: &[u8]) -> Result<()> {
        match self {
            Self::Log(log) => log.append(rows)?,
            Self::Sled { engine, pages, next } => {
                for group in rows.chunks(PAGES * PAGE_LEN) {
                    append(pages, *next, group)?;
                    *next += PAGES as u64;
                    engine.sync()?;
                }
            }
        }
        Ok(())
    }
}

struct Log {
    file: File,
    len: u64,
    /// Up to where there are zeros.
    made: u64,
}

impl Log {
    fn create(path: &Path) -> Result<Self> {
        let mut log = Self { file: File::create(path)?, len: 0, made: 0 };
        log.make_ahead()?;
        Ok(log)
    }

    fn make_ahead(&mut self) -> Result<()> {
        let zeros = vec![0; 1 << 16];
        for _ in 0..AHEAD / zeros.len() {
            self.file.write_all_at(&zeros, self.made)?;
            self.made += zeros.len() as u64;
        }
        Ok(self.file.sync_all()?)
    }

    fn append(&mut self, rows: &[u8]) -> Result<()> {
        while self.made < self.len + rows.len() as u64 {
            self.make_ahead()?;
        }
        self.file.write_all_at(rows, self.len)?;
        self.len += rows.len() as u64;
        Ok(self.file.sync_data()?)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Err(error) = self.file.set_len(self.len) {
            eprintln!("the log was not cut: {error}");
        }
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

impl NoLedger {
    pub(super) fn on_log(folder: &Path) -> Result<Self> {
        Ok(Self::on(Disk::Log(Log::create(&folder.join("log"))?)))
    }

    pub(super) fn on_sled(folder: &Path) -> Result<Self> {
        let engine = Engine::open(folder, true)?;
        let pages = engine.tree("pages")?;
        Ok(Self::on(Disk::Sled { engine, pages, next: 0 }))
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

impl Peer for NoLedger {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::grant;

    /// Grants more than fits a transaction, and gives what should be on the disk.
    fn grant_many(peer: &NoLedger) -> Vec<u8> {
        let grants: Vec<Grant> = (0..1500).map(|index| grant(0, index, 10)).collect();
        peer.grant_batch(&grants.iter().collect::<Vec<_>>()).unwrap();
        let known =
            |grant: &Grant| [place(grant), peer.state().receipts[&place(grant)].row().to_vec()].concat();
        let rows: Vec<u8> = grants.iter().flat_map(known).collect();
        assert!(rows.len() > 2 * PAGES * PAGE_LEN);
        rows
    }

    #[test]
    fn every_row_is_in_the_log_once_and_none_for_a_replay() {
        let folder = tempfile::tempdir().unwrap();
        let peer = NoLedger::on_log(folder.path()).unwrap();
        let rows = grant_many(&peer);
        grant_many(&peer);
        drop(peer);
        assert!(std::fs::read(folder.path().join("log")).unwrap() == rows);
    }

    #[test]
    fn every_row_is_in_a_page_of_sled_once() {
        let folder = tempfile::tempdir().unwrap();
        let peer = NoLedger::on_sled(folder.path()).unwrap();
        let rows = grant_many(&peer);
        grant_many(&peer);
        let state = peer.state();
        let Disk::Sled { pages, .. } = &state.disk else { panic!("not on sled") };
        let found: Vec<u8> = pages.iter().values().flat_map(|page| page.unwrap().to_vec()).collect();
        assert!(found == rows);
    }
}
