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
    /// For each entry, from number 1 on, its account.
    owners: Vec<Owner>,
    /// The accounts, close together; in the index they stand as they were when they were new.
    accounts: Vec<Account>,
    /// The hashes of the newest keys, which are not in the table yet.
    keys: Vec<u64>,
    suspects: Vec<(u64, u64)>,
}

/// Aligned so that none lies in two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Account {
    /// The hash of its names.
    hash: u64,
    state: AccountState,
}

/// The account of an entry that is being folded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u32);

impl Loader {
    /// Begins with an empty journal.
    pub(crate) fn new(store: StoreId) -> Self {
        let index = Index::new(store);
        Self { index, owners: Vec::new(), accounts: Vec::new(), keys: Vec::new(), suspects: Vec::new() }
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

    /// The accounts whose entries these were, as far as they are folded in already; each entry comes with the hash
    /// of the names that its account should have.
    pub(crate) fn owners(&self, entries: impl Iterator<Item = (u64, u64)> + Clone) -> Vec<Option<Owner>> {
        // First all places and then all accounts: none waits for another to come from far away.
        let mut owners: Vec<_> = entries.clone().map(|(entry, _)| self.owner_of(entry)).collect();
        for (owner, (_, hash)) in owners.iter_mut().zip(entries) {
            *owner = owner.filter(|owner| self.is_named(*owner, hash));
        }
        owners
    }

    /// The account whose entry this was, if its names have this hash.
    ///
    /// The hash is keyed at random in each process. That two names of one journal share it by accident, and one
    /// of them stands where the other should, is less likely than that memory fails.
    pub(crate) fn owner(&self, entry: u64, hash: u64) -> Option<Owner> {
        self.owner_of(entry).filter(|owner| self.is_named(*owner, hash))
    }

    fn owner_of(&self, entry: u64) -> Option<Owner> {
        self.owners.get(usize::try_from(entry.checked_sub(1)?).ok()?).copied()
    }

    fn is_named(&self, owner: Owner, hash: u64) -> bool {
        self.account(owner).is_some_and(|account| account.hash == hash)
    }

    fn account(&self, Owner(place): Owner) -> Option<&Account> {
        self.accounts.get(usize::try_from(place).ok()?)
    }

    /// Where an account stands.
    pub(crate) fn state(&self, owner: Owner) -> AccountState {
        self.account(owner).map(|account| account.state).unwrap_or_default()
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
        Some(Owner(place))
    }

    /// Folds in the next entry, the one that follows all that were folded in: its account stands at `state` after it,
    /// and its key has `receipt_hash`.
    pub(crate) fn entry(&mut self, owner: Owner, state: AccountState, receipt_hash: u64) {
        if let Some(account) = usize::try_from(owner.0).ok().and_then(|at| self.accounts.get_mut(at)) {
            account.state = state;
        }
        self.owners.push(owner);
        debug_assert_eq!(self.owners.len() as u64, state.last, "entries come in order");
        self.keys.push(receipt_hash);
        if self.keys.len() >= KEYS_MAX {
            self.insert_keys();
        }
    }

    fn insert_keys(&mut self) {
        let seen = self.index.receipts.insert_next(&self.keys);
        self.suspects.extend(seen.into_iter().take(SUSPECTS_MAX.saturating_sub(self.suspects.len())));
        self.keys.clear();
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
