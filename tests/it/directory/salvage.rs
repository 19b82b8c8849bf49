//! Getting out of damage: what is proven, what is found beyond it, what is missing, and the old store untouched.

use std::collections::BTreeMap;
use std::fs;

use pointstore::{ErrorKind, OpenError, PointStore, Receipt, SalvageReport};
use tempfile::TempDir;

use super::{Stop, Stopped, assert_serves, fill, listing, receipts, stopped};

/// Salvages a store and checks everything that must hold whatever the damage was.
fn salvaged(old: &Stopped) -> (SalvageReport, PointStore, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new");
    let before = listing(old.path());
    let report = PointStore::salvage(old.path(), &to).unwrap();
    assert!(listing(old.path()) == before, "the old store was touched");

    let all: BTreeMap<u64, &Receipt> = old.receipts.iter().map(|r| (r.number(), r)).collect();
    let proven = usize::try_from(report.proven()).unwrap();
    let store = PointStore::open(&to).unwrap();
    assert_serves(&store, &old.receipts[..proven]);
    assert_eq!(store.position(), report.position());

    // Every acknowledged entry is proven, found beyond that, or missing; none is two of these, and none is new.
    let mut seen = proven as u64;
    for receipt in report.beyond() {
        assert_eq!(all.get(&receipt.number()), Some(&receipt));
        assert!(receipt.number() > report.proven());
        seen += 1;
    }
    for range in report.missing() {
        assert!(*range.start() > report.proven() && *range.end() <= old.receipts.len() as u64);
        assert!(report.beyond().iter().all(|receipt| !range.contains(&receipt.number())));
        seen += range.end() - range.start() + 1;
    }
    assert_eq!(seen, old.receipts.len() as u64);
    let known = report.acknowledged().is_some();
    assert_eq!(report.is_complete(), known && proven == old.receipts.len());
    (report, store, folder)
}

#[test]
fn i11_a_store_whose_engine_files_are_gone_or_damaged_is_salvaged_whole() {
    for stop in [Stop::Clean, Stop::Killed] {
        for name in ["conf", "snap"] {
            let old = stopped(stop);
            let files = fs::read_dir(old.generation()).unwrap().map(|entry| entry.unwrap().path());
            let file =
                files.into_iter().find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(name));
            fs::write(file.unwrap(), [7; 100]).unwrap();
            old.refused();
            let (report, store, _folder) = salvaged(&old);
            assert!(report.is_complete(), "{report:?}");
            assert_eq!(report.acknowledged(), Some(old.receipts.len() as u64));
            assert_eq!((report.stopped_by(), report.unreadable_bytes()), (None, 0));
            // It is a store like any other.
            fill(&store, 1000, 2);
        }
    }
}

#[test]
fn i11_a_store_without_any_of_its_small_files_but_one_is_salvaged_whole() {
    for kept in ["FORMAT", "CURRENT", "WATERMARK"] {
        let old = stopped(Stop::Killed);
        for name in ["FORMAT", "CURRENT", "WATERMARK"] {
            if name != kept {
                fs::remove_file(old.path().join(name)).unwrap();
            }
        }
        let (report, ..) = salvaged(&old);
        assert_eq!(report.proven(), old.receipts.len() as u64, "kept={kept}");
        assert_eq!(report.acknowledged().is_some(), kept == "WATERMARK");
    }
}

