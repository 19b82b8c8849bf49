//! Journals that are whole, checksummed and chained, and yet break the ledger's rules: I1, I2, I3.
//!
//! They are laid on a disk that nothing was ever acknowledged on, so that all that speaks against them is what
//! they say. A sound one opens, which shows that the forging is right.

use pointstore::testing::SimDisk;
use pointstore::{ErrorKind, OpenError};

use super::forge::{Entry, Page, journal, rechain, rechain_for, store_id, written};
use super::open;
use crate::cases::held;

const SEED: u64 = 21;

/// Three groups over two accounts: a grant each, a transfer as an atomic list, and another grant.
fn sound() -> Vec<Vec<Entry>> {
    let listed = |entry: Entry, place| Entry { place, list_len: 2, ..entry };
    let redeem = Entry { operation: 2, ..Entry::grant("a", "t", 30, 70, 2, 1) };
    vec![
        vec![Entry::grant("a", "k", 100, 100, 1, 0), Entry::grant("b", "k", 5, 5, 1, 0)],
        vec![listed(redeem, 0), listed(Entry::grant("b", "t", 30, 35, 2, 2), 1)],
        vec![Entry::grant("a", "k2", 1, 71, 3, 3)],
    ]
}

fn opened(pages: &[Page]) -> Result<pointstore::PointStore, OpenError> {
    let disk = SimDisk::new(SEED);
    disk.replace_pages(written(pages));
    pointstore::PointStore::builder().open_simulated(&disk)
}

fn refused(pages: &[Page], what: &str) {
    let error = opened(pages).expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
    assert!(matches!(error, OpenError::Corrupt { .. }), "{what}: {error}");
}

/// Changes one entry, keeps totals, checksums and chain right, and expects it to be noticed.
fn refused_with(group: usize, place: usize, what: &str, change: impl FnOnce(&mut Entry)) {
    let mut groups = sound();
    change(&mut groups[group][place]);
    refused(&journal(SEED, groups), what);
}

/// The same with a page.
fn refused_with_page(at: usize, what: &str, change: impl FnOnce(&mut Page)) {
    let mut pages = journal(SEED, sound());
    change(&mut pages[at]);
    refused(&pages, what);
}

#[test]
fn a_sound_journal_that_somebody_else_wrote_is_served() {
    let store = opened(&journal(SEED, sound())).unwrap();
    let seen = held(&store);
    assert_eq!(seen.journal.len(), 5);
    assert_eq!(seen.accounts, [("a".into_row(71, 3, 5)), ("b".into_row(35, 2, 4))]);
    assert_eq!((seen.granted, seen.redeemed), (136, 30));
    assert_eq!(store.opened().unconfirmed(), 5);
    store.verify().unwrap();
}

/// Pages carry four bytes of the store's identity; a journal that is sound for another store with the same four is still
/// not this one's.
#[test]
fn i11_a_journal_of_a_store_with_an_identity_that_ends_alike_is_not_served() {
    let mut pages = journal(SEED, sound());
    let mut other = store_id(SEED);
    other[0] ^= 1;
    rechain_for(other, &mut pages);
    for page in &mut pages {
        page.store = other;
    }
    let error = opened(&pages).expect_err("a journal of another store");
    assert!(matches!(&error, OpenError::Corrupt { what, .. } if what.contains("chain")), "{error}");
    assert!(written(&pages)[&1].starts_with(&written(&journal(SEED, sound()))[&1][..5]), "the same tag");
}

trait IntoRow {
    fn into_row(self, balance: i128, sequence: u64, last: u64) -> (String, String, i128, u64, u64);
}

impl IntoRow for &str {
    fn into_row(self, balance: i128, sequence: u64, last: u64) -> (String, String, i128, u64, u64) {
        (String::new(), self.into(), balance, sequence, last)
    }
}

#[test]
fn i1_a_journal_with_a_key_twice_is_not_served() {
    refused_with(2, 0, "the key of the first entry again", |entry| entry.key = "k".into());
    let mut groups = sound();
    groups[2].push(Entry::grant("a", "k2", 1, 72, 4, 5));
    refused(&journal(SEED, groups), "twice in one group, with the same payload");
    // For another operation it is another key.
    let mut groups = sound();
    groups[2][0] = Entry { operation: 2, key: "k".into(), ..Entry::grant("a", "k", 1, 69, 3, 3) };
    opened(&journal(SEED, groups)).unwrap();
}

