//! A page: some entries of one group behind a header, with a checksum over all of it and over its key.
//!
//! Layout (`docs/design.md` has the table): version, store, chain before the page; count, group, time and totals before
//! the page, each in as many bytes as it needs; the places of the entries, the entries, crc32. What does not hold
//! together is an error with a name, whatever the bytes are (I9, I11).

use std::ops::Range;

use super::chain::Chain;
use super::entry::{EntryError, Row};
use super::fields::{FieldError, Fields, put_long, put_number, varint_len};
use crate::limits::{GROUP_PAGES_MAX, OFFSET_LEN, PAGE_ENTRIES_MAX, PAGE_FIXED_LEN, PAGE_LEN_MAX};
use crate::types::Timestamp;

/// The version that is written.
pub(crate) const VERSION: u8 = 1;

const CRC_LEN: usize = 4;
const TAG_LEN: usize = 4;
/// Bytes of a store's identity that pages do not carry.
const UNTAGGED_LEN: usize = size_of::<StoreId>() - TAG_LEN;
/// Where the version and the store's tag, with which each page begins, end.
const START_LEN: usize = 1 + TAG_LEN;
/// The shortest page: six numbers of one byte, and no entry.
const PAGE_LEN_MIN: usize = START_LEN + 4 + 6 + CRC_LEN;

/// The random identity of a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreId(pub(crate) [u8; 16]);

impl StoreId {
    /// The end of it, which each page carries. The chain, which begins with the whole of it, is carried too, and is
    /// held against it where the journal is read in order.
    fn tag(self) -> [u8; TAG_LEN] {
        let mut tag = [0; TAG_LEN];
        for (to, from) in tag.iter_mut().zip(self.0.into_iter().skip(UNTAGGED_LEN)) {
            *to = from;
        }
        tag
    }
}

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

impl From<FieldError> for PageError {
    fn from(_: FieldError) -> Self {
        Self::Contradiction("header")
    }
}

/// Reads a header behind its start: the number of entries, and the rest.
fn read_header(fields: &mut Fields<'_>) -> Result<(usize, Header), FieldError> {
    let chain_before = Chain::from_raw(u32::from_be_bytes(fields.take()?));
    // More than a page can hold is refused when it is checked.
    let count = usize::try_from(fields.small_number()?).unwrap_or(usize::MAX);
    let header = Header {
        group_first: fields.number()?,
        group_len: fields.small_number()?,
        time: Timestamp::from_unix_millis(fields.long()?),
        granted_before: fields.wide_number()?,
        redeemed_before: fields.wide_number()?,
        chain_before,
    };
    Ok((count, header))
}

impl<'a> Page<'a> {
    /// Checks `bytes`, found under the key `first`.
    pub(crate) fn parse(store: StoreId, first: u64, bytes: &'a [u8]) -> Result<Self, PageError> {
        let bad_len = PageError::Length(bytes.len());
        if bytes.len() > PAGE_LEN_MAX || bytes.len() < PAGE_LEN_MIN {
            return Err(bad_len);
        }
        let (body, crc) = bytes.split_last_chunk::<CRC_LEN>().ok_or(bad_len)?;
        if checksum(first, body) != u32::from_be_bytes(*crc) {
            return Err(PageError::Checksum);
        }
        let mut fields = Fields::new(body);
        match fields.byte()? {
            VERSION => {}
            other => return Err(PageError::Version(other)),
        }
        if fields.take()? != store.tag() {
            return Err(PageError::ForeignStore);
        }
        let (count, header) = read_header(&mut fields)?;
        let table_len = count.checked_mul(OFFSET_LEN).ok_or(bad_len)?;
        let (ends, entries) = fields.rest().split_at_checked(table_len).ok_or(bad_len)?;
        let page = Self { first, header, ends, entries };
        page.check()?;
        Ok(page)
    }

    /// Where the next page of a store could begin in some bytes.
    pub(crate) fn find_start(store: StoreId, bytes: &[u8]) -> Option<usize> {
        let mut start = [VERSION; START_LEN];
        for (to, from) in start.iter_mut().skip(1).zip(store.tag()) {
            *to = from;
        }
        bytes.windows(start.len()).position(|window| window == start)
    }

    /// The first number and the length of the page that some bytes begin with, if they do. Its key is found by the
    /// checksum, which goes over it.
    pub(crate) fn without_key(store: StoreId, bytes: &'a [u8]) -> Option<(u64, usize)> {
        let mut fields = Fields::new(bytes.get(START_LEN..)?);
        let (count, header) = read_header(&mut fields).ok()?;
        let (group_first, group_len) = (header.group_first, header.group_len);
        let header_len = bytes.len().checked_sub(fields.rest().len())?;
        let ends = header_len.checked_add(count.checked_mul(OFFSET_LEN)?)?;
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

/// A store that a page could be of, by its tag.
#[cfg(any(test, feature = "testing"))]
pub(super) fn any_store(page: &[u8]) -> StoreId {
    let mut id = [0; 16];
    for (to, from) in id.iter_mut().skip(UNTAGGED_LEN).zip(page.iter().skip(1)) {
        *to = *from;
    }
    StoreId(id)
}

/// Writes a page: `ends` are where the entries end, counted from the first one's first byte.
pub(super) fn write(store: StoreId, first: u64, header: &Header, ends: &[u16], entries: &[u8]) -> Vec<u8> {
    let table_len = ends.len().saturating_mul(OFFSET_LEN);
    let mut page = Vec::with_capacity(PAGE_FIXED_LEN.saturating_add(table_len).saturating_add(entries.len()));
    page.push(VERSION);
    page.extend_from_slice(&store.tag());
    page.extend_from_slice(&header.chain_before.get().to_be_bytes());
    put_number(&mut page, ends.len() as u128);
    put_number(&mut page, u128::from(header.group_first));
    put_number(&mut page, u128::from(header.group_len));
    put_long(&mut page, header.time.as_unix_millis());
    put_number(&mut page, header.granted_before);
    put_number(&mut page, header.redeemed_before);
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

const _: () = assert!(
    START_LEN
        + 4
        + varint_len(PAGE_ENTRIES_MAX as u64)
        + varint_len(u64::MAX)
        + varint_len(u32::MAX as u64)
        + (1 + size_of::<u64>())
        + 2 * (1 + 16)
        + CRC_LEN
        == PAGE_FIXED_LEN,
    "the longest header is what pages are reckoned with"
);

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that overflows is to say so at once")]
mod tests;
