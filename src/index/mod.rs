//! What the journal folds into, in memory: accounts, receipts by key, pages, and where the journal ends.
//!
//! Everything here can be folded again from the journal and nothing else is kept (I3). `commit` folds a group
//! in once it is durable (I8); `store` folds the whole journal when it opens one, and answers reads from it.

mod accounts;
mod chunked;
mod loader;
mod pages;
mod receipts;
mod sharded;

use std::hash::BuildHasher;

use foldhash::quality::RandomState;

use crate::journal::{Chain, StoreId};
use crate::types::{AccountId, Operation, Timestamp};

pub(crate) use accounts::Accounts;
pub(crate) use loader::{Loader, Owner};
pub(crate) use pages::Pages;
pub(crate) use receipts::Receipts;

/// Where the journal ends, and what it adds up to there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The number of the next entry.
    pub(crate) next: u64,
    /// The chain over all entries.
    pub(crate) chain: Chain,
    /// Points ever granted, over all accounts.
    pub(crate) granted: u128,
    /// Points ever redeemed, over all accounts.
    pub(crate) redeemed: u128,
    /// The time of the newest group.
    pub(crate) time: Timestamp,
}

impl Tail {
    /// The end of an empty journal.
    pub(crate) fn empty(store: StoreId) -> Self {
        Self {
            next: 1,
            chain: Chain::seed(store),
            granted: 0,
            redeemed: 0,
            time: Timestamp::from_unix_millis(0),
        }
    }
}

/// The fold of a journal.
#[derive(Debug)]
pub(crate) struct Index {
    hasher: KeyHasher,
    /// Where each account stands.
    pub(crate) accounts: Accounts,
    /// The entry of each key.
    pub(crate) receipts: Receipts,
    /// The page of each entry.
    pub(crate) pages: Pages,
    /// Where the journal ends.
    pub(crate) tail: Tail,
}

impl Index {
    /// The fold of an empty journal.
    pub(crate) fn new(store: StoreId) -> Self {
        Self {
            hasher: KeyHasher::default(),
            accounts: Accounts::default(),
            receipts: Receipts::default(),
            pages: Pages::default(),
            tail: Tail::empty(store),
        }
    }

    /// How this index hashes names.
    pub(crate) fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Bytes of memory it takes, names included, as far as it can count them.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.accounts
            .memory_bytes()
            .saturating_add(self.receipts.memory_bytes())
            .saturating_add(self.pages.memory_bytes())
    }
}

/// The keyed hash of names.
///
/// Its key is random in each process and no hash leaves it, which makes it hard to choose names that collide. Should
/// some collide all the same, looking them up is slow and never wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyHasher(RandomState);

impl KeyHasher {
    /// The hash of an account.
    pub(crate) fn account(&self, id: &AccountId) -> u64 {
        let (tenant, name) = id.parts();
        self.names(tenant, name)
    }

    /// The same from its names.
    pub(crate) fn names(&self, tenant: &str, name: &str) -> u64 {
        self.0.hash_one((tenant, name))
    }

    /// The hash of (account, operation, key), from that of the account.
    pub(crate) fn receipt(&self, account_hash: u64, operation: Operation, key: &str) -> u64 {
        self.0.hash_one((account_hash, operation.code(), key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::AccountState;

    #[test]
    fn memory_is_counted_of_accounts_their_names_receipts_and_pages() {
        let mut index = Index::new(StoreId([1; 16]));
        let hasher = index.hasher().clone();
        let mut before = index.memory_bytes();
        let mut grows_by = |index: &Index, part: &str, least: u64, most: u64| {
            let grown = index.memory_bytes().saturating_sub(before);
            assert!((least..=most).contains(&grown), "{part}: {grown}");
            before = index.memory_bytes();
        };
        for number in 1..=10_000 {
            index.receipts.insert(hasher.receipt(number, Operation::Grant, "k"), number);
        }
        grows_by(&index, "receipts", 160_000, 500_000);
        for name in 0..1_000 {
            let id = AccountId::new(format!("{name:0100}")).unwrap();
            index.accounts.set(&hasher, hasher.account(&id), &id, AccountState::default());
        }
        grows_by(&index, "accounts", 150_000, 400_000);
        for first in 0..4_096 {
            index.pages.push(first, 1);
        }
        grows_by(&index, "pages", 32_768, 40_000);
    }

    // The table of keys rests on it: names with one hash are told apart by reading, slowly.
    #[test]
    fn whatever_names_differ_in_their_hashes_differ() {
        let hasher = KeyHasher::default();
        let names = [("", "a"), ("a", ""), ("t", "a"), ("ta", ""), ("", "ta"), ("a", "t"), ("", "")];
        let mut hashes: Vec<u64> = names.iter().map(|(tenant, name)| hasher.names(tenant, name)).collect();
        let id = AccountId::in_tenant("t", "a").unwrap();
        assert_eq!(hasher.account(&id), hashes[2]);
        hashes.extend([
            hasher.receipt(1, Operation::Grant, "k"),
            hasher.receipt(1, Operation::Redeem, "k"),
            hasher.receipt(2, Operation::Grant, "k"),
            hasher.receipt(1, Operation::Grant, "l"),
        ]);
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
        assert_ne!(KeyHasher::default().names("", "a"), hasher.names("", "a"), "the key is random");
    }
}
