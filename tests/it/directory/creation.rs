//! A store whose making was cut short is made anew; one that was in use never is (I7, I11).

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use pointstore::{OpenError, PointStore};

use super::{Stop, copy_of, evidence, fill, generation, listing, refused, stopped};

/// Takes away from a complete directory what was not there yet at a stage of its making.
fn back_to_stage(folder: &Path, missing: &[&str]) {
    for name in missing {
        match *name {
            "FORMAT" => {
                fs::remove_file(folder.join("FORMAT")).unwrap();
                fs::write(folder.join("CREATING"), "").unwrap();
            }
            "sled" => {
                let generation = generation(folder);
                fs::remove_dir_all(&generation).unwrap();
                fs::create_dir(generation).unwrap();
            }
            "gen" => fs::remove_dir_all(generation(folder)).unwrap(),
            "half of conf" => {
                let conf = generation(folder).join("conf");
                let bytes = fs::read(&conf).unwrap();
                fs::write(conf, &bytes[..8]).unwrap();
            }
            name => {
                let _ = fs::remove_file(folder.join(name));
            }
        }
    }
}

#[test]
fn a_making_that_was_cut_short_at_any_stage_starts_over() {
    let fresh = tempfile::tempdir().unwrap();
    PointStore::open(fresh.path()).unwrap().close().unwrap();
    let stages: [&[&str]; 7] = [
        &["FORMAT"],
        &["FORMAT", "RESERVE"],
        &["FORMAT", "RESERVE", "CURRENT"],
        &["FORMAT", "RESERVE", "CURRENT", "half of conf"],
        &["FORMAT", "RESERVE", "CURRENT", "sled"],
        &["FORMAT", "RESERVE", "CURRENT", "sled", "WATERMARK"],
        &["FORMAT", "RESERVE", "CURRENT", "gen", "WATERMARK"],
    ];
    for stage in stages {
        let folder = copy_of(fresh.path());
        back_to_stage(folder.path(), stage);
        let store = PointStore::open(folder.path()).unwrap_or_else(|error| panic!("{stage:?}: {error:?}"));
        assert!(store.opened().created(), "{stage:?}");
        fill(&store, 0, 3);
        store.close().unwrap();
        assert!(!folder.path().join("CREATING").exists());
        assert!(PointStore::open(folder.path()).unwrap().opened().was_clean(), "{stage:?}");
    }
}

#[test]
fn a_making_that_was_cut_short_before_its_sign_was_there_starts_over() {
    for left in [&["LOCK"][..], &["LOCK", "CREATING.new"], &["CREATING.new"]] {
        let folder = tempfile::tempdir().unwrap();
        for name in left {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert!(PointStore::open(folder.path()).unwrap().opened().created(), "{left:?}");
    }
}

#[test]
fn a_store_that_was_complete_but_for_taking_the_sign_away_is_kept() {
    for stop in [Stop::Clean, Stop::Killed] {
        let store = stopped(stop);
        fs::write(store.path().join("CREATING"), "").unwrap();
        store.serves_all().close().unwrap();
        assert!(!store.path().join("CREATING").exists());
    }
}

#[test]
fn i11_a_store_that_was_in_use_is_not_made_anew_though_its_format_is_lost() {
    for stop in [Stop::Clean, Stop::Killed] {
        let store = stopped(stop);
        fs::remove_file(store.path().join("FORMAT")).unwrap();
        fs::write(store.path().join("CREATING"), "").unwrap();
        assert!(matches!(store.refused(), OpenError::Corrupt { .. }));
    }
}

#[test]
fn a_snapshot_that_was_being_written_does_not_keep_the_store_shut() {
    for stop in [Stop::Clean, Stop::Killed] {
        let store = stopped(stop);
        for name in ["snap.00000000000F4240.generating", "snap.1.generating"] {
            fs::write(store.generation().join(name), "half a snapshot").unwrap();
        }
        let opened = store.serves_all();
        assert!(!opened.opened().was_clean(), "the files are not as they were closed");
        opened.close().unwrap();
        assert!(!listing(store.path()).keys().any(|path| path.to_string_lossy().ends_with(".generating")));
    }
}

#[test]
fn generations_that_an_opening_left_behind_are_removed_by_the_next() {
    for stop in [Stop::Clean, Stop::Killed] {
        let store = stopped(stop);
        let current = store.generation();
        // Half a copy, and one of nothing, with numbers above and below.
        fs::create_dir(store.path().join("gen-0")).unwrap();
        fs::create_dir(store.path().join("gen-7")).unwrap();
        let half = fs::read(current.join("db")).unwrap();
        fs::write(store.path().join("gen-7/db"), &half[..half.len() / 2]).unwrap();
        fs::write(store.path().join("gen-7.copy"), "").unwrap();
        store.serves_all().close().unwrap();
        let left = generation(store.path());
        assert_eq!(left, store.path().join("gen-3"));
        assert!(
            !current.exists() && !store.path().join("gen-7").exists() && !store.path().join("gen-0").exists()
        );
        store.serves_all();
    }
}

#[test]
fn openings_that_are_cut_short_do_not_fill_the_disk_with_copies() {
    for stop in [Stop::Clean, Stop::Killed] {
        let store = stopped(stop);
        let before = super::evidence(store.path());
        for _ in 0..5 {
            let builder = PointStore::builder().on_progress(|_| panic!("cut short"));
            catch_unwind(AssertUnwindSafe(|| builder.open(store.path()))).unwrap_err();
        }
        // A panic is as good as a kill, except that this process can still tidy up.
        assert!(super::evidence(store.path()) == before);
        // What a kill leaves: a copy with its mark, and one whose mark came too late.
        fs::create_dir(store.path().join("gen-20")).unwrap();
        fs::write(store.path().join("gen-20/db"), "half").unwrap();
        fs::write(store.path().join("gen-20.copy"), "").unwrap();
        fs::write(store.path().join("gen-21.copy"), "").unwrap();
        PointStore::builder()
            .expect_at_least("9999-00000000".parse().unwrap())
            .open(store.path())
            .unwrap_err();
        assert!(
            !listing(store.path())
                .keys()
                .any(|path| path.starts_with("gen-20") || path.to_string_lossy().ends_with(".copy"))
        );
        store.serves_all();
    }
}

#[test]
fn files_that_are_not_ours_are_left_where_they_are() {
    let store = stopped(Stop::Killed);
    for name in ["gen-x", "gen-01", "notes.txt"] {
        fs::write(store.path().join(name), "mine").unwrap();
    }
    store.serves_all().close().unwrap();
    for name in ["gen-x", "gen-01", "notes.txt"] {
        assert_eq!(fs::read(store.path().join(name)).unwrap(), b"mine");
    }
}

#[test]
fn a_generation_that_cannot_be_read_is_refused_with_its_evidence() {
    let store = stopped(Stop::Killed);
    let log = store.generation().join("db");
    let bytes = fs::read(&log).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    fs::write(&log, &bytes[..used / 2]).unwrap();
    let before = evidence(store.path());
    let first = refused(store.path());
    assert!(matches!(first, OpenError::Corrupt { .. } | OpenError::RolledBack { .. }), "{first:?}");
    // Again and again the same, and nothing piles up.
    for _ in 0..3 {
        assert_eq!(
            refused(store.path()).to_string().split("gen-").next(),
            first.to_string().split("gen-").next()
        );
    }
    assert!(evidence(store.path()) == before);
    // Put right, it serves.
    fs::write(&log, bytes).unwrap();
    store.serves_all();
}
