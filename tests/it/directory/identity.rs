//! What a directory is, and whose: fresh, foreign, newer, damaged, in use (I11).

use std::fs;
use std::path::Path;
use std::process::{Command as Program, Stdio};

use pointstore::{ErrorKind, OpenError, PointStore};

use super::{Stop, evidence, listing, refused, stopped};

#[test]
fn a_fresh_directory_holds_exactly_these_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("not/there/yet");
    let store = PointStore::open(&path).unwrap();
    store.close().unwrap();
    let names: Vec<String> = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "RESERVE")
        .collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["CURRENT", "FORMAT", "LOCK", "WATERMARK", "gen-1"]);
    let files = listing(&path);
    assert_eq!(files[Path::new("LOCK")], Some(Vec::new()));
    // Lines for people too: what it is, its version or number, whose it is, a checksum.
    let words = |name: &str| {
        let text = String::from_utf8(files[Path::new(name)].clone().unwrap()).unwrap();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let (format, current) = (words("FORMAT"), words("CURRENT"));
    assert_eq!(format[..3], ["pointstore", "format", "1"]);
    assert_eq!(current[..3], ["pointstore", "current", "1"]);
    assert_eq!(format[3], current[3], "both name the store");
    assert_eq!((format.len(), current.len()), (5, 5));
}

#[test]
fn a_foreign_directory_is_refused_and_not_touched() {
    for (name, content) in
        [("notes.txt", "mine"), ("db", ""), ("LOCK", "held by something else"), ("gen-1", "")]
    {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), content).unwrap();
        let before = listing(folder.path());
        let error = PointStore::open(folder.path()).unwrap_err();
        assert!(matches!(error, OpenError::Foreign { .. }), "{name}: {error:?}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(listing(folder.path()), before, "{name}: no LOCK is left in it either");
    }
}

#[test]
fn a_file_in_the_place_of_the_directory_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "mine").unwrap();
    for path in [path.clone(), path.join("below")] {
        PointStore::open(&path).unwrap_err();
        PointStore::builder().create(false).open(&path).unwrap_err();
    }
    assert!(matches!(PointStore::open(&path).unwrap_err(), OpenError::Foreign { .. }));
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert_eq!(listing(folder.path()).len(), 1);
}

#[test]
fn an_empty_directory_is_not_touched_by_who_must_not_make_a_store() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("missing")] {
        let error = PointStore::builder().create(false).open(&path).unwrap_err();
        assert!(matches!(&error, OpenError::Missing { path: named } if *named == path), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        // Who remembers entries is never given a new and empty store.
        let remembered = "1-00000000".parse().unwrap();
        let error = PointStore::builder().expect_at_least(remembered).open(&path).unwrap_err();
        assert!(matches!(error, OpenError::Missing { .. }), "{error:?}");
    }
    assert!(listing(folder.path()).is_empty());
}

/// A line as the store writes it, with a checksum that is right.
fn sealed(body: &str) -> String {
    format!("{body} {:08x}\n", crc32fast::hash(body.as_bytes()))
}

#[test]
fn a_newer_format_is_refused_by_name_and_not_touched() {
    let store = stopped(Stop::Clean);
    let path = store.path().join("FORMAT");
    let line = fs::read_to_string(&path).unwrap();
    let newer = line.rsplit_once(' ').unwrap().0.replace("format 1 ", "format 2 ");
    fs::write(&path, sealed(&newer)).unwrap();
    let error = store.refused();
    assert!(matches!(error, OpenError::NewerFormat { found: 2, supported: 1 }), "{error:?}");
}

#[test]
fn i11_a_damaged_format_or_current_is_refused_whatever_the_damage() {
    for stop in [Stop::Clean, Stop::Killed] {
        let store = stopped(stop);
        for name in ["FORMAT", "CURRENT"] {
            let path = store.path().join(name);
            let good = fs::read(&path).unwrap();
            let flips = (0..good.len() * 8).step_by(5).map(|bit| {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                bad
            });
            let cuts = (0..good.len()).map(|len| good[..len].to_vec());
            let longer = [[good.clone(), b"\n".to_vec()].concat(), vec![b'x'; 100_000]];
            for bad in flips.chain(cuts).chain(longer) {
                fs::write(&path, &bad).unwrap();
                let error = store.refused();
                assert!(
                    matches!(&error, OpenError::Corrupt { file: Some(file), .. } if *file == path),
                    "{error:?}"
                );
            }
            fs::write(&path, good).unwrap();
        }
        store.serves_all();
    }
}

