//! Gets out of a damaged store what can be proven, into a new one (I11).
//!
//! The old directory is only read from. The new store is the old one as it was at an earlier moment: everything
//! up to the first entry that is missing. What is readable behind that is given out as receipts, in order; it is
//! for the operator to decide whether their commands are to be applied again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

use super::PointStore;
use super::audit::{Audit, Finding};
use super::backup::{append_all, finish};
use super::facts::{PageFacts, PageReader};
use super::open::position_of;
use crate::engine::{Carved, Engine, Missing, SledEngine};
use crate::error::OpenError;
use crate::index::Index;
use crate::journal::{Chain, Page};
use crate::types::{AccountId, Entry, Position, Receipt};

/// What was got out of a damaged store, and what was not.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::{PointStore, Points};
///
/// let folder = tempfile::tempdir()?;
/// let (old, new) = (folder.path().join("old"), folder.path().join("new"));
/// let store = PointStore::open(&old)?;
/// let alice = "alice".parse()?;
/// store.grant(&alice, &"order-1".parse()?, Points::new(5)?)?;
/// store.close()?;
///
/// // Something happens to the engine's own files, and the store is refused.
/// std::fs::write(old.join("gen-1/conf"), [7; 100])?;
/// PointStore::open(&old).unwrap_err();
///
/// let report = PointStore::salvage(&old, &new)?;
/// assert_eq!((report.proven(), report.acknowledged()), (1, Some(1)));
/// assert!(report.is_complete());
///
/// let store = PointStore::open(&new)?;
/// for receipt in report.beyond() {
///     // Under its own key, so that whatever is there already has no second effect. A redemption may be refused,
///     // where the grant before it is lost.
///     store.apply(&receipt.to_command())?;
/// }
/// assert_eq!(store.balance(&alice).get(), 5);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SalvageReport {
    position: Position,
    accounts: u64,
    acknowledged: Option<u64>,
    stopped_by: Option<Finding>,
    missing: Vec<RangeInclusive<u64>>,
    beyond: Vec<Receipt>,
    incomplete: Vec<AccountId>,
    unreadable_bytes: u64,
}

impl SalvageReport {
    /// Entries in the new store. Each was checked as at an opening: they are the old store's, from the first on,
    /// none missing and none changed.
    #[must_use]
    pub fn proven(&self) -> u64 {
        self.position.entries()
    }

    /// Accounts in the new store.
    #[must_use]
    pub fn accounts(&self) -> u64 {
        self.accounts
    }

    /// Where the new store's journal ends.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Entries that the old store is known to have acknowledged; `None` where no watermark could be read.
    ///
    /// There may have been more: after a power cut the watermark can be a second old.
    #[must_use]
    pub fn acknowledged(&self) -> Option<u64> {
        self.acknowledged
    }

    /// Whether nothing that is known of is missing from the new store.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.acknowledged.is_some_and(|known| known <= self.proven())
            && self.missing.is_empty()
            && self.beyond.is_empty()
    }

    /// Numbers of entries of which nothing was found, by rising number.
    #[must_use]
    pub fn missing(&self) -> &[RangeInclusive<u64>] {
        &self.missing
    }

    /// Receipts found behind the first missing entry, by rising number: not in the new store.
    ///
    /// Each is as it was written. What came between is missing, so a balance in them counts entries that nobody
    /// has any more. Those above [`acknowledged`](Self::acknowledged) may never have been answered.
    #[must_use]
    pub fn beyond(&self) -> &[Receipt] {
        &self.beyond
    }

    /// Accounts that are known to have lost an entry: a later one of theirs was found, and the one before it not.
    ///
    /// Accounts whose last entries are lost cannot be told.
    #[must_use]
    pub fn incomplete(&self) -> &[AccountId] {
        &self.incomplete
    }

    /// Why the new store ends where it does, if entries are there and do not hold together.
    #[must_use]
    pub fn stopped_by(&self) -> Option<String> {
        self.stopped_by.as_ref().map(ToString::to_string)
    }

    /// Bytes of the old files that could not be read at all.
    #[must_use]
    pub fn unreadable_bytes(&self) -> u64 {
        self.unreadable_bytes
    }
}

