//! What opening a store reports, while it goes on and when it is done.

use std::fmt;
use std::time::Duration;

use crate::types::Position;

/// How far an opening has got.
///
/// Given to the callback of [`Builder::on_progress`](crate::Builder::on_progress).
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
/// use pointstore::{PointStore, Points};
///
/// let folder = tempfile::tempdir()?;
/// let store = PointStore::open(folder.path())?;
/// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
/// store.close()?;
///
/// let done = Arc::new(AtomicU64::new(0));
/// let seen = Arc::clone(&done);
/// let store = PointStore::builder()
///     .on_progress(move |progress| {
///         println!("{} of about {}", progress.done(), progress.expected());
///         seen.store(progress.done(), Ordering::Relaxed);
///     })
///     .open(folder.path())?;
/// assert_eq!(done.load(Ordering::Relaxed), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub(super) done: u64,
    pub(super) expected: u64,
}

impl Progress {
    /// How many entries have been read and checked.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// How many there should be: as many as are known to be acknowledged. After a crash there may be some more.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.expected
    }
}

/// What was found when a store was opened, and what was done about it.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::{PointStore, Points};
///
/// let folder = tempfile::tempdir()?;
/// let store = PointStore::open(folder.path())?;
/// assert!(store.opened().created());
/// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
/// store.close()?;
///
/// let store = PointStore::open(folder.path())?;
/// let report = store.opened();
/// assert!(report.was_clean() && !report.created());
/// assert_eq!((report.entries(), report.accounts()), (1, 1));
/// assert!(report.copied_bytes() > 0);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReport {
    pub(super) created: bool,
    pub(super) clean: bool,
    pub(super) copied_bytes: u64,
    pub(super) entries: u64,
    pub(super) accounts: u64,
    pub(super) unconfirmed: u64,
    pub(super) dropped_pages: u64,
    pub(super) position: Position,
    pub(super) took: Duration,
}

impl OpenReport {
    /// Whether the store was made by this opening.
    #[must_use]
    pub fn created(&self) -> bool {
        self.created
    }

    /// Whether the store had been closed, and its files were as they were then.
    ///
    /// After a crash or a power cut it is not.
    #[must_use]
    pub fn was_clean(&self) -> bool {
        self.clean
    }

    /// Bytes that were copied, so that the engine opened a copy; 0 for a new store, and where there was no room for
    /// one after a clean stop.
    #[must_use]
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// Entries in the journal: receipts over all accounts. All have been checked.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Accounts with at least one receipt.
    #[must_use]
    pub fn accounts(&self) -> u64 {
        self.accounts
    }

    /// Entries found whole beyond the newest watermark.
    ///
    /// They were written just before the stop. Some may never have been acknowledged; they are kept, and a
    /// retry of their commands is a replay.
    #[must_use]
    pub fn unconfirmed(&self) -> u64 {
        self.unconfirmed
    }

    /// Pages of an unfinished last group, which nobody was ever told of; they were dropped.
    #[must_use]
    pub fn dropped_pages(&self) -> u64 {
        self.dropped_pages
    }

    /// Where the journal ended when it was opened.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// How long opening took, from the call to the answer.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.took
    }
}

impl fmt::Display for OpenReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match (self.created, self.clean) {
            (true, _) => "created",
            (false, true) => "opened after a clean stop",
            (false, false) => "opened after an unclean stop",
        };
        write!(f, "{how}, entries={} accounts={}", self.entries, self.accounts)?;
        if !self.clean {
            write!(
                f,
                " copied_bytes={} unconfirmed={} dropped_pages={}",
                self.copied_bytes, self.unconfirmed, self.dropped_pages
            )?;
        }
        write!(f, " took_ms={}", self.took.as_millis())
    }
}
