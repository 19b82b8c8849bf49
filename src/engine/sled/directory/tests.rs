//! The small files of a directory, as bytes, and what is read back from them (I11).

use super::*;

const STORE: StoreId = StoreId([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff]);

fn folder() -> (tempfile::TempDir, Directory) {
    let folder = tempfile::tempdir().unwrap();
    let directory = Directory { path: folder.path().into() };
    (folder, directory)
}

fn read(directory: &Directory, name: &str) -> String {
    fs::read_to_string(directory.path.join(name)).unwrap()
}

#[test]
fn format_and_current_are_written_as_they_always_were() {
    let (_folder, directory) = folder();
    let generation = Generation::numbered(&directory.path, 12);
    directory.set_current(STORE, &generation).unwrap();
    directory.complete(STORE, &generation).unwrap();
    assert_eq!(read(&directory, "FORMAT"), "pointstore format 1 000102030405060708090a0b0c0d0eff a73be63e\n");
    assert_eq!(
        read(&directory, "CURRENT"),
        "pointstore current 12 000102030405060708090a0b0c0d0eff 3b890405\n"
    );
    assert_eq!(directory.format().unwrap(), Some(Format { store: STORE }));
}

#[test]
fn the_current_generation_is_found_and_must_have_its_files() {
    let (_folder, directory) = folder();
    let generation = Generation::numbered(&directory.path, 12);
    directory.set_current(STORE, &generation).unwrap();
    directory.current(STORE).unwrap_err();
    fs::create_dir(generation.path()).unwrap();
    for file in ["db", "conf"] {
        directory.current(STORE).unwrap_err();
        fs::write(generation.path().join(file), "").unwrap();
    }
    assert_eq!(directory.current(STORE).unwrap().number(), 12);
    let error = directory.current(StoreId([1; 16])).unwrap_err();
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error:?}");
}

#[test]
fn the_sign_of_a_making_says_what_for_and_is_made_new_each_time() {
    let (_folder, directory) = folder();
    directory.begin_creation(Missing::Create).unwrap();
    assert_eq!(read(&directory, "CREATING"), "");
    directory.begin_creation(Missing::Create).unwrap();
    directory.begin_creation(Missing::Copy(STORE)).unwrap();
    assert_eq!(read(&directory, "CREATING"), "copy\n");
    for missing in [Missing::Create, Missing::Copy(STORE)] {
        let error = directory.begin_creation(missing).unwrap_err();
        assert!(matches!(error, OpenError::Corrupt { .. }), "{error:?}");
    }
}

#[test]
fn a_sealed_line_reads_back_and_no_other_does() {
    let line = seal("kind", &["one".into(), "two".into()]);
    assert_eq!(unseal("kind", line.as_bytes()), Some(vec!["one", "two"]));
    assert_eq!(unseal("other", line.as_bytes()), None);
    for at in 0..line.len() {
        for bit in 0..8 {
            let mut bad = line.clone().into_bytes();
            bad[at] ^= 1 << bit;
            assert_eq!(unseal("kind", &bad), None, "at={at} bit={bit}");
        }
        assert_eq!(unseal("kind", &line.as_bytes()[..at]), None, "at={at}");
    }
    assert_eq!(unseal("kind", format!("{line}\n").as_bytes()), None);
    assert_eq!(unseal("kind", line.to_uppercase().as_bytes()), None);
}

#[test]
fn an_identity_has_one_spelling() {
    assert_eq!(parse_store(&store_text(STORE)), Some(STORE));
    for text in ["", "0", "+0000102030405060708090a0b0c0d0eff", "000102030405060708090A0B0C0D0EFF"] {
        assert_eq!(parse_store(text), None, "{text}");
    }
}
