//! The seam to what keeps the journal's pages: append, sync, read, scan, and a watermark.
//!
//! An engine moves numbered pages and knows no points. Its promises: what `append` wrote is there as a whole
//! or not at all after any crash (I2), what `sync` confirmed stays (I7), and an error means that nothing
//! further is promised (I10). `commit` appends through it, `store` opens and reads through it.

#[cfg(any(test, feature = "testing"))]
pub(crate) mod sim;
mod sled;

use std::fmt::Debug;
use std::path::Path;

use crate::error::Fault;
use crate::journal::StoreId;

pub(crate) use self::sled::{Carved, Missing, SledEngine, SledOptions};

/// How far the journal had got: kept outside it, so that its loss can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number of the next entry.
    pub(crate) next: u64,
    /// The chain before that entry.
    pub(crate) chain: u32,
}

/// What an engine found when it opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The newest watermark.
    pub(crate) mark: Mark,
    /// Whether the store was created just now.
    pub(crate) created: bool,
    /// Whether it had been closed, and its files were as they were then.
    pub(crate) clean: bool,
    /// How many bytes were copied so that recovery works on a copy.
    pub(crate) copied_bytes: u64,
}

/// Too little room to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortage {
    /// Bytes that are free.
    pub(crate) available: u64,
    /// Bytes that must be.
    pub(crate) needed: u64,
}

/// A page to append: the number of its first entry, and its bytes.
pub(crate) type NewPage = (u64, Vec<u8>);

/// Keeps pages under the numbers of their first entries.
///
/// Opened, it is scanned and judged; then `accept` or `reject` is called once, and only after `accept` the rest.
pub(crate) trait Engine: Send + Sync + Debug {
    /// The identity of the store it keeps.
    fn store(&self) -> StoreId;

    /// What it found when it opened.
    fn found(&self) -> Found;

    /// Hands some pages to `visit`, by rising number from `from` on, and says from where to go on, if there
    /// may be more.
    fn scan(&self, from: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<Option<u64>, Fault>;

    /// Removes the pages from a number on.
    fn truncate(&self, from: u64) -> Result<(), Fault>;

    /// The journal is sound and ends at `mark`: makes everything durable and begins to serve.
    fn accept(&self, mark: Mark) -> Result<(), Fault>;

    /// The journal is not sound: lets go, and leaves what was found as it was found.
    fn reject(&self);

    /// Whether there is room for another group.
    fn room(&self) -> Result<(), Shortage>;

    /// Appends the pages of one group, all or none.
    fn append(&self, pages: &[NewPage]) -> Result<(), Fault>;

    /// Makes durable what was appended.
    fn sync(&self) -> Result<(), Fault>;

    /// Remembers how far the journal has got; itself made durable now and then.
    fn mark(&self, mark: Mark) -> Result<(), Fault>;

    /// Hands the page with this first number to `read`, unless there is none.
    fn page(&self, first: u64, read: &mut dyn FnMut(&[u8])) -> Result<(), Fault>;

    /// Whether a path lies within what it keeps, where nothing else may be put.
    fn keeps(&self, path: &Path) -> bool;

    /// Ends it in order, with everything durable; `None` ends it without writing, as after an error.
    fn close(&self, mark: Option<Mark>) -> Result<(), Fault>;
}
