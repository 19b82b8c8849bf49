//! Bytes of any kind in the place of pages: I9, and never served (I11).

use std::collections::BTreeMap;

use pointstore::testing::SimDisk;
use pointstore::{ErrorKind, PointStore};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::forge::reseal;
use super::open;
use crate::cases::{grant, held, redeem};
use crate::histories::cases;

const SEED: u64 = 22;

/// A disk with several pages, closed.
fn disk() -> SimDisk {
    let disk = SimDisk::new(SEED);
    let store = open(&disk);
    let many: Vec<_> = (1..=30).map(|n| grant("a", &format!("k{n}"), n)).collect();
    store.apply_each(&many);
    store.apply_atomic(&[redeem("a", "t", 3), grant("b", "t", 3)]).unwrap();
    store.apply(&grant("b", "k", 3)).unwrap();
    store.close().unwrap();
    disk
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..40_u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn i9_arbitrary_bytes_as_pages_are_refused_and_never_panic(
        mut pages in btree_map(number(), vec(any::<u8>(), 0..200), 1..4),
        sealed: bool,
        versioned: bool,
    ) {
        for (first, page) in &mut pages {
            if versioned && let Some(version) = page.first_mut() {
                *version = 1;
            }
            if sealed {
                reseal(*first, page);
            }
        }
        // On a disk that held something, and on one that never did.
        for disk in [disk(), SimDisk::new(SEED)] {
            disk.replace_pages(pages.clone());
            let error = PointStore::builder().open_simulated(&disk).expect_err("no store was ever like this");
            prop_assert_eq!(error.kind(), ErrorKind::Corrupt);
            prop_assert_eq!(disk.durable_pages(), pages.clone());
        }
    }

    #[test]
    fn i9_a_page_changed_anywhere_and_sealed_again_never_panics_and_changes_no_balance(
        at in any::<prop::sample::Index>(),
        edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop_oneof![4 => Just(0_usize), 1 => 1..100_usize],
    ) {
        let disk = disk();
        let expected = held(&open(&disk));
        let mut pages = disk.durable_pages();
        let first = *at.get(&pages.keys().copied().collect::<Vec<_>>());
        let page = pages.get_mut(&first).unwrap();
        for (place, value) in edits {
            let place = place.index(page.len());
            page[place] = value;
        }
        page.truncate(page.len().saturating_sub(cut));
        reseal(first, page);
        disk.kill();
        disk.replace_pages(pages);
        match PointStore::builder().open_simulated(&disk) {
            Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Corrupt),
            // The time of the last group is bound by nothing but its checksum.
            Ok(store) => {
                let mut seen = held(&store);
                for (seen, expected) in seen.journal.iter_mut().zip(&expected.journal) {
                    seen.recorded_at_ms = expected.recorded_at_ms;
                }
                seen.must_equal(&expected, "after a change");
            }
        }
    }
}

#[test]
fn i9_pages_that_change_under_an_open_store_never_panic_and_are_never_taken_for_absent() {
    let disk = disk();
    let store = open(&disk);
    let sound = disk.durable_pages();
    let filled = |bytes: Vec<u8>| sound.keys().map(|first| (*first, bytes.clone())).collect();
    let shifted = sound.iter().map(|(first, page)| (first + 1, page.clone())).collect();
    let damaged: [BTreeMap<u64, Vec<u8>>; 6] = [
        BTreeMap::new(),
        shifted,
        filled(Vec::new()),
        filled(vec![0; 73]),
        filled(vec![0xff; 4096]),
        filled(vec![1; 5000]),
    ];
    for pages in damaged {
        disk.replace_pages(pages);
        for command in [grant("a", "k1", 1), grant("b", "k", 3), grant("a", "k1", 2)] {
            assert_eq!(store.apply(&command).unwrap_err().kind(), ErrorKind::Corrupt);
            assert_eq!(
                store.apply_atomic(std::slice::from_ref(&command)).unwrap_err().kind(),
                ErrorKind::Corrupt
            );
            let receipt = store.receipt(command.account(), command.operation(), command.key());
            assert_eq!(receipt.unwrap_err().kind(), ErrorKind::Corrupt);
            let mut statement = store.statement(command.account());
            assert_eq!(statement.next().unwrap().unwrap_err().kind(), ErrorKind::Corrupt);
            assert!(statement.next().is_none(), "an error ends it");
        }
        assert_eq!(store.journal(0).next().unwrap().unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(store.verify().unwrap_err().kind(), ErrorKind::Corrupt);
    }
    disk.replace_pages(sound);
    store.verify().unwrap();
}
