//! Bytes that change while nobody looks: everything acknowledged is served, or the damage is named (I9, I11).

use std::fs;
use std::path::{Path, PathBuf};

use pointstore::{ErrorKind, OpenError, PointStore};

use super::{Stop, assert_kept, assert_serves, copy_of, evidence, fill, grant, receipts, stopped};

/// What is done to a file at a place.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip,
    Zero(usize),
    Cut,
}

impl Damage {
    fn strike(self, bytes: &mut Vec<u8>, at: usize) {
        let end = bytes.len();
        match self {
            Self::Flip => bytes[at] ^= 1 << (at % 8),
            Self::Zero(len) => bytes[at..(at + len).min(end)].fill(0),
            Self::Cut => bytes.truncate(at),
        }
    }
}

const DAMAGES: [Damage; 4] = [Damage::Flip, Damage::Zero(512), Damage::Zero(4096), Damage::Cut];

/// Places in a file: some at its head, most where it has content.
fn places(bytes: &[u8], count: usize, seed: u64) -> Vec<usize> {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    let mut state = seed;
    let drawn = (0..count).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % used
    });
    [0, 8, used - 1].into_iter().filter(|at| *at < used).chain(drawn).collect()
}

/// Strikes a file of a stopped store at some places in every way, each in a fresh copy, and judges the opening.
fn strike(stop: Stop, file: impl Fn(&Path) -> PathBuf, count: usize, seed: u64) -> (usize, usize) {
    let store = stopped(stop);
    let good = fs::read(file(store.path())).unwrap();
    let (mut served, mut refused) = (0, 0);
    for at in places(&good, count, seed) {
        for damage in DAMAGES {
            let mut bad = good.clone();
            damage.strike(&mut bad, at);
            if bad == good {
                continue;
            }
            let copy = copy_of(store.path());
            fs::write(file(copy.path()), bad).unwrap();
            let before = evidence(copy.path());
            match PointStore::open(copy.path()) {
                Ok(opened) => {
                    assert_serves(&opened, &store.receipts);
                    served += 1;
                }
                Err(error @ (OpenError::Corrupt { .. } | OpenError::RolledBack { .. })) => {
                    assert_kept(copy.path(), &before, &error);
                    refused += 1;
                }
                Err(error) => panic!("{stop:?} {damage:?} at={at}: {error:?}"),
            }
        }
    }
    (served, refused)
}

fn log(folder: &Path) -> PathBuf {
    super::generation(folder).join("db")
}

fn snapshot(folder: &Path) -> PathBuf {
    fs::read_dir(super::generation(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("snap."))
        .expect("a snapshot")
}

#[test]
fn i11_a_damaged_log_is_served_whole_or_refused_after_a_clean_stop() {
    let (served, refused) = strike(Stop::Clean, log, 9, 1);
    println!("log after a clean stop: served={served} refused={refused}");
    assert!(refused > 0);
}

#[test]
fn i11_a_damaged_log_is_served_whole_or_refused_after_a_kill() {
    let (served, refused) = strike(Stop::Killed, log, 9, 2);
    println!("log after a kill: served={served} refused={refused}");
    assert!(refused > 0);
}

#[test]
fn i11_a_damaged_configuration_or_snapshot_is_served_whole_or_refused() {
    for stop in [Stop::Clean, Stop::Killed] {
        let (served, refused) = strike(stop, |folder| super::generation(folder).join("conf"), 3, 3);
        assert!(served + refused > 0);
        let (served, refused) = strike(stop, snapshot, 3, 4);
        assert!(served + refused > 0);
    }
}

/// After a clean stop sled opens the files in place. Were they not compared byte for byte before, its recovery
/// would change what it cannot read, and the evidence would be gone.
#[test]
fn i11_a_file_that_changed_after_a_clean_stop_is_seen_before_the_engine_touches_it() {
    let store = stopped(Stop::Clean);
    let path = log(store.path());
    let mut bytes = fs::read(&path).unwrap();
    // Behind everything that counts: the engine alone would not even notice.
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    let opened = store.serves_all();
    assert!(!opened.opened().was_clean());
    assert!(opened.opened().copied_bytes() > 0);
}

/// The engine holds a descriptor, and would go on writing to a file that nobody can open again.
#[test]
fn i7_a_log_that_is_removed_or_cut_under_the_store_ends_it_before_anything_is_acknowledged() {
    let strikes: [fn(&Path); 2] = [
        |log| fs::remove_file(log).unwrap(),
        |log| fs::File::options().write(true).open(log).unwrap().set_len(100).unwrap(),
    ];
    for (n, strike) in strikes.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let store = PointStore::open(folder.path()).unwrap();
        fill(&store, 0, 10);
        let before = receipts(&store);
        strike(&log(folder.path()));
        let error = store.apply(&grant("account-1", "late", 1)).expect_err(&format!("strike {n}"));
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error:?}");
        let error = store.apply(&grant("account-1", "later", 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "I10");
        assert_eq!(store.position().entries(), before.len() as u64, "I8");
        store.close().unwrap_err();
        let error = super::refused(folder.path());
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    }
}
