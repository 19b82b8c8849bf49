//! Counts for operators of a worker.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// What a worker has done since it was started, and what is in it. [`Worker::stats`](super::Worker::stats) gives it.
///
/// Each figure is read by itself: while the worker is at work they need not fit each other to the last command.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::worker::Worker;
/// use pointstore::{Command, PointStore, Points};
///
/// let worker = Worker::builder(PointStore::temporary()?).capacity(8).spawn()?;
/// let command = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
/// worker.apply_blocking(command)?;
/// worker.shutdown_blocking();
/// let stats = worker.stats();
/// assert_eq!((stats.capacity, stats.queued, stats.accepted, stats.answered), (8, 0, 1, 1));
/// assert_eq!((stats.batches, stats.largest_batch), (1, 1));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WorkerStats {
    /// How many commands the queue holds at most.
    pub capacity: u64,
    /// Commands in the queue now.
    pub queued: u64,
    /// Commands that the store is at work on now.
    pub delivering: u64,
    /// Commands that were taken into the queue.
    pub accepted: u64,
    /// Accepted commands that were answered, whatever the answer was and whether or not anybody listened.
    pub answered: u64,
    /// Commands that were turned away because the queue was full.
    pub busy: u64,
    /// Accepted commands whose time was over before they were given to the store.
    pub expired: u64,
    /// Commands that the store was given and whose callers the worker told *outcome unknown*: their limit was over, or
    /// the answer did not come back.
    pub in_doubt: u64,
    /// Batches that were given to the store.
    pub batches: u64,
    /// Commands of the largest batch.
    pub largest_batch: u64,
    /// How often the store was opened again after it had failed.
    pub reopened: u64,
    /// How often that did not succeed.
    pub reopen_failures: u64,
}

/// What is counted as it happens.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: Counter,
    pub(super) answered: Counter,
    pub(super) busy: Counter,
    pub(super) expired: Counter,
    pub(super) in_doubt: Counter,
    pub(super) batches: Counter,
    pub(super) largest_batch: Counter,
    pub(super) reopened: Counter,
    pub(super) reopen_failures: Counter,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn at_least(&self, count: usize) {
        self.0.fetch_max(count as u64, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