/// Zeroes a third of the log, and less towards its end, from each of many places: whatever it hits, what is left is told apart rightly.
#[test]
fn i11_each_damaged_part_of_the_log_costs_what_it_held_and_no_more() {
    let (mut complete, mut gaps, mut beyond) = (0, 0, 0);
    for stop in [Stop::Clean, Stop::Killed] {
        let old = stopped(stop);
        let log = old.generation().join("db");
        let whole = fs::read(&log).unwrap();
        let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
        for place in 0..10 {
            let at = used * place / 10;
            let mut damaged = whole.clone();
            let end = (at + used / 3).min(damaged.len());
            damaged[at..end].fill(0);
            fs::write(&log, damaged).unwrap();
            let (report, store, _folder) = salvaged(&old);
            complete += usize::from(report.is_complete());
            gaps += report.missing().len();
            beyond += report.beyond().len();
            // What was found beyond is applied again under its keys, and is not doubled by a second time.
            let again: Vec<_> = report.beyond().iter().map(Receipt::to_command).collect();
            for _ in 0..2 {
                assert!(store.apply_each(&again).iter().all(Result::is_ok));
            }
            let held = report.proven() + report.beyond().len() as u64;
            assert_eq!(receipts(&store).len() as u64, held);
            let lost = old
                .receipts
                .iter()
                .filter(|r| report.missing().iter().any(|range| range.contains(&r.number())));
            let lost: i64 = lost.map(|receipt| receipt.points().get()).sum();
            let had: i64 = old.receipts.iter().map(|receipt| receipt.points().get()).sum();
            let has: i64 = store.accounts().map(|account| account.balance().get()).sum();
            assert_eq!(has, had - lost);
        }
        fs::write(&log, whole).unwrap();
    }
    assert!(complete > 0 && gaps > 0 && beyond > 0, "each outcome is met: {complete} {gaps} {beyond}");
}

#[test]
fn a_store_with_nothing_left_of_its_log_gives_an_empty_one_and_says_what_is_missing() {
    let old = stopped(Stop::Clean);
    fs::write(old.generation().join("db"), []).unwrap();
    let (report, store, _folder) = salvaged(&old);
    assert_eq!((report.proven(), report.beyond().len()), (0, 0));
    assert_eq!(report.missing(), [1..=old.receipts.len() as u64]);
    assert!(receipts(&store).is_empty());
}

#[test]
fn an_account_whose_entry_is_lost_is_named_where_a_later_one_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = PointStore::open(folder.path()).unwrap();
    for key in ["one", "two", "three"] {
        store.apply(&super::grant("alice", key, 5)).unwrap();
        store.apply(&super::grant("bob", key, 5)).unwrap();
    }
    let log = super::generation(folder.path()).join("db");
    let mut bytes = fs::read(&log).unwrap();
    // Every copy of the page with bob's second entry: its key is the second "two" in the log.
    let needle: Vec<u8> = [b"\x03bob", &b"\x03two"[..]].concat();
    let places: Vec<usize> =
        (0..bytes.len() - needle.len()).filter(|at| bytes[*at..].starts_with(&needle)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] ^= 0xff;
    }
    let damaged = super::copy_of(folder.path());
    fs::write(super::generation(damaged.path()).join("db"), bytes).unwrap();
    let to = tempfile::tempdir().unwrap();
    let report = PointStore::salvage(damaged.path(), to.path()).unwrap();
    assert_eq!((report.proven(), report.missing()), (3, &[4..=4][..]));
    let names: Vec<String> = report.incomplete().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["bob"]);
}

#[test]
fn salvage_leaves_open_foreign_and_occupied_places_alone() {
    let (old, to) = (stopped(Stop::Clean), tempfile::tempdir().unwrap());
    let store = old.serves_all();
    let error = PointStore::salvage(old.path(), to.path().join("new")).unwrap_err();
    assert!(matches!(error, OpenError::AlreadyOpen { .. }), "{error:?}");
    store.close().unwrap();

    let error = PointStore::salvage(to.path(), to.path().join("new")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);

    let full = tempfile::tempdir().unwrap();
    fs::write(full.path().join("notes.txt"), "mine").unwrap();
    let before = listing(full.path());
    let error = PointStore::salvage(old.path(), full.path()).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
    assert!(listing(full.path()) == before);
    let error = PointStore::salvage(old.path(), old.path()).unwrap_err();
    assert!(matches!(error, OpenError::AlreadyOpen { .. } | OpenError::Unsupported { .. }), "{error:?}");
    old.serves_all();
}
