//! A page: some entries of one group behind a header, with a checksum over all of it and over its key.
//!
//! Layout, numbers big-endian (`docs/design.md` has the table): version, store, count, group, time, totals and
//! chain before the page, the places of the entries, the entries, crc32. What does not hold together is an
//! error with a name, whatever the bytes are (I9, I11).

use std::ops::Range;

use super::chain::Chain;
use super::entry::{EntryError, Row};
use crate::limits::{GROUP_PAGES_MAX, OFFSET_LEN, PAGE_ENTRIES_MAX, PAGE_FIXED_LEN, PAGE_LEN_MAX};
use crate::types::Timestamp;

/// The version that is written.
pub(crate) const VERSION: u8 = 1;

const CRC_LEN: usize = 4;
const HEADER_LEN: usize = PAGE_FIXED_LEN - CRC_LEN;

/// The random identity of a store; every page carries it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreId(pub(crate) [u8; 16]);

impl std::fmt::Debug for StoreId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoreId({:032x})", u128::from_be_bytes(self.0))
    }
}

/// What a page says of itself, its store and version left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Number of the first entry of the group this page belongs to.
    pub(crate) group_first: u64,
    /// How many entries that group has, over all its pages.
    pub(crate) group_len: u32,
    /// The time of the group.
    pub(crate) time: Timestamp,
    /// Points ever granted before this page, over all accounts.
    pub(crate) granted_before: u128,
    /// Points ever redeemed before this page, over all accounts.
    pub(crate) redeemed_before: u128,
    /// The chain before this page's first entry.
    pub(crate) chain_before: Chain,
}

/// Why bytes are not a page of this store at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PageError {
    /// Too short, too long, or its table does not fit.
    #[error("the page has an impossible length, len={0}")]
    Length(usize),
    /// The checksum over key and page does not match.
    #[error("the page does not match its checksum")]
    Checksum,
    /// A version that this program does not know.
    #[error("the page has an unknown version, version={0}")]
    Version(u8),
    /// The page was written by another store.
    #[error("the page belongs to another store")]
    ForeignStore,
    /// Header or table contradict each other.
    #[error("the page contradicts itself, part={0}")]
    Contradiction(&'static str),
}

/// A page whose checksum, store, header and table have been checked; its entries have not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    first: u64,
    header: Header,
    /// The table of places: where each entry ends, counted from the first entry's first byte.
    ends: &'a [u8],
    entries: &'a [u8],
}

impl<'a> Page<'a> {
    /// Checks `bytes`, found under the key `first`.
    pub(crate) fn parse(store: StoreId, first: u64, bytes: &'a [u8]) -> Result<Self, PageError> {
        let bad_len = PageError::Length(bytes.len());
        if bytes.len() > PAGE_LEN_MAX || bytes.len() < PAGE_FIXED_LEN {
            return Err(bad_len);
        }
        let (body, crc) = bytes.split_last_chunk::<CRC_LEN>().ok_or(bad_len)?;
        if checksum(first, body) != u32::from_be_bytes(*crc) {
            return Err(PageError::Checksum);
        }
        let (header, rest) = body.split_at_checked(HEADER_LEN).ok_or(bad_len)?;
        let mut fields = Fields(header);
        match fields.take::<1>()? {
            [VERSION] => {}
            [other] => return Err(PageError::Version(other)),
        }
        if fields.take::<16>()? != store.0 {
            return Err(PageError::ForeignStore);
        }
        let count = usize::from(u16::from_be_bytes(fields.take()?));
        let header = Header {
            group_first: u64::from_be_bytes(fields.take()?),
            group_len: u32::from_be_bytes(fields.take()?),
            time: Timestamp::from_unix_millis(u64::from_be_bytes(fields.take()?)),
            granted_before: u128::from_be_bytes(fields.take()?),
            redeemed_before: u128::from_be_bytes(fields.take()?),
            chain_before: Chain::from_raw(u32::from_be_bytes(fields.take()?)),
        };
        let table_len = count.checked_mul(OFFSET_LEN).ok_or(bad_len)?;
        let (ends, entries) = rest.split_at_checked(table_len).ok_or(bad_len)?;
        let page = Self { first, header, ends, entries };
        page.check()?;
        Ok(page)
    }

    /// Where the next page of a store could begin in some bytes.
    pub(crate) fn find_start(store: StoreId, bytes: &[u8]) -> Option<usize> {
        let mut start = [VERSION; 17];
        for (to, from) in start.iter_mut().skip(1).zip(store.0) {
            *to = from;
        }
        bytes.windows(start.len()).position(|window| window == start)
    }