#[test]
fn i2_a_journal_with_half_an_atomic_list_is_not_served() {
    refused_with(1, 0, "the list's first entry says it is alone", |entry| entry.list_len = 1);
    refused_with(1, 1, "its second says so", |entry| (entry.place, entry.list_len) = (0, 1));
    refused_with(1, 1, "places out of order", |entry| entry.place = 0);
    refused_with(2, 0, "a list that goes on behind its group", |entry| entry.list_len = 2);
    refused_with(2, 0, "a list that began before its group", |entry| {
        (entry.place, entry.list_len) = (1, 2);
    });
    refused_with(2, 0, "a list of nothing", |entry| entry.list_len = 0);
    refused_with(2, 0, "a list beyond all bounds", |entry| entry.list_len = u64::from(u32::MAX));
}

#[test]
fn i3_a_journal_whose_balances_do_not_follow_is_not_served() {
    refused_with(0, 0, "a first balance above the points", |entry| entry.balance = 101);
    refused_with(2, 0, "one point more", |entry| entry.balance += 1);
    refused_with(2, 0, "one point less", |entry| entry.balance -= 1);
    refused_with(2, 0, "more points than the balance moved by", |entry| entry.points = 2);
    refused_with(2, 0, "a grant that should be a redemption", |entry| entry.operation = 2);
    refused_with(2, 0, "beyond the largest balance", |entry| {
        (entry.points, entry.balance) = (i64::MAX as u64, 70 + i64::MAX as u64);
    });
    refused_with(2, 0, "below zero", |entry| {
        (entry.operation, entry.points, entry.balance) = (2, 71, u64::MAX);
    });
    refused_with(2, 0, "no points", |entry| (entry.points, entry.balance) = (0, 70));
}

#[test]
fn i3_a_journal_whose_receipts_are_not_numbered_without_a_gap_is_not_served() {
    for sequence in [0, 2, 4, u64::MAX] {
        refused_with(2, 0, "another sequence", |entry| entry.sequence = sequence);
    }
    for previous in [0, 1, 2, 4, 5, 6, u64::MAX] {
        refused_with(2, 0, "another entry before it", |entry| entry.previous = previous);
    }
    refused_with(2, 0, "it follows in all but its name from an entry of another account", |entry| {
        *entry = Entry::grant("a", "k2", 1, 36, 3, 4);
    });
    // An entry that is left out, with everything renumbered.
    let mut groups = sound();
    groups[0].remove(1);
    refused(&journal(SEED, groups), "the first receipt of an account is missing");
}

/// Where the accounts of a page stood was looked up for all of its entries before the first was judged: a second one
/// that followed from the same entry as the first was judged by where the account had stood, and served.
#[test]
fn i3_two_entries_of_a_page_that_follow_from_the_same_one_are_not_served() {
    let mut groups = sound();
    groups[2].push(Entry::grant("a", "k3", 2, 72, 3, 3));
    refused(&journal(SEED, groups.clone()), "the second follows from the entry that the first follows from");
    groups[2][1] = Entry::grant("a", "k3", 2, 73, 4, 5);
    opened(&journal(SEED, groups)).unwrap();
}

#[test]
fn i3_a_journal_whose_totals_chain_time_or_numbers_do_not_continue_is_not_served() {
    refused_with_page(1, "more granted before", |page| page.granted += 1);
    refused_with_page(2, "less redeemed before", |page| page.redeemed -= 1);
    refused_with_page(0, "something granted before the first", |page| page.granted = 1);
    refused_with_page(2, "totals at the end of numbers", |page| page.granted = u128::MAX);
    refused_with_page(1, "another chain", |page| page.chain ^= 1);
    refused_with_page(0, "another beginning", |page| page.chain ^= 1);
    refused_with_page(2, "earlier than the page before", |page| page.time_ms = 1_000);
    refused_with_page(2, "a gap between pages", |page| (page.first, page.group_first) = (6, 6));
    refused_with_page(0, "numbers from zero", |page| (page.first, page.group_first) = (0, 0));
    refused_with_page(2, "the end of numbers", |page| {
        (page.first, page.group_first) = (u64::MAX, u64::MAX);
    });
    refused_with_page(2, "a group that began before it", |page| page.group_first = 4);
    refused_with_page(1, "a group that ends inside it", |page| page.group_len = 1);
    refused_with_page(1, "a group of a length that goes beyond the next page", |page| page.group_len = 3);
    refused_with_page(0, "a version of the future", |page| page.version = 2);
    refused_with_page(1, "another store's page", |page| page.store[15] ^= 1);
    refused_with_page(1, "no entries", |page| page.entries.clear());
}

