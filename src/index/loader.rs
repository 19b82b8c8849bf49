//! Folds a whole journal in at once: much faster than entry by entry, with the same result (I1, I3).
//!
//! Memory that is far away makes up most of the time of folding. So an entry's account is not looked up by its
//! name, but through the number of the account's entry before it, for a page of entries together; and keys are
//! collected, and put into one part of the table after the other. `store` uses it when it opens a journal or
//! reads one again.

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
    /// The accounts, close together; in the index they stand as they were when they were new.
    accounts: Vec<Account>,
    /// Keys that are not in the table yet, by the part of it that they belong to.
    keys: Vec<Vec<(u64, u64)>>,
    keys_len: usize,
    suspects: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    /// The hash of its names.
    hash: u64,
    state: AccountState,
}

/// The account of an entry that is being folded in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    place: u32,
    hash: u64,
    /// Where it stood when it was looked up.
    pub(crate) state: AccountState,
}

impl Owner {
    /// Whether its names have this hash.
    ///
    /// The hash is keyed at random in each process. That two names of one journal share it by accident, and one
    /// of them stands where the other should, is less likely than that memory fails.
    pub(crate) fn is_named(&self, hash: u64) -> bool {
        self.hash == hash
    }
}

impl Loader {
    /// Begins with an empty journal.
    pub(crate) fn new(store: StoreId) -> Self {
        let index = Index::new(store);
        let keys = (0..index.receipts.parts()).map(|_| Vec::new()).collect();
        Self { index, owners: Vec::new(), accounts: Vec::new(), keys, keys_len: 0, suspects: Vec::new() }
    }

    /// What is folded in so far, but for where the accounts stand, and for the keys.
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

    /// The accounts whose entries these were, as far as they are folded in already.
    pub(crate) fn owners(&self, entries: impl Iterator<Item = u64>) -> Vec<Option<Owner>> {
        // First all places and then all accounts: none waits for another to come from far away.
        let places: Vec<Option<u32>> = entries.map(|entry| self.place_of(entry)).collect();
        places.into_iter().map(|place| self.owner_at(place?)).collect()
    }

    /// The account whose entry this was.
    pub(crate) fn owner(&self, entry: u64) -> Option<Owner> {
        self.owner_at(self.place_of(entry)?)
    }

    /// The same account as it stands now, with what was folded in since it was looked up.
    pub(crate) fn now(&self, owner: Owner) -> Option<Owner> {
        self.owner_at(owner.place)
    }

    fn place_of(&self, entry: u64) -> Option<u32> {
        self.owners.get(usize::try_from(entry.checked_sub(1)?).ok()?).copied()
    }

    fn owner_at(&self, place: u32) -> Option<Owner> {
        let Account { hash, state } = *self.accounts.get(usize::try_from(place).ok()?)?;
        Some(Owner { place, hash, state })
    }

    /// A new account; `None` if it is there already.
    pub(crate) fn new_owner(&mut self, id: AccountId, hash: u64) -> Option<Owner> {
        let (tenant, name) = id.parts();
        if self.index.accounts.place(hash, tenant, name).is_some() {
            return None;
        }
        let place = u32::try_from(self.accounts.len()).ok()?;
        let state = AccountState::default();
        let hasher = self.index.hasher().clone();
        self.index.accounts.insert(&hasher, hash, id, state);
        self.accounts.push(Account { hash, state });
        Some(Owner { place, hash, state })
    }

    /// Folds in the next entry: its account stands at `state` after it, and its key has `receipt_hash`.
    pub(crate) fn entry(&mut self, owner: Owner, state: AccountState, receipt_hash: u64) {
        if let Some(account) = usize::try_from(owner.place).ok().and_then(|at| self.accounts.get_mut(at)) {
            account.state = state;
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
        let seen = self.index.receipts.insert_parts(&self.keys);
        self.suspects.extend(seen.into_iter().take(SUSPECTS_MAX.saturating_sub(self.suspects.len())));
        self.keys.iter_mut().for_each(Vec::clear);
        self.keys_len = 0;
    }

    /// The finished index, and pairs of entries whose keys have one hash and may be one key.
    pub(crate) fn finish(mut self) -> (Index, Vec<(u64, u64)>) {
        self.insert_keys();
        for (place, account) in self.accounts.iter().enumerate() {
            self.index.accounts.set_at(place, account.state);
        }
        (self.index, self.suspects)
    }
}

#[cfg(test)]
mod tests;
