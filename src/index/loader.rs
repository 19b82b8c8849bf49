//! Folds a whole journal in at once: much faster than entry by entry, with the same result (I1, I3).
//!
//! Two things make up most of the time of folding: looking up the account of each entry by its name, and
//! putting each key into a table far larger than the processor's caches. Here an entry's account is found
//! through the number of the account's entry before it, and keys are collected and put into one part of the
//! table after the other. `store` uses it when it opens a journal or reads one again.

use super::{Index, KeyHasher};
use crate::journal::StoreId;
use crate::rules::AccountState;
use crate::types::AccountId;

/// Keys that are collected before they are put into the table.
const KEYS_MAX: usize = 1 << 20;

/// Places whose keys have one hash, of which no more than so many are kept: so many are no accident.
const SUSPECTS_MAX: usize = 1000;

/// An index while a journal is folded in.
#[derive(Debug)]
pub(crate) struct Loader {
    index: Index,
    /// For each entry, from number 1 on, the place of its account.
    owners: Vec<u32>,
    /// For each account the hash of its names.
    account_hashes: Vec<u64>,
    /// Keys that are not in the table yet, by the part of it that they belong to.
    keys: Vec<Vec<(u64, u64)>>,
    keys_len: usize,
    suspects: Vec<(u64, u64)>,
}

/// The account of an entry that is being folded in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    place: u32,
    /// Where it stands before the entry.
    pub(crate) state: AccountState,
}

impl Loader {
    /// Begins with an empty journal.
    pub(crate) fn new(store: StoreId) -> Self {
        let index = Index::new(store);
        let keys = (0..index.receipts.parts()).map(|_| Vec::new()).collect();
        Self {
            index,
            owners: Vec::new(),
            account_hashes: Vec::new(),
            keys,
            keys_len: 0,
            suspects: Vec::new(),
        }
    }

    /// What is folded in so far, but for the keys.
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The same, to set what is not said of single entries.
    pub(crate) fn index_mut(&mut self) -> &mut Index {
        &mut self.index
    }

    /// How names are hashed.
    pub(crate) fn hasher(&self) -> &KeyHasher {
        self.index.hasher()
    }

    /// The account whose entry `previous` was, if its names have this hash.
    ///
    /// The hash is keyed at random in each process. That two names of one journal share it by accident, and one
    /// of them stands where the other should, is less likely than that memory fails.
    pub(crate) fn owner(&self, previous: u64, account_hash: u64) -> Option<Owner> {
        let at = usize::try_from(previous.checked_sub(1)?).ok()?;
        let place = *self.owners.get(at)?;
        let row = usize::try_from(place).ok()?;
        if *self.account_hashes.get(row)? != account_hash {
            return None;
        }
        self.index.accounts.at(row).map(|(_, state)| Owner { place, state })
    }

    /// A new account; `None` if it is there already.
    pub(crate) fn new_owner(&mut self, id: AccountId, account_hash: u64) -> Option<Owner> {
        let (tenant, name) = id.parts();
        if self.index.accounts.place(account_hash, tenant, name).is_some() {
            return None;
        }
        let place = u32::try_from(self.index.accounts.len()).ok()?;
        let hasher = self.index.hasher().clone();
        self.index.accounts.insert(&hasher, account_hash, id, AccountState::default());
        self.account_hashes.push(account_hash);
        Some(Owner { place, state: AccountState::default() })
    }

    /// Folds in the next entry: its account stands at `state` after it, and its key has `receipt_hash`.
    pub(crate) fn entry(&mut self, owner: Owner, state: AccountState, receipt_hash: u64) {
        if let Ok(row) = usize::try_from(owner.place) {
            self.index.accounts.set_at(row, state);
        }
        self.owners.push(owner.place);
        if let Some(part) = self.keys.get_mut(self.index.receipts.part_of(receipt_hash)) {
            part.push((receipt_hash, state.last));
        }
        self.keys_len = self.keys_len.saturating_add(1);
        if self.keys_len >= KEYS_MAX {
            self.insert_keys();
        }
    }

    fn insert_keys(&mut self) {
        for keys in &mut self.keys {
            self.index.receipts.insert_part(keys, |earlier, later| {
                if self.suspects.len() < SUSPECTS_MAX {
                    self.suspects.push((earlier, later));
                }
            });
            keys.clear();
        }
        self.keys_len = 0;
    }

    /// The finished index, and pairs of entries whose keys have one hash and may be one key.
    pub(crate) fn finish(mut self) -> (Index, Vec<(u64, u64)>) {
        self.insert_keys();
        (self.index, self.suspects)
    }
}