#[test]
fn i9_entries_with_fields_out_of_bounds_are_not_served() {
    refused_with(2, 0, "an operation of the future", |entry| entry.operation = 3);
    refused_with(2, 0, "no operation", |entry| entry.operation = 0);
    refused_with(2, 0, "an empty key", |entry| entry.key.clear());
    refused_with(2, 0, "a key too long", |entry| entry.key = vec![b'k'; 256]);
    refused_with(2, 0, "a key that is not text", |entry| entry.key = vec![0xff]);
    refused_with(2, 0, "a key with a control character", |entry| entry.key = b"a\nb".to_vec());
    refused_with(2, 0, "a blank memo", |entry| entry.memo = b"  ".to_vec());
    refused_with(2, 0, "a memo too long", |entry| entry.memo = vec![b'm'; 129]);
    refused_with(2, 0, "bytes behind the entry", |entry| entry.trailing = vec![0]);
    refused_with(2, 0, "a place beyond 32 bits", |entry| entry.place = 1 << 32);
    let mut groups = sound();
    for name in [&b""[..], &[b'n'; 129], b"\t", &[0xc3]] {
        groups[2][0] = Entry { name: name.to_vec(), ..Entry::grant("c", "k", 1, 1, 1, 0) };
        refused(&journal(SEED, groups.clone()), "a name out of bounds");
    }
    for tenant in [&[b't'; 65][..], b" ", &[0xff]] {
        groups[2][0] = Entry { tenant: tenant.to_vec(), ..Entry::grant("c", "k", 1, 1, 1, 0) };
        refused(&journal(SEED, groups.clone()), "a tenant out of bounds");
    }
}

#[test]
fn i9_a_table_that_does_not_fit_the_entries_is_not_served() {
    let pages = journal(SEED, sound());
    let len = |at: usize| pages[0].entries[at].len() as u16;
    let (middle, end) = (len(0), len(0) + len(1));
    for table in [
        vec![end, middle],
        vec![end, end],
        vec![0, end],
        vec![middle, middle],
        vec![middle, end - 1],
        vec![middle, end + 1],
        vec![middle + 1, end],
        vec![u16::MAX, end],
        vec![middle, u16::MAX],
        vec![middle],
        vec![middle, end, end],
        vec![],
    ] {
        refused_with_page(0, "a table that does not fit", |page| page.table = Some(table));
    }
    refused_with_page(2, "a table far too long", |page| page.table = Some(vec![0; 2_000]));
}

#[test]
fn i9_pages_and_groups_beyond_their_bounds_are_not_served() {
    // Sound in all but its length.
    let many = |count: u64, key_len: usize| -> Vec<Entry> {
        let key = |n| format!("{n:03}{}", "K".repeat(key_len));
        (1..=count).map(|n| Entry::grant("a", &key(n), 1, n, n, n - 1)).collect()
    };
    opened(&journal(SEED, vec![many(15, 240)])).unwrap();
    refused(&journal(SEED, vec![many(16, 240)]), "a page of more than 4 KiB");
    // Sound in all but the number of its pages.
    let group_of = |count: u64| {
        let mut pages = journal(SEED, many(count, 1).into_iter().map(|entry| vec![entry]).collect());
        for page in &mut pages {
            (page.group_first, page.group_len, page.time_ms) = (1, count as u32, 1_000);
        }
        pages
    };
    opened(&group_of(8)).unwrap();
    refused(&group_of(9), "a group of nine pages");
}

#[test]
fn i11_an_unfinished_last_group_that_nobody_was_told_of_is_dropped_and_reported() {
    let mut pages = journal(SEED, sound());
    // The last page belongs to a group of two entries, of which the second never came.
    pages[2].group_len = 2;
    rechain(SEED, &mut pages);
    let disk = SimDisk::new(SEED);
    disk.replace_pages(written(&pages));
    let store = open(&disk);
    assert_eq!((store.opened().dropped_pages(), store.opened().entries()), (1, 4));
    assert_eq!(store.balance(&"a".parse().unwrap()).get(), 70);
    // Its place is free again.
    store.grant(&"c".parse().unwrap(), &"k".parse().unwrap(), 1_u8.try_into().unwrap()).unwrap();
    store.close().unwrap();
    drop(store);
    let store = open(&disk);
    assert_eq!((store.opened().dropped_pages(), store.opened().entries()), (0, 5));
    store.verify().unwrap();
}
