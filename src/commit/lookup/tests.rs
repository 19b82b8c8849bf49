//! Which of the entries that may have a key has it, and what is said of entries that cannot be read (I1, I8).

use super::*;
use crate::engine::sim::{SimDisk, SimEngine};
use crate::error::ErrorKind;
use crate::journal::{Chain, GroupHeader, Packer};
use crate::limits::Limits;
use crate::types::{Receipt, ReceiptParts, Timestamp};

/// An account, an operation and a key.
type Identity = (AccountId, Operation, IdempotencyKey);

fn identity(tenant: &str, name: &str, operation: Operation, key: &str) -> Identity {
    (AccountId::in_tenant(tenant, name).unwrap(), operation, key.parse().unwrap())
}

/// What is looked for.
fn wanted() -> Identity {
    identity("t", "a", Operation::Grant, "k")
}

/// Four that differ from it in one thing each.
fn others() -> [Identity; 4] {
    [
        identity("u", "a", Operation::Grant, "k"),
        identity("t", "b", Operation::Grant, "k"),
        identity("t", "a", Operation::Redeem, "k"),
        identity("t", "a", Operation::Grant, "l"),
    ]
}

fn entry(number: u64, (account, operation, key): Identity) -> Entry {
    let receipt = Receipt::from_parts(ReceiptParts {
        number,
        account,
        operation,
        key,
        recorded_at: Timestamp::from_unix_millis(5),
        ..ReceiptParts::sample()
    });
    Entry { receipt, place: 0, list_len: 1, previous: 0 }
}

/// A disk, and the engine on it, with one page of entries.
fn disk_with(entries: &[Entry]) -> (SimDisk, SimEngine) {
    let disk = SimDisk::new(1);
    let engine = disk.open().expect("an empty disk opens");
    engine.accept(engine.found().mark).expect("it is taken into service");
    let mut packer = Packer::new(Limits::STANDARD);
    for entry in entries {
        packer.push(entry).expect("there is room");
    }
    let group = packer.finish(&GroupHeader {
        store: engine.store(),
        first: 1,
        chain: Chain::seed(engine.store()),
        granted: 0,
        redeemed: 0,
        time: Timestamp::from_unix_millis(5),
    });
    assert_eq!(group.pages.len(), 1);
    engine.append(&group.pages).expect("it is written");
    (disk, engine)
}

fn read(places: &[(u64, Option<u64>)], engine: &SimEngine) -> Result<Option<Entry>, ReadError> {
    let (account, operation, key) = wanted();
    Places(places.to_vec()).read(engine, &account, operation, &key)
}

fn corrupt(entry: u64, what: &str) -> Result<Option<Entry>, ReadError> {
    Err(ReadError::corrupt(entry, what))
}

// I1
#[test]
fn of_the_entries_that_a_hash_leads_to_the_one_with_all_names_alike_is_found() {
    let mut entries: Vec<Entry> = (1..).zip(others()).map(|(number, other)| entry(number, other)).collect();
    entries.push(entry(5, wanted()));
    let (_disk, engine) = disk_with(&entries);
    let all: Vec<_> = (1..=5).map(|number| (number, Some(1))).collect();
    assert_eq!(read(&all, &engine), Ok(entries.pop()));
    assert_eq!(read(&all[..4], &engine), Ok(None), "none of the others is it");
    assert_eq!(read(&[], &engine), Ok(None));
}

#[test]
fn places_are_those_of_a_hash_with_the_pages_that_hold_them() {
    let mut index = Index::new(SimDisk::new(1).open().expect("an empty disk opens").store());
    for (hash, number) in [(7, 2), (8, 3), (7, 9)] {
        index.receipts.insert(hash, number);
    }
    for first in [1, 3] {
        index.pages.push(first, 100);
    }
    let mut places = Places::of(&index, 7).0;
    places.sort_unstable();
    assert_eq!(places, [(2, Some(1)), (9, Some(3))]);
    assert!(Places::of(&index, 9).0.is_empty());
}

// I8: what cannot be read is never taken for absent.
#[test]
fn an_entry_that_cannot_be_read_is_an_error_and_says_which() {
    let (disk, engine) = disk_with(&[entry(1, wanted())]);
    assert_eq!(read(&[(3, None)], &engine), corrupt(3, "no page holds the entry"));
    assert_eq!(read(&[(3, Some(2))], &engine), corrupt(3, "the page is missing"));
    assert_eq!(read(&[(3, Some(1))], &engine), corrupt(3, "the page ends before the entry"));

    disk.fail_reads(true);
    let error = read(&[(1, Some(1))], &engine).expect_err("reads fail");
    assert!(matches!(error, ReadError::Io(_)), "{error}");
    disk.fail_reads(false);
    assert_eq!(read(&[(1, Some(1))], &engine), Ok(Some(entry(1, wanted()))));

    let mut pages = disk.durable_pages();
    pages.insert(1, b"no page".to_vec());
    disk.replace_pages(pages);
    let error = read(&[(1, Some(1))], &engine).expect_err("it is damaged");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error, ReadError::corrupt(1, "the page has an impossible length, len=7"));
}
