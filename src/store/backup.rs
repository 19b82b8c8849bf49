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
    /// Copies the store as it is now into a directory that does not exist yet or is empty, outside the store's own.
    ///
    /// Commands and reads go on meanwhile; what is acknowledged after the call began is not in the copy. The
    /// copy is a store of its own with the same identity: open it, or keep it. Do not write to both.
    ///
    /// # Errors
    ///
    /// [`BackupError::Open`] where the directory cannot be used or written, [`BackupError::Read`] where a page of
    /// this store cannot be read. This store is as it was. What is left of the copy is not taken for a store unless
    /// it is whole, and may be removed.
    ///
    /// See [`BackupReport`] for an example.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport, BackupError> {
        self.check_open()?;
        let committer = &self.inner.committer;
        if committer.engine().keeps(to.as_ref()) {
            let what = "a backup cannot be made inside the store itself";
            return Err(OpenError::Unsupported { what: what.into() }.into());
        }
        let tail = committer.published().tail;
        let copy = self.inner.builder.engine(to.as_ref(), Missing::Copy(committer.engine().store()))?;
        let mut next = 1;
        let copied = append_all(&copy, || {
            if next >= tail.next {
                return Ok(None);
            }
            let (end, page) = self.page_from(next)?;
            next = end;
            Ok::<_, BackupError>(Some(page))
        });
        match copied.and_then(|pages| finish(&copy, &tail).map(|()| pages).map_err(BackupError::Open)) {
            Ok(pages) => Ok(BackupReport { pages, position: position_of(&tail) }),
            Err(error) => {
                copy.reject();
                Err(error)
            }
        }
    }

    /// The page that begins with an entry, and the number behind it.
    fn page_from(&self, first: u64) -> Result<(u64, NewPage), ReadError> {
        let engine = self.inner.committer.engine();
        self.closed_or(read_bytes(engine, first, first, |bytes| {
            let corrupt = |what: &str| ReadError::corrupt(first, what);
            let page =
                Page::parse(engine.store(), first, bytes).map_err(|error| corrupt(&error.to_string()))?;
            let end = page.end().ok_or_else(|| corrupt("the page has no end"))?;
            Ok((end, (first, bytes.to_vec())))
        }))
    }
}

/// Appends pages to a new store until there are no more, and says how many they were.
pub(super) fn append_all<E: From<OpenError>>(
    copy: &SledEngine,
    mut next: impl FnMut() -> Result<Option<NewPage>, E>,
) -> Result<u64, E> {
    let mut pages: u64 = 0;
    loop {
        let mut batch = Vec::with_capacity(GROUP_PAGES_MAX);
        while batch.len() < GROUP_PAGES_MAX
            && let Some(page) = next()?
        {
            batch.push(page);
        }
        if batch.is_empty() {
            return Ok(pages);
        }
        copy.room().map_err(|s| OpenError::DiskFull { available: s.available, needed: s.needed })?;
        copy.append(&batch).and_then(|()| copy.sync()).map_err(OpenError::Io)?;
        pages = pages.saturating_add(batch.len() as u64);
    }
}

/// Makes a new store of what was appended.
pub(super) fn finish(copy: &SledEngine, tail: &Tail) -> Result<(), OpenError> {
    let mark = mark_of(tail);
    copy.accept(mark).and_then(|()| copy.close(Some(mark))).map_err(OpenError::Io)
}
