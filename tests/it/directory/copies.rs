//! Backups: equal to the store at some moment, while writers run; unfinished ones never taken for a store (I2, I11).

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use pointstore::testing::SimDisk;
use pointstore::{BackupError, ErrorKind, OpenError, PointStore};

use super::{assert_serves, fill, grant, listing, receipts, refused};

#[test]
fn a_backup_taken_beside_writers_is_the_store_as_it_was_at_some_moment() {
    let folder = tempfile::tempdir().unwrap();
    let store = PointStore::open(folder.path().join("live")).unwrap();
    fill(&store, 0, 10);
    let writing = AtomicBool::new(true);
    let reports = std::thread::scope(|scope| {
        for writer in 0..3 {
            let (store, writing) = (&store, &writing);
            scope.spawn(move || {
                for i in 0.. {
                    let key = format!("w{writer}-{i}");
                    // As a whole or not at all, in the copy too.
                    store.apply_atomic(&[grant("one", &key, 2), grant("two", &key, 2)]).unwrap();
                    if !writing.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
        }
        let reports: Vec<_> = (0..4)
            .map(|n| {
                let before = store.position().entries();
                let report = store.backup(folder.path().join(format!("copy-{n}"))).unwrap();
                assert!((before..=store.position().entries()).contains(&report.entries()));
                report
            })
            .collect();
        writing.store(false, Ordering::SeqCst);
        reports
    });
    let all = receipts(&store);
    for (n, report) in reports.iter().enumerate() {
        let path = folder.path().join(format!("copy-{n}"));
        let copy = PointStore::builder().expect_at_least(report.position()).open(path).unwrap();
        assert!(copy.opened().was_clean() && !copy.opened().created());
        assert_eq!(copy.position(), report.position());
        assert_serves(&copy, &all[..report.entries() as usize]);
        let balance = |name: &str| copy.balance(&name.parse().unwrap());
        assert_eq!(balance("one"), balance("two"));
        // It is a store like any other.
        fill(&copy, 1000, 2);
    }
}

#[test]
fn a_backup_does_not_go_where_something_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = PointStore::temporary().unwrap();
    fill(&store, 0, 3);
    let full = folder.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("notes.txt"), "mine").unwrap();
    let copy = folder.path().join("copy");
    store.backup(&copy).unwrap();
    for path in [full, copy] {
        let before = listing(&path);
        let error = store.backup(&path).unwrap_err();
        assert!(matches!(error, BackupError::Open(_)), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(listing(&path) == before);
    }
    fs::create_dir(folder.path().join("empty")).unwrap();
    store.backup(folder.path().join("empty")).unwrap();
}

/// A store whose pages can be told not to be readable.
fn unreadable() -> (SimDisk, PointStore) {
    let disk = SimDisk::new(5);
    let store = PointStore::builder().open_simulated(&disk).unwrap();
    fill(&store, 0, 10);
    disk.fail_reads(true);
    (disk, store)
}

#[test]
fn i11_a_backup_that_was_not_finished_is_not_taken_for_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, store) = unreadable();
    let path = folder.path().join("copy");
    let error = store.backup(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    let error = refused(&path);
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error:?}");
    // Removed, as the documentation says, it can be tried again.
    fs::remove_dir_all(&path).unwrap();
    disk.fail_reads(false);
    store.backup(&path).unwrap();
    assert_serves(&PointStore::open(&path).unwrap(), &receipts(&store));
}

/// The making of a store was cut short; then a backup went to the same place, and was cut short as well. The
/// sign of the first was kept, which says that there is nothing to lose, and opening gave an empty store.
#[test]
fn i11_an_unfinished_backup_over_an_unfinished_store_is_not_taken_for_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let (_disk, store) = unreadable();
    fs::write(folder.path().join("CREATING"), "").unwrap();
    assert_eq!(store.backup(folder.path()).unwrap_err().kind(), ErrorKind::Unavailable);
    let error = refused(folder.path());
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error:?}");
}
