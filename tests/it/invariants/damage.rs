//! Pages lost, swapped, damaged, put back or put in from elsewhere: refused by name and never served (I11).

use std::collections::BTreeMap;

use pointstore::testing::SimDisk;
use pointstore::{ErrorKind, OpenError, PointStore};

use super::open;
use crate::cases::{grant, held, redeem};
use crate::model::Dump;

type Pages = BTreeMap<u64, Vec<u8>>;

/// Twelve entries in as many groups; the middle one has two pages.
fn write(disk: &SimDisk, name: &str) -> (Dump, Pages) {
    let store = open(disk);
    for n in 1..=6 {
        store.apply(&grant(name, &format!("k{n}"), n)).unwrap();
    }
    let long: Vec<_> = (1..=2).map(|n| grant(name, &format!("{n}{}", "K".repeat(250)), n)).collect();
    store.apply_each(&[long, vec![grant(name, &"L".repeat(255), 1)]].concat());
    for n in 1..=3 {
        store.apply(&redeem(name, &format!("k{n}"), n)).unwrap();
    }
    let dump = held(&store);
    store.close().unwrap();
    let pages = disk.durable_pages();
    assert_eq!((dump.journal.len(), pages.len()), (12, 11), "one group has two pages");
    (dump, pages)
}

/// Tries to open what was changed, after a clean stop and after an unclean one; then puts everything back.
fn refused(change: impl Fn(&mut Pages), what: &str) {
    for clean in [true, false] {
        let disk = SimDisk::new(31);
        let (dump, sound) = write(&disk, "a");
        if !clean {
            let store = open(&disk);
            disk.kill();
            drop(store);
        }
        let mut changed = sound.clone();
        change(&mut changed);
        assert_ne!(changed, sound, "{what}");
        disk.replace_pages(changed.clone());
        for _ in 0..2 {
            let error = PointStore::builder().open_simulated(&disk).expect_err(what);
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
            assert!(
                matches!(error, OpenError::Corrupt { .. } | OpenError::RolledBack { .. }),
                "{what}: {error}"
            );
            assert_eq!(disk.durable_pages(), changed, "the evidence is kept: {what}");
        }
        disk.replace_pages(sound);
        held(&open(&disk)).must_equal(&dump, "with everything put back");
    }
}

fn firsts() -> Vec<u64> {
    write(&SimDisk::new(31), "a").1.into_keys().collect()
}

#[test]
fn i11_each_page_that_is_lost_is_missed() {
    for first in firsts() {
        refused(|pages| drop(pages.remove(&first)), "a page is lost");
        refused(|pages| drop(pages.split_off(&first)), "all pages from one on are lost");
        refused(|pages| *pages = pages.split_off(&(first + 1)), "all pages up to one are lost");
    }
}

#[test]
fn i11_each_byte_of_each_page_that_is_damaged_is_noticed() {
    let disk = SimDisk::new(31);
    let (dump, sound) = write(&disk, "a");
    for (first, page) in &sound {
        for at in 0..page.len() {
            let mut changed = sound.clone();
            changed.get_mut(first).unwrap()[at] ^= 1 << (at % 8);
            disk.replace_pages(changed);
            let error = PointStore::builder().open_simulated(&disk).expect_err("a bit is flipped");
            assert!(matches!(error, OpenError::Corrupt { .. }), "page {first} byte {at}: {error}");
        }
    }
    disk.replace_pages(sound);
    held(&open(&disk)).must_equal(&dump, "with everything put back");
}

#[test]
fn i11_pages_cut_short_or_grown_are_noticed() {
    for first in firsts() {
        refused(|pages| pages.get_mut(&first).unwrap().truncate(40), "cut short");
        refused(|pages| pages.get_mut(&first).unwrap().clear(), "empty");
        refused(|pages| pages.get_mut(&first).unwrap().push(0), "a byte long");
        refused(|pages| pages.get_mut(&first).unwrap().resize(5_000, 0), "far too long");
        refused(|pages| pages.get_mut(&first).unwrap().fill(0), "zeroed");
    }
}

#[test]
fn i11_pages_in_each_others_place_are_noticed() {
    let firsts = firsts();
    for (one, other) in firsts.iter().zip(&firsts[1..]) {
        let swap = |pages: &mut Pages| {
            let (first, second) = (pages[one].clone(), pages[other].clone());
            pages.extend([(*one, second), (*other, first)]);
        };
        refused(swap, "two pages are swapped");
        refused(|pages| drop(pages.insert(*other, pages[one].clone())), "a page is there twice");
        refused(|pages| drop(pages.insert(100, pages[one].clone())), "a page is there again at the end");
    }
}

#[test]
fn i11_a_journal_put_in_the_place_of_another_is_noticed() {
    // The same identity and the same shape, but another history; and another identity with the same history.
    let (_, other_history) = write(&SimDisk::new(31), "b");
    let (_, other_store) = write(&SimDisk::new(32), "a");
    for foreign in [other_history, other_store] {
        refused(|pages| pages.clone_from(&foreign), "all of another journal");
        for first in firsts() {
            refused(|pages| drop(pages.insert(first, foreign[&first].clone())), "a page of another journal");
            refused(|pages| pages.extend(foreign.clone().split_off(&first)), "the end of another journal");
        }
    }
}

#[test]
fn i11_a_journal_behind_its_watermark_is_named_rolled_back() {
    let disk = SimDisk::new(33);
    let (_, sound) = write(&disk, "a");
    let mut old = sound.clone();
    drop(old.split_off(&11));
    disk.replace_pages(old);
    match PointStore::builder().open_simulated(&disk).unwrap_err() {
        OpenError::RolledBack { expected: 12, found: 10, .. } => {}
        other => panic!("not rolled back: {other:?}"),
    }
    disk.replace_pages(write(&SimDisk::new(33), "b").1);
    match PointStore::builder().open_simulated(&disk).unwrap_err() {
        OpenError::RolledBack { expected: 12, found: 12, .. } => {}
        other => panic!("not exchanged: {other:?}"),
    }
}

#[test]
fn i11_a_disk_rolled_back_as_a_whole_is_seen_by_who_remembers_its_position() {
    let disk = SimDisk::new(34);
    let store = open(&disk);
    store.apply(&grant("a", "k1", 5)).unwrap();
    let (early, early_pages) = (store.position(), disk.durable_pages());
    store.apply(&grant("a", "k2", 5)).unwrap();
    let late = store.position();
    drop(store);

    // A disk of the same identity that knows of nothing later.
    let rolled_back = SimDisk::new(34);
    rolled_back.replace_pages(early_pages);
    let builder = PointStore::builder();
    let error = builder.clone().expect_at_least(late).open_simulated(&rolled_back).unwrap_err();
    assert!(matches!(error, OpenError::RolledBack { expected: 2, found: 1, .. }), "{error:?}");
    drop(builder.clone().expect_at_least(early).open_simulated(&rolled_back).unwrap());

    // Continued otherwise, it reaches the position and is still another journal.
    let store = open(&rolled_back);
    store.apply(&grant("a", "k3", 5)).unwrap();
    drop(store);
    let error = builder.clone().expect_at_least(late).open_simulated(&rolled_back).unwrap_err();
    assert!(matches!(error, OpenError::RolledBack { expected: 2, found: 2, .. }), "{error:?}");
    drop(builder.expect_at_least(late).open_simulated(&disk).unwrap());
}
