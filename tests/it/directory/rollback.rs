//! Older and exchanged files are told apart from damage, and never served (I11).

use std::fs;

use pointstore::{OpenError, PointStore};

use super::{
    Stop, assert_kept, assert_serves, copy_folder, copy_of, evidence, fill, generation, receipts, stopped,
};

#[test]
fn i11_a_generation_that_was_put_back_is_refused_as_rolled_back() {
    for stop in [Stop::Clean, Stop::Killed] {
        let live = tempfile::tempdir().unwrap();
        let store = PointStore::open(live.path()).unwrap();
        fill(&store, 0, 10);
        let older = copy_of(&generation(live.path()));
        let remembered = store.position();
        fill(&store, 10, 1);
        let entries = store.position().entries();
        let folder = match stop {
            Stop::Clean => {
                store.close().unwrap();
                live
            }
            Stop::Killed => copy_of(live.path()),
        };
        let place = generation(folder.path());
        fs::remove_dir_all(&place).unwrap();
        copy_folder(older.path(), &place);
        // Whoever remembers less than the store itself does not make it forget.
        let modest = PointStore::builder().expect_at_least(remembered).open(folder.path());
        for refused in [modest.expect_err("it must be refused"), super::refused(folder.path())] {
            match refused {
                OpenError::RolledBack { expected, found, .. } => {
                    assert_eq!(expected, entries);
                    assert!(found < expected);
                }
                error => panic!("{stop:?}: {error:?}"),
            }
        }
    }
}

#[test]
fn i11_older_files_put_back_beside_a_newer_generation_are_refused() {
    let live = tempfile::tempdir().unwrap();
    let store = PointStore::open(live.path()).unwrap();
    fill(&store, 0, 10);
    store.close().unwrap();
    let older = copy_of(live.path());
    let store = PointStore::open(live.path()).unwrap();
    fill(&store, 10, 10);
    store.close().unwrap();
    // All that the older store had, over the newer one, whose generation stays where it is.
    copy_folder(older.path(), live.path());
    assert!(live.path().join("gen-1").exists() && live.path().join("gen-2").exists());
    let error = super::refused(live.path());
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error:?}");
    assert!(error.to_string().contains("newer generation"));
}

#[test]
fn an_older_watermark_is_no_reason_to_refuse() {
    let live = tempfile::tempdir().unwrap();
    let store = PointStore::open(live.path()).unwrap();
    fill(&store, 0, 5);
    let older = fs::read(live.path().join("WATERMARK")).unwrap();
    let before = store.position().entries();
    fill(&store, 5, 10);
    let acknowledged = receipts(&store);
    store.close().unwrap();
    fs::write(live.path().join("WATERMARK"), older).unwrap();
    let store = PointStore::open(live.path()).unwrap();
    assert_serves(&store, &acknowledged);
    assert!(!store.opened().was_clean());
    assert_eq!(store.opened().unconfirmed(), acknowledged.len() as u64 - before);
}

#[test]
fn i11_one_bad_slot_of_the_watermark_is_survived_and_two_are_not() {
    let slots = [0..64, 4096..4160];
    for stop in [Stop::Clean, Stop::Killed] {
        for bad in [&slots[..1], &slots[1..], &slots[..]] {
            for (kind, byte) in [("flipped", None), ("zeroed", Some(0))] {
                let store = stopped(stop);
                let path = store.path().join("WATERMARK");
                let mut bytes = fs::read(&path).unwrap();
                for at in bad.iter().cloned().flatten() {
                    bytes[at] = byte.unwrap_or(bytes[at] ^ 1);
                }
                fs::write(&path, bytes).unwrap();
                if bad.len() == 1 {
                    store.serves_all();
                } else {
                    let error = store.refused();
                    assert!(
                        matches!(error, OpenError::MissingWatermark { .. }),
                        "{stop:?} {kind}: {error:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn i11_a_watermark_that_was_cut_is_survived_while_a_slot_is_whole() {
    for len in [0, 1, 63, 64, 4096, 4159, 4160, 8192] {
        let store = stopped(Stop::Killed);
        let path = store.path().join("WATERMARK");
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(len);
        fs::write(&path, bytes).unwrap();
        if len >= 64 {
            store.serves_all();
        } else {
            assert!(matches!(store.refused(), OpenError::MissingWatermark { .. }), "len={len}");
        }
    }
}

#[test]
fn i11_files_of_another_store_are_refused() {
    for stop in [Stop::Clean, Stop::Killed] {
        for name in ["FORMAT", "CURRENT", "WATERMARK", "gen"] {
            let (store, other) = (stopped(stop), stopped(stop));
            if name == "gen" {
                let place = store.generation();
                fs::remove_dir_all(&place).unwrap();
                copy_folder(&other.generation(), &place);
            } else {
                fs::copy(other.path().join(name), store.path().join(name)).unwrap();
            }
            let error = store.refused();
            let named = match name {
                "WATERMARK" => matches!(error, OpenError::MissingWatermark { .. }),
                _ => matches!(error, OpenError::Corrupt { .. }),
            };
            assert!(named, "{stop:?} {name}: {error:?}");
            // The other one is still whole.
            other.serves_all();
        }
    }
}

#[test]
fn i11_another_journal_of_the_same_store_is_refused_though_it_is_longer() {
    // Two copies of one store that have been written to apart.
    let store = stopped(Stop::Clean);
    let other = copy_of(store.path());
    for (folder, from, groups) in [(store.path(), 100, 2), (other.path(), 200, 5)] {
        let opened = PointStore::open(folder).unwrap();
        fill(&opened, from, groups);
        opened.close().unwrap();
    }
    let place = store.generation();
    fs::remove_dir_all(&place).unwrap();
    copy_folder(&generation(other.path()), &place);
    let error = store.refused();
    assert!(matches!(error, OpenError::RolledBack { .. }), "{error:?}");
}

#[test]
fn i11_a_whole_directory_that_was_rolled_back_is_seen_by_who_remembers_more() {
    for stop in [Stop::Clean, Stop::Killed] {
        let older = stopped(stop);
        let newer = copy_of(older.path());
        let store = PointStore::open(newer.path()).unwrap();
        fill(&store, 100, 1);
        let remembered = store.position();
        store.close().unwrap();

        let before = evidence(older.path());
        let error = PointStore::builder().expect_at_least(remembered).open(older.path()).unwrap_err();
        match &error {
            OpenError::RolledBack { expected, found, .. } => {
                assert_eq!((*expected, *found), (remembered.entries(), older.position.entries()));
            }
            error => panic!("{stop:?}: {error:?}"),
        }
        assert_kept(older.path(), &before, &error);
        // Who remembers no more than there is gets it.
        let store = PointStore::builder().expect_at_least(older.position).open(older.path()).unwrap();
        assert_serves(&store, &older.receipts);
        let store = PointStore::builder().expect_at_least(older.position).open(newer.path()).unwrap();
        assert_eq!(store.position(), remembered);
    }
}
