//! Counts for operators.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::PointStore;
use crate::observe::Answers;

/// What a store has done since it was opened, and what it holds.
///
/// Commands of an atomic list count each; a list that is refused counts once.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::{PointStore, Points};
///
/// let store = PointStore::temporary()?;
/// let alice = "alice".parse()?;
/// store.grant(&alice, &"order-1".parse()?, Points::new(5)?)?;
/// store.grant(&alice, &"order-1".parse()?, Points::new(5)?)?;
/// store.redeem(&alice, &"gift-1".parse()?, Points::new(9)?).unwrap_err();
/// let stats = store.stats();
/// assert_eq!((stats.applied, stats.replayed, stats.insufficient_points), (1, 1, 1));
/// assert_eq!((stats.receipts, stats.accounts, stats.groups), (1, 1, 1));
/// assert_eq!((stats.points_granted, stats.points_redeemed), (5, 0));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Commands that had their effect, since opening.
    pub applied: u64,
    /// Commands that had had their effect before, since opening.
    pub replayed: u64,
    /// Commands whose key had been used for something else, since opening.
    pub key_reused: u64,
    /// Commands that expected another sequence, since opening.
    pub sequence_mismatch: u64,
    /// Redemptions of more points than there were, since opening.
    pub insufficient_points: u64,
    /// Grants that would have made a balance too large, since opening.
    pub balance_overflow: u64,
    /// Lists that were out of bounds, since opening.
    pub invalid: u64,
    /// Commands that the store could not carry out or could not answer for, since opening.
    pub storage_errors: u64,
    /// Groups written, since opening: so many transactions and syncs.
    pub groups: u64,
    /// Entries of the largest group, since opening.
    pub largest_group: u64,
    /// Receipts in the store.
    pub receipts: u64,
    /// Accounts with at least one receipt.
    pub accounts: u64,
    /// Journal pages in the store.
    pub pages: u64,
    /// Bytes of these pages; the engine's files take more.
    pub page_bytes: u64,
    /// Bytes of memory that the index takes, as far as it can be counted; the engine's cache comes on top.
    pub index_bytes: u64,
    /// Points ever granted, over all accounts.
    pub points_granted: u128,
    /// Points ever redeemed, over all accounts.
    pub points_redeemed: u128,
}

impl PointStore {
    /// What the store has done since it was opened, and what it holds. See [`Stats`] for an example.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let groups = self.inner.committer.group_counts();
        let counters = &self.inner.counters;
        let index = self.inner.committer.published();
        Stats {
            applied: counters.applied.load(Ordering::Relaxed),
            replayed: counters.replayed.load(Ordering::Relaxed),
            key_reused: counters.key_reused.load(Ordering::Relaxed),
            sequence_mismatch: counters.sequence_mismatch.load(Ordering::Relaxed),
            insufficient_points: counters.insufficient_points.load(Ordering::Relaxed),
            balance_overflow: counters.balance_overflow.load(Ordering::Relaxed),
            invalid: counters.invalid.load(Ordering::Relaxed),
            storage_errors: counters.storage_errors.load(Ordering::Relaxed),
            groups: groups.groups,
            largest_group: groups.largest,
            receipts: index.receipts.len(),
            accounts: index.accounts.len() as u64,
            pages: index.pages.len() as u64,
            page_bytes: index.pages.page_bytes(),
            index_bytes: index.memory_bytes(),
            points_granted: index.tail.granted,
            points_redeemed: index.tail.redeemed,
        }
    }
}

/// Counts answers as they are given.
#[derive(Debug, Default)]
pub(super) struct Counters {
    applied: AtomicU64,
    replayed: AtomicU64,
    key_reused: AtomicU64,
    sequence_mismatch: AtomicU64,
    insufficient_points: AtomicU64,
    balance_overflow: AtomicU64,
    invalid: AtomicU64,
    storage_errors: AtomicU64,
}

impl Counters {
    pub(super) fn add(&self, answers: &Answers) {
        let storage_errors = [
            answers.not_attempted,
            answers.outcome_unknown,
            answers.unavailable,
            answers.corrupt,
            answers.closed,
        ];
        add(&self.applied, answers.applied);
        add(&self.replayed, answers.replayed);
        add(&self.key_reused, answers.key_reused);
        add(&self.sequence_mismatch, answers.sequence_mismatch);
        add(&self.insufficient_points, answers.insufficient_points);
        add(&self.balance_overflow, answers.balance_overflow);
        add(&self.invalid, answers.invalid);
        add(&self.storage_errors, storage_errors.iter().fold(0, |sum, n| sum.saturating_add(*n)));
    }
}

fn add(counter: &AtomicU64, by: u64) {
    // Most are zero, and what is not touched stays in everybody's cache.
    if by > 0 {
        counter.fetch_add(by, Ordering::Relaxed);
    }
}
