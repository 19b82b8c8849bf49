//! The edges of pages and groups, and rolling back.

use super::super::page::Page;
use super::*;
use crate::types::{Receipt, ReceiptParts};

const STORE: StoreId = StoreId([7; 16]);

fn before() -> GroupHeader {
    GroupHeader {
        store: STORE,
        first: 100,
        chain: Chain::seed(STORE),
        granted: 1_000,
        redeemed: 10,
        time: Timestamp::from_unix_millis(5),
    }
}

/// Entries of one length; every third redeems.
fn entry(n: u64) -> Entry {
    let operation = if n % 3 == 2 { Operation::Redeem } else { Operation::Grant };
    let sample = ReceiptParts::sample();
    let receipt = Receipt::from_parts(ReceiptParts { number: 100 + n, operation, ..sample });
    Entry { receipt, place: 0, list_len: 1, previous: 0 }
}

fn entry_len() -> usize {
    let mut bytes = Vec::new();
    Row::of(&entry(0)).encode(&mut bytes).unwrap();
    bytes.len() + OFFSET_LEN
}

/// Pages with room for `page` entries and `spare` bytes, two of them a group.
fn limits(page: usize, spare: isize) -> Limits {
    let page_len = (PAGE_FIXED_LEN + page * entry_len()).checked_add_signed(spare).unwrap();
    Limits { page_len, group_pages: 2, ..Limits::STANDARD }
}

fn packed(limits: Limits, entries: u64) -> (Packer, Vec<Result<(), Full>>) {
    let mut packer = Packer::new(limits);
    let pushed = (0..entries).map(|n| packer.push(&entry(n))).collect();
    (packer, pushed)
}

/// Everything of a group, to compare it with another.
fn all(group: &Group) -> String {
    format!("{group:?}")
}

fn lens(group: &Group) -> Vec<(u64, usize)> {
    group
        .pages
        .iter()
        .map(|(first, bytes)| (*first, Page::parse(STORE, *first, bytes).unwrap().len()))
        .collect()
}

#[test]
fn a_page_is_filled_to_its_last_byte_and_no_further() {
    for (spare, expected) in [(0, vec![(100, 4)]), (1, vec![(100, 4)]), (-1, vec![(100, 3), (103, 1)])] {
        let limits = limits(4, spare);
        let group = packed(limits, 4).0.finish(&before());
        assert_eq!(lens(&group), expected, "spare={spare}");
        assert!(group.pages.iter().all(|(_, bytes)| bytes.len() <= limits.page_len));
    }
    let group = packed(limits(4, 0), 5).0.finish(&before());
    assert_eq!(lens(&group), [(100, 4), (104, 1)]);
    let page = Page::parse(STORE, 100, &group.pages[0].1).unwrap();
    let used = page.entry_bytes().len() + page.len() * OFFSET_LEN;
    assert_eq!(used, limits(4, 0).page_len - PAGE_FIXED_LEN, "no room is left");
}

#[test]
fn a_group_is_filled_to_its_last_page_and_an_entry_too_many_changes_nothing() {
    let (mut full, pushed) = packed(limits(3, 0), 6);
    assert!(pushed.iter().all(Result::is_ok));
    for _ in 0..2 {
        assert_eq!(full.push(&entry(6)), Err(Full::Group));
        assert_eq!(full.len(), 6);
    }
    let group = full.finish(&before());
    assert_eq!(lens(&group), [(100, 3), (103, 3)]);
    assert_eq!(all(&group), all(&packed(limits(3, 0), 6).0.finish(&before())));
}

#[test]
fn an_entry_too_long_for_what_is_left_may_be_followed_by_one_that_fits() {
    let (mut packer, _) = packed(limits(3, 0), 5);
    let mut long = entry(5);
    let key = crate::types::IdempotencyKey::new("k".repeat(200)).unwrap();
    long.receipt = Receipt::from_parts(ReceiptParts { key, ..ReceiptParts::sample() });
    assert_eq!(packer.push(&long), Err(Full::Group));
    assert_eq!(packer.push(&entry(5)), Ok(()));
    assert_eq!(all(&packer.finish(&before())), all(&packed(limits(3, 0), 6).0.finish(&before())));
}

// C07: what is rolled back leaves no trace, wherever it began and ended.
#[test]
fn rolling_back_to_any_point_is_as_if_the_rest_was_never_pushed() {
    let limits = limits(3, 0);
    for from in 0..=6 {
        for to in from..=6 {
            let (mut packer, _) = packed(limits, from);
            let savepoint = packer.savepoint();
            for n in from..to {
                packer.push(&entry(n)).unwrap();
            }
            packer.roll_back(savepoint);
            assert_eq!((packer.len() as u64, packer.is_empty()), (from, from == 0));
            // Others go on where it was.
            let mut again = packed(limits, from).0;
            for n in from..6 {
                assert_eq!(packer.push(&entry(n)), again.push(&entry(n)));
            }
            assert_eq!(packer.push(&entry(6)), Err(Full::Group));
            assert_eq!(all(&packer.finish(&before())), all(&again.finish(&before())), "{from} {to}");
        }
    }
}

// I3
#[test]
fn each_page_carries_the_totals_and_the_chain_before_it() {
    let group = packed(limits(2, 0), 4).0.finish(&before());
    let pages: Vec<Page<'_>> =
        group.pages.iter().map(|(first, bytes)| Page::parse(STORE, *first, bytes).unwrap()).collect();
    let (one, two) = (pages[0].header(), pages[1].header());
    assert_eq!((one.group_first, one.group_len, two.group_first, two.group_len), (100, 4, 100, 4));
    assert_eq!((one.granted_before, one.redeemed_before, one.chain_before), (1_000, 10, before().chain));
    assert_eq!((two.granted_before, two.redeemed_before), (2_000, 10));
    assert_eq!(two.chain_before, before().chain.over(pages[0].entry_bytes()));
    assert_eq!((group.granted, group.redeemed), (2_500, 510));
    assert_eq!(group.chain, two.chain_before.over(pages[1].entry_bytes()));
    assert!(!pages[0].ends_group() && pages[1].ends_group());
}

#[test]
fn the_chain_after_a_group_does_not_depend_on_its_pages() {
    let chains: Vec<Chain> =
        (2..=6).map(|page| packed(limits(page, 0), 4).0.finish(&before()).chain).collect();
    assert!(chains.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_finished_packer_is_as_new() {
    let (mut packer, _) = packed(limits(2, 0), 4);
    packer.finish(&before());
    assert!(packer.is_empty());
    assert!(packer.finish(&before()).pages.is_empty());
    for n in 0..4 {
        packer.push(&entry(n)).unwrap();
    }
    assert_eq!(all(&packer.finish(&before())), all(&packed(limits(2, 0), 4).0.finish(&before())));
}

#[test]
fn room_is_made_for_what_is_known_to_come_and_for_no_more_than_a_group_holds() {
    for (commands, entries) in [(0, 0), (1, 1), (600, 600), (700, 670), (usize::MAX, 670)] {
        let mut packer = Packer::new(Limits::STANDARD);
        assert_eq!(packer.make_room(commands), entries, "commands={commands}");
        assert!(packer.marks.capacity() >= entries && packer.bytes.capacity() >= entries * USUAL_ENTRY_LEN);
    }
}