    /// The first number and the length of the page that some bytes begin with, if they do. Its key is found by the
    /// checksum, which goes over it.
    pub(crate) fn without_key(store: StoreId, bytes: &'a [u8]) -> Option<(u64, usize)> {
        let mut fields = Fields(bytes.get(17..)?);
        let count = usize::from(u16::from_be_bytes(fields.take().ok()?));
        let group_first = u64::from_be_bytes(fields.take().ok()?);
        let group_len = u32::from_be_bytes(fields.take().ok()?);
        let ends = HEADER_LEN.checked_add(count.checked_mul(OFFSET_LEN)?)?;
        let last = bytes.get(ends.checked_sub(OFFSET_LEN)?..)?.first_chunk::<OFFSET_LEN>()?;
        let len = ends.checked_add(usize::from(u16::from_be_bytes(*last)))?.checked_add(CRC_LEN)?;
        let page = bytes.get(..len)?;
        let (body, crc) = page.split_last_chunk::<CRC_LEN>()?;
        let mut body_hasher = crc32fast::Hasher::new();
        body_hasher.update(body);
        // No group has more entries than its pages can hold.
        let entries_max = PAGE_ENTRIES_MAX.saturating_mul(GROUP_PAGES_MAX) as u64;
        let candidates = group_first..=group_first.checked_add(u64::from(group_len).min(entries_max))?;
        let matches = |first: &u64| {
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&first.to_be_bytes());
            hasher.combine(&body_hasher);
            hasher.finalize() == u32::from_be_bytes(*crc) && Self::parse(store, *first, page).is_ok()
        };
        candidates.into_iter().find(matches).map(|first| (first, len))
    }

    fn check(&self) -> Result<(), PageError> {
        let count = self.len();
        if count == 0 || count > PAGE_ENTRIES_MAX {
            return Err(PageError::Contradiction("count"));
        }
        let group_end = self.header.group_first.checked_add(u64::from(self.header.group_len));
        match (self.end(), group_end) {
            (Some(end), Some(group_end))
                if self.first >= 1 && self.header.group_first <= self.first && end <= group_end => {}
            _ => return Err(PageError::Contradiction("group")),
        }
        let mut before = 0;
        for place in 0..count {
            match self.end_of(place) {
                Some(end) if end > before => before = end,
                _ => return Err(PageError::Contradiction("table")),
            }
        }
        if before == self.entries.len() { Ok(()) } else { Err(PageError::Contradiction("table")) }
    }

    /// Number of its first entry.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// What it says of itself.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// How many entries it has.
    pub(crate) fn len(&self) -> usize {
        self.ends.len() / OFFSET_LEN
    }

    /// The number behind its last entry; `None` where numbers end.
    pub(crate) fn end(&self) -> Option<u64> {
        self.first.checked_add(self.len() as u64)
    }

    /// Whether it is the last page of its group.
    pub(crate) fn ends_group(&self) -> bool {
        self.end() == self.header.group_first.checked_add(u64::from(self.header.group_len))
    }

    /// The bytes of all its entries, one behind the other.
    pub(crate) fn entry_bytes(&self) -> &'a [u8] {
        self.entries
    }

    /// The bytes of its entries up to the one numbered `end`, that one not included.
    pub(crate) fn entry_bytes_before(&self, end: u64) -> Option<&'a [u8]> {
        let count = usize::try_from(end.checked_sub(self.first)?).ok()?;
        let len = match count.checked_sub(1) {
            None => 0,
            Some(last) => self.end_of(last)?,
        };
        self.entries.get(..len)
    }

    /// The row at `place`, from 0; `None` past the last.
    pub(crate) fn row(&self, place: usize) -> Option<Result<Row<'a>, EntryError>> {
        self.entries.get(self.range(place)?).map(Row::decode)
    }

    /// The row of the entry numbered `number`; `None` if it is not in this page.
    pub(crate) fn row_numbered(&self, number: u64) -> Option<Result<Row<'a>, EntryError>> {
        self.row(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn range(&self, place: usize) -> Option<Range<usize>> {
        let start = match place.checked_sub(1) {
            None => 0,
            Some(before) => self.end_of(before)?,
        };
        Some(start..self.end_of(place)?)
    }

    fn end_of(&self, place: usize) -> Option<usize> {
        let at = place.checked_mul(OFFSET_LEN)?;
        let bytes = self.ends.get(at..)?.first_chunk::<OFFSET_LEN>()?;
        Some(usize::from(u16::from_be_bytes(*bytes)))
    }
}

/// Writes a page: `ends` are where the entries end, counted from the first one's first byte.
pub(super) fn write(store: StoreId, first: u64, header: &Header, ends: &[u16], entries: &[u8]) -> Vec<u8> {
    let count = u16::try_from(ends.len()).unwrap_or(u16::MAX);
    let table_len = ends.len().saturating_mul(OFFSET_LEN);
    let mut page = Vec::with_capacity(PAGE_FIXED_LEN.saturating_add(table_len).saturating_add(entries.len()));
    page.push(VERSION);
    page.extend_from_slice(&store.0);
    page.extend_from_slice(&count.to_be_bytes());
    page.extend_from_slice(&header.group_first.to_be_bytes());
    page.extend_from_slice(&header.group_len.to_be_bytes());
    page.extend_from_slice(&header.time.as_unix_millis().to_be_bytes());
    page.extend_from_slice(&header.granted_before.to_be_bytes());
    page.extend_from_slice(&header.redeemed_before.to_be_bytes());
    page.extend_from_slice(&header.chain_before.get().to_be_bytes());
    for end in ends {
        page.extend_from_slice(&end.to_be_bytes());
    }
    page.extend_from_slice(entries);
    let crc = checksum(first, &page);
    page.extend_from_slice(&crc.to_be_bytes());
    page
}

fn checksum(first: u64, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&first.to_be_bytes());
    hasher.update(body);
    hasher.finalize()
}

/// Reads fixed fields from the front of a header.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], PageError> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or(PageError::Length(self.0.len()))?;
        self.0 = rest;
        Ok(*field)
    }
}

const _: () = assert!(HEADER_LEN == 1 + 16 + 2 + 8 + 4 + 8 + 16 + 16 + 4, "the header's fields fill it");

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that overflows is to say so at once")]
mod tests;
