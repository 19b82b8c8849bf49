//! What nobody who syncs before he answers can be faster than by much: maps in memory, and a log that each batch is
//! appended to with one write and one fdatasync.
//!
//! It never reads the log again, so it is no ledger. It stands for what the hand-over between the callers, the harness
//! itself and the disk cost together, whoever keeps the ledger.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Answer, Balances, Peer, Saved, place};
use crate::Result;
use crate::work::Grant;

pub(super) struct Floor(Mutex<State>);

struct State {
    log: File,
    receipts: HashMap<Vec<u8>, Saved>,
    balances: Balances,
}

impl Floor {
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let log = File::create(folder.join("log"))?;
        Ok(Self(Mutex::new(State { log, receipts: HashMap::new(), balances: Balances::new() })))
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
            state.log.write_all(&rows)?;
            state.log.sync_data()?;
        }
        Ok(answers)
    }

    fn balances(&self) -> Result<Balances> {
        Ok(self.state().balances.clone())
    }
}