impl PointStore {
    /// Makes a new store out of what can be proven of a damaged one.
    ///
    /// The pages are looked for in the bytes of the old store's files, whether or not the engine can still open
    /// them; the old directory is only read from. The new store holds everything up to the first entry that is
    /// missing, and has the old one's identity. See [`SalvageReport`] for what else is found, and for an example.
    ///
    /// # Errors
    ///
    /// [`OpenError::AlreadyOpen`] while the old store is open. [`OpenError::Corrupt`] where nothing in the old
    /// directory says which store it was. Otherwise as [`Builder::open`](crate::Builder::open), for the new
    /// directory: it must be empty, or not exist. After an error, what is left of it does not open and may be
    /// removed.
    pub fn salvage(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<SalvageReport, OpenError> {
        let carved = Carved::find(from.as_ref())?;
        let Proven { pages, stopped_by } = prove(&carved)?;
        let copy = Self::builder().engine(to.as_ref(), Missing::Copy(carved.store()))?;
        match write(&carved, &pages, &copy) {
            Ok(audit) => SalvageReport::new(&carved, audit.end().index, stopped_by),
            Err(error) => {
                copy.reject();
                Err(error)
            }
        }
    }
}

/// The groups from the first entry on that hold together.
#[derive(Debug, Default)]
struct Proven {
    /// For each of their pages the first number, and which of those found under it.
    pages: Vec<(u64, usize)>,
    /// What is wrong with the group behind them, if one is there.
    stopped_by: Option<Finding>,
}

fn prove(carved: &Carved) -> Result<Proven, OpenError> {
    let mut audit = Audit::new(carved.store(), &[]);
    let reader = audit.reader();
    let mut chain = Chain::seed(carved.store());
    let mut proven = Proven::default();
    while let Some(group) = next_group(carved, &reader, audit.next_page(), chain)? {
        let mut places = Vec::with_capacity(group.len());
        for (place, page) in group {
            places.push((page.first, place));
            chain = page.chain_after;
            if let Err(finding) = audit.page(page) {
                proven.stopped_by = Some(finding);
                return Ok(proven);
            }
        }
        proven.pages.append(&mut places);
    }
    Ok(proven)
}

/// The pages of the group that begins with an entry and continues a chain, if all of them were found.
fn next_group(
    carved: &Carved,
    reader: &PageReader,
    first: u64,
    chain: Chain,
) -> Result<Option<Vec<(usize, PageFacts)>>, OpenError> {
    let (mut next, mut chain) = (first, chain);
    let mut group: Vec<(usize, PageFacts)> = Vec::new();
    loop {
        let continues = |page: &PageFacts| {
            page.header.group_first == first
                && page.header.chain_before == chain
                && group.last().is_none_or(|(_, earlier)| earlier.header.group_len == page.header.group_len)
        };
        let pages = read_all(carved, reader, next)?;
        let Some((place, page)) = pages.into_iter().find(|(_, page)| continues(page)) else {
            return Ok(None);
        };
        (next, chain) = (page.end, page.chain_after);
        let ends_group = page.ends_group;
        group.push((place, page));
        if ends_group {
            return Ok(Some(group));
        }
    }
}

/// What each page found under a number says, those that say nothing sound left out.
fn read_all(carved: &Carved, reader: &PageReader, first: u64) -> Result<Vec<(usize, PageFacts)>, OpenError> {
    let pages = carved.pages(first)?;
    let facts = pages.iter().map(|page| reader.read(first, page).ok());
    Ok(facts.enumerate().filter_map(|(place, facts)| Some((place, facts?))).collect())
}

/// Writes the proven pages into the new store, judged once more on the way.
fn write(carved: &Carved, proven: &[(u64, usize)], copy: &SledEngine) -> Result<Audit, OpenError> {
    let mut audit = Audit::new(carved.store(), &[]);
    let reader = audit.reader();
    let mut proven = proven.iter();
    append_all(copy, || {
        let Some((first, place)) = proven.next() else { return Ok(None) };
        let page = carved.pages(*first)?.into_iter().nth(*place).unwrap_or_default();
        audit.page(reader.read(*first, &page)?)?;
        Ok::<_, OpenError>(Some((*first, page)))
    })?;
    finish(copy, audit.tail())?;
    Ok(audit)
}

impl SalvageReport {
    fn new(carved: &Carved, index: Index, stopped_by: Option<Finding>) -> Result<Self, OpenError> {
        let next = index.tail.next;
        let mut found = BTreeMap::new();
        for first in carved.firsts().filter(|first| *first >= next) {
            for page in carved.pages(first)? {
                for entry in entries(carved, first, &page) {
                    found.entry(entry.receipt.number()).or_insert(entry);
                }
            }
        }
        let acknowledged = carved.mark.map(|mark| mark.next.saturating_sub(1));
        let last = found.keys().next_back().copied().max(acknowledged).unwrap_or_default();
        let incomplete: BTreeSet<AccountId> = found
            .values()
            .filter(|entry| entry.previous >= next && !found.contains_key(&entry.previous))
            .map(|entry| entry.receipt.account().clone())
            .collect();
        Ok(Self {
            position: position_of(&index.tail),
            accounts: index.accounts.len() as u64,
            acknowledged,
            stopped_by,
            missing: gaps(next, last, found.keys().copied()),
            incomplete: incomplete.into_iter().collect(),
            beyond: found.into_values().map(|entry| entry.receipt).collect(),
            unreadable_bytes: carved.unreadable_bytes,
        })
    }
}

/// The entries of a page, as far as they can be read.
fn entries(carved: &Carved, first: u64, bytes: &[u8]) -> Vec<Entry> {
    let Ok(page) = Page::parse(carved.store(), first, bytes) else { return Vec::new() };
    let rows = (first..).zip((0..page.len()).filter_map(|place| page.row(place)));
    rows.filter_map(|(number, row)| row.ok()?.to_entry(number, page.header().time).ok()).collect()
}

/// The runs of numbers from `next` to `last` that are not among `found`, which rises.
fn gaps(next: u64, last: u64, found: impl Iterator<Item = u64>) -> Vec<RangeInclusive<u64>> {
    let mut gaps = Vec::new();
    let mut next = next;
    for number in found.chain(last.checked_add(1)) {
        if let Some(before) = number.checked_sub(1).filter(|before| *before >= next) {
            gaps.push(next..=before);
        }
        next = number.saturating_add(1);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_is_not_found() {
        let gaps_of = |next, last, found: &[u64]| gaps(next, last, found.iter().copied());
        assert_eq!(gaps_of(1, 0, &[]), []);
        assert_eq!(gaps_of(4, 3, &[]), []);
        assert_eq!(gaps_of(4, 6, &[]), [4..=6]);
        assert_eq!(gaps_of(4, 9, &[5, 6, 9]), [4..=4, 7..=8]);
        assert_eq!(gaps_of(4, 10, &[4, 5]), [6..=10]);
    }
}
