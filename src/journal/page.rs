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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STORE: StoreId = StoreId([7; 16]);
    const FIRST: u64 = 41;

    fn header() -> Header {
        Header {
            group_first: 40,
            group_len: 3,
            time: Timestamp::from_unix_millis(1_000),
            granted_before: 1 << 100,
            redeemed_before: 5,
            chain_before: Chain::from_raw(0x89ab_cdef),
        }
    }

    /// A page of two entries of three and four bytes.
    fn page() -> Vec<u8> {
        write(STORE, FIRST, &header(), &[3, 7], b"oneFOUR")
    }

    /// Puts the right checksum behind bytes that were changed.
    fn seal(mut page: Vec<u8>) -> Vec<u8> {
        let body = page.len() - CRC_LEN;
        let crc = checksum(FIRST, &page[..body]);
        page[body..].copy_from_slice(&crc.to_be_bytes());
        page
    }

    fn changed(at: usize, bytes: &[u8]) -> Result<(), PageError> {
        let mut page = page();
        page[at..at + bytes.len()].copy_from_slice(bytes);
        Page::parse(STORE, FIRST, &seal(page)).map(|_| ())
    }

    #[test]
    fn the_identity_of_a_store_is_shown_in_hexadecimal() {
        assert_eq!(format!("{STORE:?}"), format!("StoreId({})", "07".repeat(16)));
    }

    #[test]
    fn a_page_reads_back_as_it_was_written() {
        let bytes = page();
        let page = Page::parse(STORE, FIRST, &bytes).unwrap();
        assert_eq!((page.first(), page.len(), page.end()), (FIRST, 2, Some(43)));
        assert_eq!(*page.header(), header());
        assert_eq!(page.entry_bytes(), b"oneFOUR");
        assert!(page.ends_group());
        for (end, before) in
            [(40, None), (41, Some(&b""[..])), (42, Some(b"one")), (43, Some(b"oneFOUR")), (44, None)]
        {
            assert_eq!(page.entry_bytes_before(end), before, "end={end}");
        }
        assert_eq!(page.range(1), Some(3..7));
        assert!(page.row(2).is_none() && page.row_numbered(40).is_none() && page.row_numbered(43).is_none());
    }

    #[test]
    fn a_page_with_a_flipped_bit_or_under_another_key_does_not_match_its_checksum() {
        for bit in 0..page().len() * 8 {
            let mut bytes = page();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Page::parse(STORE, FIRST, &bytes).map(|_| ()), Err(PageError::Checksum), "bit={bit}");
        }
        for key in [0, FIRST - 1, FIRST + 1, u64::MAX] {
            assert_eq!(Page::parse(STORE, key, &page()).map(|_| ()), Err(PageError::Checksum));
        }
    }

    #[test]
    fn a_page_of_an_impossible_length_is_refused() {
        for len in [0, 1, PAGE_FIXED_LEN - 1, PAGE_LEN_MAX + 1, 1 << 20] {
            let refused = Page::parse(STORE, FIRST, &vec![0; len]).map(|_| ());
            assert_eq!(refused, Err(PageError::Length(len)));
        }
    }

    #[test]
    fn pages_with_the_most_and_the_fewest_bytes_and_entries_are_looked_at() {
        for (spare, expected) in [(0, Ok(())), (1, Err(PageError::Length(PAGE_LEN_MAX + 1)))] {
            let entry = vec![b'e'; PAGE_LEN_MAX - PAGE_FIXED_LEN - OFFSET_LEN + spare];
            let end = u16::try_from(entry.len()).unwrap();
            let bytes = write(STORE, FIRST, &header(), &[end], &entry);
            assert_eq!(Page::parse(STORE, FIRST, &bytes).map(|_| ()), expected);
        }
        let most = u16::try_from(PAGE_ENTRIES_MAX).unwrap();
        for (count, expected) in [(most, Ok(())), (most + 1, Err(PageError::Contradiction("count")))] {
            let header = Header { group_len: 1_000, ..header() };
            let ends: Vec<u16> = (1..=count).collect();
            let bytes = write(STORE, FIRST, &header, &ends, &vec![b'e'; ends.len()]);
            assert_eq!(Page::parse(STORE, FIRST, &bytes).map(|_| ()), expected, "count={count}");
        }
        let least = write(STORE, FIRST, &header(), &[], b"");
        assert_eq!(least.len(), PAGE_FIXED_LEN);
        let refused = Page::parse(STORE, FIRST, &least).map(|_| ());
        assert_eq!(refused, Err(PageError::Contradiction("count")));
    }

    #[test]
    fn a_page_is_found_among_other_bytes_and_its_number_by_its_checksum() {
        let other = StoreId([8; 16]);
        for before in [0, 1, 40] {
            let bytes = [vec![VERSION; before], page(), page()].concat();
            assert_eq!(Page::find_start(STORE, &bytes), Some(before));
            assert_eq!(Page::find_start(other, &bytes), None);
        }
        let bytes = [page(), b"what follows".to_vec()].concat();
        assert_eq!(Page::without_key(STORE, &bytes), Some((FIRST, page().len())));
        assert_eq!(Page::without_key(other, &bytes), None);
        assert_eq!(Page::without_key(STORE, &page()[..page().len() - 1]), None, "it is cut off");
        for at in 0..page().len() {
            let mut flipped = page();
            flipped[at] ^= 1;
            assert_eq!(Page::without_key(STORE, &flipped), None, "at={at}");
        }
    }

    #[test]
    fn the_number_of_a_page_is_found_wherever_it_is_in_its_group() {
        for first in [40, 42, 40 + 4_000] {
            let header = Header { group_len: 4_002, ..header() };
            let bytes = write(STORE, first, &header, &[3, 7], b"oneFOUR");
            assert_eq!(Page::without_key(STORE, &bytes), Some((first, bytes.len())));
        }
        assert_eq!(Page::without_key(STORE, &[VERSION; 16]), None, "too short for anything");
    }

    #[test]
    fn another_version_and_another_store_are_named() {
        assert_eq!(changed(0, &[2]), Err(PageError::Version(2)));
        assert_eq!(changed(0, &[0]), Err(PageError::Version(0)));
        assert_eq!(changed(1, &[8]), Err(PageError::ForeignStore));
        assert_eq!(Page::parse(StoreId([8; 16]), FIRST, &page()).map(|_| ()), Err(PageError::ForeignStore));
    }

    // I9: none of these can be written, and the checksum of each is right.
    #[test]
    fn a_page_that_contradicts_itself_is_refused() {
        let (count, group, table) = (
            Err(PageError::Contradiction("count")),
            Err(PageError::Contradiction("group")),
            Err(PageError::Contradiction("table")),
        );
        let len = Err(PageError::Length(page().len()));
        for (what, refused, expected) in [
            ("no entries", changed(17, &[0, 0]), &count),
            ("fewer entries than places", changed(17, &[0, 1]), &table),
            ("more places than bytes", changed(17, &[0, 6]), &len),
            ("more entries than there can be", changed(17, &[255, 255]), &len),
            ("a group that begins behind the page", changed(19, &42_u64.to_be_bytes()), &group),
            ("a group that ends within the page", changed(27, &2_u32.to_be_bytes()), &group),
            ("a group without end", changed(19, &u64::MAX.to_be_bytes()), &group),
            ("an entry without bytes", changed(HEADER_LEN, &[0, 0]), &table),
            ("places that go back", changed(HEADER_LEN, &[0, 8]), &table),
            ("a last place before the end", changed(HEADER_LEN + 2, &[0, 6]), &table),
            ("a last place behind the end", changed(HEADER_LEN + 2, &[0, 8]), &table),
        ] {
            assert_eq!(&refused, expected, "{what}");
        }
    }

    #[test]
    fn a_page_at_number_0_or_at_the_end_of_numbers_is_refused() {
        let group = |first: u64| Header { group_first: first, group_len: 2, ..header() };
        for (first, valid) in
            [(0, false), (1, true), (u64::MAX - 2, true), (u64::MAX - 1, false), (u64::MAX, false)]
        {
            let bytes = write(STORE, first, &group(first), &[3, 7], b"oneFOUR");
            assert_eq!(Page::parse(STORE, first, &bytes).is_ok(), valid, "first={first}");
        }
    }

    proptest! {
        // I9
        #[test]
        fn no_bytes_with_a_right_checksum_can_do_harm(
            first in any::<u64>(),
            mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
            like_a_page in any::<bool>(),
            count in 0_u16..40,
        ) {
            if like_a_page && bytes.len() >= PAGE_FIXED_LEN {
                bytes[0] = VERSION;
                bytes[1..17].copy_from_slice(&STORE.0);
                bytes[17..19].copy_from_slice(&count.to_be_bytes());
                bytes[19..27].copy_from_slice(&first.to_be_bytes());
            }
            if let Some((body, crc)) = bytes.split_last_chunk_mut::<CRC_LEN>() {
                *crc = checksum(first, body).to_be_bytes();
            }
            if let Ok(page) = Page::parse(STORE, first, &bytes) {
                for place in 0..=page.len() {
                    let row = page.row(place);
                    prop_assert_eq!(row.is_some(), place < page.len());
                    if let Some(Ok(row)) = row {
                        let _ = row.to_entry(first, Timestamp::default());
                    }
                }
            }
        }
    }
}
