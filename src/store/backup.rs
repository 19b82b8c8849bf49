//! Copies a running store into a new directory (I2, I3).
//!
//! Pages are immutable, so a copy of all of them up to some group is the store as it was then.

use std::path::Path;

use super::PointStore;
use super::open::{mark_of, position_of};
use crate::commit::read_bytes;
use crate::engine::{Engine, Missing, NewPage, SledEngine};
use crate::error::{BackupError, OpenError, ReadError};
use crate::index::Tail;
use crate::journal::Page;
use crate::limits::GROUP_PAGES_MAX;
use crate::types::Position;

/// What a backup holds.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::{PointStore, Points};
///
/// let folder = tempfile::tempdir()?;
/// let store = PointStore::temporary()?;
/// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
/// let report = store.backup(folder.path().join("copy"))?;
/// assert_eq!((report.entries(), report.pages()), (1, 1));
/// assert_eq!(report.position(), store.position());
///
/// let copy = PointStore::open(folder.path().join("copy"))?;
/// assert_eq!(copy.balance(&"alice".parse()?).get(), 5);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupReport {
    pages: u64,
    position: Position,
}

impl BackupReport {
    /// Entries that it holds.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.position.entries()
    }

    /// Pages that were copied.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Where the journal ended when the backup began; it goes that far.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }
}

impl PointStore {
    /// Copies the store as it is now into a directory that does not exist yet or is empty.
    ///
    /// Commands and reads go on meanwhile; what is acknowledged after the call began is not in the copy. The
    /// copy is a store of its own with the same identity: open it, or keep it. Do not write to both.
    ///
    /// # Errors
    ///
    /// [`BackupError::Open`] where the directory cannot be used, [`BackupError::Read`] where a page of this
    /// store cannot be read, [`BackupError::Storage`] where writing the copy fails. This store is as it was;
    /// what is left of the copy does not open, and may be removed.
    ///
    /// See [`BackupReport`] for an example.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport, BackupError> {
        self.check_open()?;
        let committer = &self.inner.committer;
        let tail = committer.published().tail;
        let copy = self.inner.builder.engine(to.as_ref(), Missing::Copy(committer.engine().store()))?;
        match self.copy_pages(&copy, &tail) {
            Ok(pages) => Ok(BackupReport { pages, position: position_of(&tail) }),
            Err(error) => {
                copy.reject();
                Err(error)
            }
        }
    }

    fn copy_pages(&self, copy: &SledEngine, tail: &Tail) -> Result<u64, BackupError> {
        let io = |fault| BackupError::Open(OpenError::Io(fault));
        let (mut next, mut pages) = (1, 0_u64);
        while next < tail.next {
            let mut batch: Vec<NewPage> = Vec::with_capacity(GROUP_PAGES_MAX);
            while next < tail.next && batch.len() < GROUP_PAGES_MAX {
                let (end, page) = self.page_from(next)?;
                batch.push(page);
                next = end;
            }
            copy.room().map_err(|s| OpenError::DiskFull { available: s.available, needed: s.needed })?;
            copy.append(&batch).and_then(|()| copy.sync()).map_err(io)?;
            pages = pages.saturating_add(batch.len() as u64);
        }
        let mark = mark_of(tail);
        copy.accept(mark).and_then(|()| copy.close(Some(mark))).map_err(io)?;
        Ok(pages)
    }

    /// The page that begins with an entry, and the number behind it.
    fn page_from(&self, first: u64) -> Result<(u64, NewPage), ReadError> {
        let engine = self.inner.committer.engine();
        self.closed_or(read_bytes(engine, first, first, |bytes| {
            let corrupt = |what: &str| ReadError::Corrupt { entry: first, what: what.into() };
            let page =
                Page::parse(engine.store(), first, bytes).map_err(|error| corrupt(&error.to_string()))?;
            let end = page.end().ok_or_else(|| corrupt("the page has no end"))?;
            Ok((end, (first, bytes.to_vec())))
        }))
    }
}