#[test]
fn i11_each_missing_file_is_missed_by_name() {
    for stop in [Stop::Clean, Stop::Killed] {
        for name in ["FORMAT", "CURRENT", "WATERMARK", "gen", "db", "conf", "snap"] {
            let store = stopped(stop);
            let generation = store.generation();
            match name {
                "gen" => fs::remove_dir_all(&generation).unwrap(),
                "db" | "conf" => fs::remove_file(generation.join(name)).unwrap(),
                "snap" => {
                    let snapshot = fs::read_dir(&generation)
                        .unwrap()
                        .map(|entry| entry.unwrap().path())
                        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("snap."));
                    fs::remove_file(snapshot.expect("it was opened once and has a snapshot")).unwrap();
                }
                _ => fs::remove_file(store.path().join(name)).unwrap(),
            }
            let before = evidence(store.path());
            match (name, PointStore::open(store.path())) {
                // The log alone has everything.
                ("snap", Ok(opened)) => super::assert_serves(&opened, &store.receipts),
                (_, Ok(_)) => panic!("{stop:?}: {name} is not missed"),
                (_, Err(error)) => {
                    super::assert_kept(store.path(), &before, &error);
                    let named = match name {
                        "FORMAT" => matches!(error, OpenError::Foreign { .. }),
                        "WATERMARK" => matches!(error, OpenError::MissingWatermark { .. }),
                        _ => matches!(error, OpenError::Corrupt { .. } | OpenError::RolledBack { .. }),
                    };
                    assert!(named, "{stop:?} {name}: {error:?}");
                }
            }
        }
    }
}

#[test]
fn a_missing_lock_or_reserve_is_made_again() {
    for name in ["LOCK", "RESERVE"] {
        let store = stopped(Stop::Clean);
        let _ = fs::remove_file(store.path().join(name));
        store.serves_all().close().unwrap();
    }
}

#[test]
fn an_open_store_is_refused_to_others_in_this_process() {
    let folder = tempfile::tempdir().unwrap();
    let store = PointStore::open(folder.path()).unwrap();
    super::fill(&store, 0, 3);
    let error = refused(folder.path());
    assert!(matches!(&error, OpenError::AlreadyOpen { path } if path == folder.path()), "{error:?}");
    assert!(error.is_transient());
    for inside in ["", "gen-1/copy", "gen-99", "copy/of/it"] {
        let error = store.backup(folder.path().join(inside)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
        assert!(!folder.path().join("gen-99").exists() && !folder.path().join("copy").exists());
    }
    super::fill(&store, 3, 3);
    store.close().unwrap();
    PointStore::open(folder.path()).unwrap();
}

const OTHER: &str = "POINTSTORE_OTHER_PROCESS_FOLDER";

#[test]
fn an_open_store_is_refused_to_other_processes() {
    if let Some(folder) = std::env::var_os(OTHER) {
        // The other process: says what it is answered, with a code of its own.
        let code = match PointStore::open(folder) {
            Err(OpenError::AlreadyOpen { .. }) => 42,
            Err(_) => 43,
            Ok(_) => 44,
        };
        std::process::exit(code);
    }
    let folder = tempfile::tempdir().unwrap();
    let other_is_answered = || {
        Program::new(std::env::current_exe().unwrap())
            .args(["directory::identity::an_open_store_is_refused_to_other_processes", "--exact"])
            .env(OTHER, folder.path())
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .code()
    };
    let store = PointStore::open(folder.path()).unwrap();
    super::fill(&store, 0, 3);
    assert_eq!(other_is_answered(), Some(42));
    store.close().unwrap();
    assert_eq!(other_is_answered(), Some(44));
    assert_eq!(PointStore::open(folder.path()).unwrap().opened().accounts(), store.stats().accounts);
}
