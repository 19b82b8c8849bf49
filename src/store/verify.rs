//! Checks a running store against its own journal, read again from the disk (I3, I11).

use super::PointStore;
use super::audit::{Audit, Finding};
use super::open::check_suspects;
use crate::commit::read_bytes;
use crate::error::ReadError;
use crate::index::Index;
use crate::types::Position;

/// What a verification went over.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::{PointStore, Points};
///
/// let store = PointStore::temporary()?;
/// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
/// let report = store.verify()?;
/// assert_eq!((report.entries(), report.accounts()), (1, 1));
/// assert_eq!(report.position(), store.position());
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyReport {
    entries: u64,
    accounts: u64,
    pages: u64,
    position: Position,
}

impl VerifyReport {
    /// Entries that were read and checked.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Accounts whose balances follow from them.
    #[must_use]
    pub fn accounts(&self) -> u64 {
        self.accounts
    }

    /// Pages that were read.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Where the journal ended when the verification began; it goes that far.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }
}

impl PointStore {
    /// Reads every page again and checks everything that is checked at opening, and that the accounts in memory stand
    /// where that says.
    ///
    /// Commands and reads go on meanwhile. It takes about as much memory again as the index does.
    ///
    /// # Errors
    ///
    /// [`ReadError::Corrupt`] names the first entry that is not as it must be: stop writing, keep the directory
    /// as it is, and restore a backup. [`ReadError::Io`] where a page could not be read.
    ///
    /// See [`VerifyReport`] for an example.
    pub fn verify(&self) -> Result<VerifyReport, ReadError> {
        self.check_open()?;
        let committer = &self.inner.committer;
        let tail = committer.published().tail;
        let mut audit = Audit::new(committer.engine().store(), &[]);
        let reader = audit.reader();
        while audit.next_page() < tail.next {
            let first = audit.next_page();
            let bytes =
                self.closed_or(read_bytes(committer.engine(), first, first, |page| Ok(page.to_vec())))?;
            audit.page(reader.read(first, &bytes)?)?;
        }
        let audited = audit.end();
        if audited.index.tail != tail {
            return Err(ReadError::corrupt(
                audited.index.tail.next,
                "the journal does not add up to what is in memory",
            ));
        }
        check_suspects(committer.engine(), &audited)?;
        self.compare(&audited.index)?;
        Ok(VerifyReport {
            entries: tail.next.saturating_sub(1),
            accounts: audited.index.accounts.len() as u64,
            pages: audited.index.pages.len() as u64,
            position: super::open::position_of(&tail),
        })
    }

    /// Memory must agree with what was read, as far as that goes.
    fn compare(&self, read: &Index) -> Result<(), ReadError> {
        for place in 0..read.accounts.len() {
            let index = self.inner.committer.published();
            let (there, here) = (read.accounts.at(place), index.accounts.at(place));
            let agree = match (there, here) {
                (Some((id, read)), Some((name, now))) => id == name && (now == read || now.last >= read.last),
                _ => false,
            };
            if !agree {
                let entry = there.map_or(0, |(_, state)| state.last);
                return Err(ReadError::corrupt(entry, "an account does not stand as it does in memory"));
            }
        }
        Ok(())
    }
}

impl From<Finding> for ReadError {
    fn from(finding: Finding) -> Self {
        Self::Corrupt { entry: finding.entry, what: finding.what }
    }
}
