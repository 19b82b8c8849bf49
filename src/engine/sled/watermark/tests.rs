//! Slots: their bytes, their turns, and what is believed of them.

use std::fs;

use super::*;

const STORE: StoreId = StoreId([0xab; 16]);

fn any_beyond_first(bytes: &[u8]) -> bool {
    marks(bytes).iter().any(|(_, mark)| mark.next > 1)
}

fn mark(next: u64) -> Mark {
    Mark { next, chain: 0x89ab_cdef }
}

fn made() -> (tempfile::TempDir, PathBuf, Watermark) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("WATERMARK");
    let watermark = Watermark::create(&path, STORE, mark(1)).unwrap();
    (folder, path, watermark)
}

/// What both slots of the file say; `None` for one that says nothing.
fn slots(path: &Path) -> [Option<(u64, u64)>; 2] {
    let bytes = fs::read(path).unwrap();
    [0, 4096].map(|at| {
        let (store, slot) = decode(bytes[at..at + SLOT_LEN].first_chunk().unwrap())?;
        assert_eq!(store, STORE);
        Some((slot.serial, slot.mark.next))
    })
}

#[test]
fn slots_are_written_as_they_always_were() {
    let hex = |clean| {
        let slot = Slot { serial: 0x0102, mark: mark(0x0304), clean };
        encode(STORE, &slot).map(|byte| format!("{byte:02x}")).concat()
    };
    // Name, store, serial, next, chain, clean flag, digest, nothing, checksum.
    assert_eq!(
        hex(None),
        "7073776d61726b31abababababababababababababababab0000000000000102\
         000000000000030489abcdef000000000000000000000000000000000b1ace2b"
    );
    assert_eq!(
        hex(Some(0x0506_0708)),
        "7073776d61726b31abababababababababababababababab0000000000000102\
         000000000000030489abcdef010506070800000000000000000000001548da21"
    );
}

#[test]
fn a_slot_reads_back_and_nothing_else_does() {
    for clean in [None, Some(0), Some(u32::MAX)] {
        let slot = Slot { serial: u64::MAX, mark: mark(7), clean };
        let bytes = encode(STORE, &slot);
        assert_eq!(decode(&bytes), Some((STORE, slot)));
        for bit in 0..SLOT_LEN * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&bad), None, "bit={bit}");
        }
    }
    assert_eq!(decode(&[0; SLOT_LEN]), None);
}

#[test]
fn a_slot_is_overwritten_until_it_is_synced_and_then_the_other() {
    let (_folder, path, mut watermark) = made();
    assert_eq!(slots(&path), [Some((1, 1)), None], "the first is synced when it is made");
    watermark.write(mark(2), None).unwrap();
    assert_eq!(slots(&path), [Some((1, 1)), Some((2, 2))]);
    watermark.write(mark(3), None).unwrap();
    assert_eq!(slots(&path), [Some((1, 1)), Some((3, 3))], "what is synced still stands");
    assert!(watermark.is_unsynced());
    watermark.sync().unwrap();
    assert!(!watermark.is_unsynced());
    watermark.write(mark(4), None).unwrap();
    assert_eq!(slots(&path), [Some((4, 4)), Some((3, 3))]);
}

#[test]
fn the_first_group_is_synced_at_once_and_later_ones_when_many_have_gone_by() {
    let (_folder, path, mut watermark) = made();
    watermark.advance(mark(2)).unwrap();
    assert!(!watermark.is_unsynced());
    for group in 1..SYNC_GROUPS {
        watermark.advance(mark(2 + u64::from(group))).unwrap();
        assert!(watermark.is_unsynced(), "group={group}");
    }
    watermark.advance(mark(5_000)).unwrap();
    assert!(!watermark.is_unsynced());
    // Opened again, the first group counts again.
    let (mut watermark, _) = Watermark::open(&path, STORE).unwrap();
    watermark.advance(mark(5_001)).unwrap();
    assert!(!watermark.is_unsynced());
}

#[test]
fn the_newer_slot_counts_and_the_older_is_overwritten() {
    let (_folder, path, mut watermark) = made();
    for next in 2..6 {
        let (_, before) = Watermark::open(&path, STORE).unwrap();
        assert_eq!(before.mark, mark(next - 1));
        watermark.write(mark(next), Some(9)).unwrap();
        watermark.sync().unwrap();
        let (reopened, slot) = Watermark::open(&path, STORE).unwrap();
        assert_eq!((slot.mark, slot.clean), (mark(next), Some(9)));
        watermark = reopened;
    }
    assert_eq!(slots(&path), [Some((5, 5)), Some((4, 4))]);
}

// I11
#[test]
fn a_torn_slot_leaves_the_other_and_two_leave_none() {
    let (_folder, path, mut watermark) = made();
    watermark.advance(mark(2)).unwrap();
    let tear = |at: usize| {
        let mut bytes = fs::read(&path).unwrap();
        bytes[at + 20..at + 40].fill(0xee);
        fs::write(&path, bytes).unwrap();
    };
    tear(4096);
    assert_eq!(Watermark::open(&path, STORE).unwrap().1.mark, mark(1));
    tear(0);
    let error = Watermark::open(&path, STORE).unwrap_err();
    assert!(matches!(error, OpenError::MissingWatermark { .. }), "{error:?}");
}

#[test]
fn the_watermark_of_another_store_is_none() {
    let (_folder, path, _) = made();
    let error = Watermark::open(&path, StoreId([1; 16])).unwrap_err();
    assert!(matches!(error, OpenError::MissingWatermark { .. }), "{error:?}");
}

// I10
#[test]
fn after_a_failure_nothing_more_is_written_or_synced() {
    let (_folder, path, mut watermark) = made();
    let writable = std::mem::replace(&mut watermark.file, File::open(&path).unwrap());
    let first = watermark.advance(mark(2)).unwrap_err();
    watermark.file = writable;
    assert_eq!(watermark.advance(mark(3)), Err(first.clone()));
    assert_eq!(watermark.write(mark(3), Some(1)), Err(first.clone()));
    assert_eq!(watermark.sync(), Err(first));
    assert_eq!(slots(&path), [Some((1, 1)), None]);
}

#[test]
fn bytes_that_acknowledge_anything_are_told_apart() {
    let (_folder, path, mut watermark) = made();
    assert!(!any_beyond_first(&fs::read(&path).unwrap()));
    watermark.advance(mark(2)).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(any_beyond_first(&bytes));
    assert!(!any_beyond_first(&bytes[..4096]) && !any_beyond_first(&bytes[..4159]));
    assert!(any_beyond_first(&bytes[..4160]));
    assert!(!any_beyond_first(&[]) && !any_beyond_first(&[7; 10_000]));
}
