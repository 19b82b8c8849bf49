//! Closing, dropping and opening again at once (I7, C11).

use std::fs;
use std::path::Path;

use pointstore::{ErrorKind, PointStore, ReadError};

use super::{assert_serves, copy_of, fill, generation, grant, receipts};

#[test]
fn a_closed_store_opens_again_at_once_and_was_clean() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..15 {
        let store = PointStore::open(folder.path()).unwrap();
        assert_eq!(store.opened().created(), round == 0);
        assert!(store.opened().was_clean());
        assert_eq!(store.opened().copied_bytes() == 0, round == 0, "each opening works on a copy");
        fill(&store, round * 3, 3);
        store.close().unwrap();
    }
    // One copy after the other, and only the last is kept.
    let kept: Vec<_> =
        super::listing(folder.path()).into_keys().filter(|path| path.starts_with("gen-15")).collect();
    assert!(!kept.is_empty() && generation(folder.path()).ends_with("gen-15"));
    assert!(!folder.path().join("gen-14").exists() && !folder.path().join("gen-15.copy").exists());
}

#[test]
fn dropping_the_last_clone_closes_the_store() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let store = PointStore::open(folder.path()).unwrap();
        assert!(store.opened().was_clean());
        let clone = store.clone();
        drop(store);
        fill(&clone, round * 3, 3);
        let mut statement = clone.statement(&"account-1".parse().unwrap());
        drop(clone);
        // A statement is a hold on the store, too.
        assert!(PointStore::open(folder.path()).is_err());
        statement.next().unwrap().unwrap();
        drop(statement);
    }
    assert!(PointStore::open(folder.path()).unwrap().opened().was_clean());
}

#[test]
fn closing_again_gives_the_same_answer_from_every_clone() {
    let folder = tempfile::tempdir().unwrap();
    let store = PointStore::open(folder.path()).unwrap();
    fill(&store, 0, 3);
    let clone = store.clone();
    for store in [&store, &clone, &store] {
        assert_eq!(store.close(), Ok(()));
    }
    // Even with the directory in other hands by then.
    let other = PointStore::open(folder.path()).unwrap();
    assert_eq!(clone.close(), Ok(()));
    fill(&other, 3, 3);
}

#[test]
fn a_closed_store_says_so_and_keeps_its_balances() {
    let store = PointStore::temporary().unwrap();
    fill(&store, 0, 3);
    let account = "account-1".parse().unwrap();
    let (balance, known) = (store.balance(&account), receipts(&store).remove(0));
    store.close().unwrap();
    assert_eq!(store.balance(&account), balance);
    for command in [grant("account-1", "new", 1), grant("account-1", "g0-0", 1)] {
        assert_eq!(store.apply(&command).unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(store.apply_atomic(&[command]).unwrap_err().kind(), ErrorKind::Closed);
    }
    let read = store.receipt(known.account(), known.operation(), known.key());
    assert_eq!(read, Err(ReadError::Closed));
    assert_eq!(store.statement(&account).collect::<Vec<_>>(), [Err(ReadError::Closed)]);
    assert_eq!(store.journal(0).collect::<Vec<_>>(), [Err(ReadError::Closed)]);
    assert_eq!(store.verify(), Err(ReadError::Closed));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(store.backup(folder.path()).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn c11_closing_answers_what_is_under_way_and_keeps_what_was_acknowledged() {
    for round in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let store = PointStore::open(folder.path()).unwrap();
        let acknowledged = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|writer| {
                    let store = &store;
                    scope.spawn(move || {
                        let mut done = 0;
                        for i in 0.. {
                            match store.apply(&grant("hot", &format!("w{writer}-{i}"), 1)) {
                                Ok(outcome) => done += outcome.receipt().points().get(),
                                Err(error) => {
                                    assert_eq!(error.kind(), ErrorKind::Closed);
                                    break;
                                }
                            }
                        }
                        done
                    })
                })
                .collect();
            while store.position().entries() < 40 * round {
                std::thread::yield_now();
            }
            store.close().unwrap();
            writers.into_iter().map(|writer| writer.join().unwrap()).sum::<i64>()
        });
        let shown = receipts_of(&folder);
        assert_eq!(shown, acknowledged, "no more and no less than what was acknowledged");
    }
}

fn receipts_of(folder: &tempfile::TempDir) -> i64 {
    let store = PointStore::open(folder.path()).unwrap();
    assert!(store.opened().was_clean());
    assert_serves(&store, &receipts(&store));
    store.balance(&"hot".parse().unwrap()).get()
}

#[test]
fn the_engine_never_writes_side_files_however_full_the_groups_are() {
    let folder = tempfile::tempdir().unwrap();
    let store = PointStore::open(folder.path()).unwrap();
    // The longest entries there can be, so that pages and groups are as full as they get.
    let memo = pointstore::Memo::new("m".repeat(128)).unwrap();
    for group in 0..60 {
        let list: Vec<_> = (0..80)
            .map(|i| {
                let key = format!("{group}-{i}-{}", "k".repeat(240));
                grant(&format!("{}{}", "a".repeat(120), i), &key, i64::MAX >> 8).with_memo(memo.clone())
            })
            .collect();
        assert!(store.apply_each(&list).iter().all(Result::is_ok));
    }
    let blobs = generation(folder.path()).join("blobs");
    let left: Vec<_> = std::fs::read_dir(blobs).into_iter().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(store.stats().groups >= 60 * 80 / (8 * 7));
    store.close().unwrap();
    let left: Vec<_> =
        std::fs::read_dir(generation(folder.path()).join("blobs")).into_iter().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A store used to show all of its accounts, keys and pages, in logs and in every test that failed.
#[test]
fn a_store_in_a_log_shows_nothing_of_what_is_in_it() {
    let store = PointStore::temporary().unwrap();
    fill(&store, 0, 3);
    let shown = format!("{store:?} {:?} {:?} {:?}", store.journal(0), store.accounts(), store.opened());
    assert!(!shown.contains("account-1") && !shown.contains("g1-"), "{shown}");
    assert!(shown.len() < 2_000, "{shown}");
}

#[test]
fn what_is_made_ahead_of_the_log_is_there_while_it_is_open_alone() {
    const SEGMENT: usize = 512 << 10;
    let zeros_at_the_end = |folder: &Path| {
        let log = fs::read(generation(folder).join("db")).unwrap();
        log.iter().rev().take_while(|byte| **byte == 0).count()
    };
    let folder = tempfile::tempdir().unwrap();
    let store = PointStore::open(folder.path()).unwrap();
    fill(&store, 0, 30);
    assert!(zeros_at_the_end(folder.path()) > SEGMENT);
    // As kill -9 leaves it: opened again, there is what sled wrote, until there is a group to write.
    let killed = copy_of(folder.path());
    let all = receipts(&store);
    store.close().unwrap();
    let opened = PointStore::open(killed.path()).unwrap();
    for folder in [&folder, &killed] {
        assert!(zeros_at_the_end(folder.path()) < SEGMENT);
    }
    assert_serves(&opened, &all);
    fill(&opened, 30, 1);
    assert!(zeros_at_the_end(killed.path()) > SEGMENT);
    opened.close().unwrap();
    assert!(zeros_at_the_end(killed.path()) < SEGMENT);
    assert!(PointStore::open(killed.path()).unwrap().opened().was_clean());
}
