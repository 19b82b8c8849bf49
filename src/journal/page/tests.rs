//! What a page is written as, and what is refused.

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

/// Where the number of entries is in `page()`, and what follows it.
const COUNT: usize = START_LEN + 4;
const GROUP_FIRST: usize = COUNT + 1;
const GROUP_LEN: usize = GROUP_FIRST + 1;
const TIME: usize = GROUP_LEN + 1;
const TABLE: usize = TIME + 3 + 17 + 1;

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
fn a_header_is_as_long_as_its_numbers_and_never_longer_than_reckoned_with() {
    let most = Header {
        group_first: u64::MAX,
        group_len: u32::MAX,
        time: Timestamp::from_unix_millis(u64::MAX),
        granted_before: u128::MAX,
        redeemed_before: u128::MAX,
        chain_before: Chain::from_raw(u32::MAX),
    };
    let ends: Vec<u16> = (1..=u16::try_from(PAGE_ENTRIES_MAX).unwrap()).collect();
    let page = write(STORE, FIRST, &most, &ends, b"");
    assert_eq!(page.len(), PAGE_FIXED_LEN + ends.len() * OFFSET_LEN);
    let mut fields = Fields::new(&page[START_LEN..]);
    assert_eq!(read_header(&mut fields), Ok((ends.len(), most)));
}

#[test]
fn a_page_of_an_impossible_length_is_refused() {
    for len in [0, 1, PAGE_LEN_MIN - 1, PAGE_LEN_MAX + 1, 1 << 20] {
        let refused = Page::parse(STORE, FIRST, &vec![0; len]).map(|_| ());
        assert_eq!(refused, Err(PageError::Length(len)));
    }
}

#[test]
fn pages_with_the_most_and_the_fewest_bytes_and_entries_are_looked_at() {
    for (spare, expected) in [(0, Ok(())), (1, Err(PageError::Length(PAGE_LEN_MAX + 1)))] {
        let entry = vec![b'e'; PAGE_LEN_MAX - TABLE - OFFSET_LEN - CRC_LEN + spare];
        let end = u16::try_from(entry.len()).unwrap();
        let bytes = write(STORE, FIRST, &header(), &[end], &entry);
        assert_eq!(bytes.len(), PAGE_LEN_MAX + spare);
        assert_eq!(Page::parse(STORE, FIRST, &bytes).map(|_| ()), expected);
    }
    let most = u16::try_from(PAGE_ENTRIES_MAX).unwrap();
    for (count, expected) in [(most, Ok(())), (most + 1, Err(PageError::Contradiction("count")))] {
        let header = Header { group_len: 1_000, ..header() };
        let ends: Vec<u16> = (1..=count).collect();
        let bytes = write(STORE, FIRST, &header, &ends, &vec![b'e'; ends.len()]);
        assert_eq!(Page::parse(STORE, FIRST, &bytes).map(|_| ()), expected, "count={count}");
    }
    let nothing = Header {
        group_first: 0,
        group_len: 0,
        time: Timestamp::default(),
        granted_before: 0,
        redeemed_before: 0,
        ..header()
    };
    let least = write(STORE, FIRST, &nothing, &[], b"");
    assert_eq!(least.len(), PAGE_LEN_MIN);
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
    for len in 0..PAGE_LEN_MIN {
        assert_eq!(Page::without_key(STORE, &page()[..len]), None, "too short for a page, len={len}");
    }
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
    let header_err = Err(PageError::Contradiction("header"));
    let of_group = |group_first: u64| {
        let bytes = write(STORE, FIRST, &Header { group_first, ..header() }, &[3, 7], b"oneFOUR");
        Page::parse(STORE, FIRST, &bytes).map(|_| ())
    };
    for (what, refused, expected) in [
        ("no entries", changed(COUNT, &[0]), &count),
        ("fewer entries than places", changed(COUNT, &[1]), &table),
        ("more places than bytes", changed(COUNT, &[6]), &len),
        ("more entries than there can be", changed(COUNT, &[250]), &len),
        ("a number that does not end", changed(COUNT, &[255]), &header_err),
        ("a number that is spelled too long", changed(TIME, &[2, 0, 9]), &header_err),
        ("a group that begins behind the page", changed(GROUP_FIRST, &[42]), &group),
        ("a group that ends within the page", changed(GROUP_LEN, &[2]), &group),
        ("a group without end", of_group(u64::MAX), &group),
        ("an entry without bytes", changed(TABLE, &[0, 0]), &table),
        ("places that go back", changed(TABLE, &[0, 8]), &table),
        ("a last place before the end", changed(TABLE + 2, &[0, 6]), &table),
        ("a last place behind the end", changed(TABLE + 2, &[0, 8]), &table),
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
        if like_a_page {
            let header = Header { group_first: first, group_len: 40, ..header() };
            let ends: Vec<u16> = (1..=count).map(|place| place * 9).collect();
            bytes = write(STORE, first, &header, &ends, &bytes);
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
