//! What is made, when, and what is cut off again.

use std::fs;

use super::*;

const SEGMENT: usize = 512 << 10;

/// A log with these bytes, open as the engine has it, and its path.
fn log(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf, File) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    fs::write(&path, bytes).unwrap();
    let log = File::options().read(true).write(true).open(&path).unwrap();
    (folder, path, log)
}

/// Segments, each begun or all zeros.
fn segments(begun: &[bool]) -> Vec<u8> {
    let mut bytes = vec![0; begun.len() * SEGMENT];
    for (segment, _) in begun.iter().enumerate().filter(|(_, begun)| **begun) {
        bytes[segment * SEGMENT..][..HEAD_LEN].fill(7);
    }
    bytes
}

#[test]
fn as_much_as_there_is_within_bounds_is_made_up_to_the_end_of_a_segment() {
    for (len, segments) in [
        (0, 1),
        (1, 2),
        (SEGMENT - 1, 2),
        (SEGMENT, 2),
        (SEGMENT + 1, 4),
        (3 * SEGMENT, 6),
        (4 * SEGMENT, 8),
        (9 * SEGMENT + 5, 14),
    ] {
        let (_folder, path, log) = log(&vec![7; len]);
        Runway::default().extend(&log, len as u64);
        let made = fs::read(&path).unwrap();
        assert_eq!(made.len(), segments * SEGMENT, "of {len} bytes");
        assert!(made[..len].iter().all(|byte| *byte == 7), "what was there stays");
        assert!(made[len..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn it_is_short_once_the_last_segment_is_begun() {
    let (_folder, path, log) = log(&segments(&[true, true]));
    let len = || fs::metadata(&path).unwrap().len();
    let begin = |segment: u64| files::write_at(&log, &[7; HEAD_LEN], segment * SEGMENT_LEN).unwrap();
    let mut runway = Runway::default();
    assert!(runway.is_short(&log, len()), "nothing was made yet");
    runway.extend(&log, len());
    assert_eq!(len(), 4 * SEGMENT_LEN);
    assert!(!runway.is_short(&log, len()));
    begin(2);
    assert!(!runway.is_short(&log, len()));
    begin(3);
    assert!(runway.is_short(&log, len()));
    assert!(runway.is_short(&log, len()), "for as long as it is");
    runway.extend(&log, len());
    assert_eq!(len(), 8 * SEGMENT_LEN);
    assert!(!runway.is_short(&log, len()));

    // sled gives back free segments at the end, ours among them, and those it had begun.
    log.set_len(3 * SEGMENT_LEN).unwrap();
    assert!(runway.is_short(&log, len()));
    runway.extend(&log, len());
    assert_eq!(len(), 6 * SEGMENT_LEN);
    assert!(!runway.is_short(&log, len()));
    for segment in 3..6 {
        assert!(!runway.is_short(&log, len()), "{segment} is not begun");
        begin(segment);
    }
    assert!(runway.is_short(&log, len()));
}

#[test]
fn it_is_looked_for_again_where_the_log_was_cut_shorter_than_it_was_known_to_be_used() {
    let (_folder, path, log) = log(&segments(&[true; 7]));
    let len = || fs::metadata(&path).unwrap().len();
    let mut runway = Runway::default();
    assert!(runway.is_short(&log, len()));
    runway.extend(&log, len());
    assert!(!runway.is_short(&log, len()), "7 are begun");
    log.set_len(3 * SEGMENT_LEN).unwrap();
    assert!(runway.is_short(&log, len()));
    runway.extend(&log, len());
    assert!(!runway.is_short(&log, len()), "3 are begun, and as many are there");
}

#[test]
fn a_free_segment_within_the_log_is_no_end() {
    let (_folder, path, log) = log(&segments(&[true, false, true]));
    let mut runway = Runway::default();
    assert!(runway.is_short(&log, 3 * SEGMENT_LEN), "what is free in the middle is no runway");
    runway.extend(&log, 3 * SEGMENT_LEN);
    assert!(!runway.is_short(&log, fs::metadata(&path).unwrap().len()));
}

#[test]
fn what_cannot_be_made_once_is_not_tried_again() {
    let (_folder, path, _log) = log(&segments(&[true]));
    let closed_to_writing = File::open(&path).unwrap();
    let mut runway = Runway::default();
    assert!(runway.is_short(&closed_to_writing, SEGMENT_LEN));
    runway.extend(&closed_to_writing, SEGMENT_LEN);
    assert!(!runway.is_short(&closed_to_writing, SEGMENT_LEN));
    assert_eq!(fs::metadata(&path).unwrap().len(), SEGMENT_LEN);
}

/// It would take room that others need.
#[cfg(target_os = "linux")]
#[test]
fn what_was_made_of_it_when_it_failed_is_cut_off() {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let log = File::from(memfd_create("log", MemfdFlags::ALLOW_SEALING).unwrap());
    let (len, most) = (SEGMENT_LEN, SEGMENT_LEN + (100 << 10));
    log.set_len(most).unwrap();
    fcntl_add_seals(&log, SealFlags::GROW).unwrap();
    let mut runway = Runway::default();
    runway.extend(&log, len);
    assert_eq!(log.metadata().unwrap().len(), len);
    assert!(!runway.is_short(&log, len), "it is not tried again");
}

#[test]
fn only_whole_segments_of_zeros_at_the_end_are_cut_off() {
    let with_byte_at = |len: usize, at: usize| {
        let mut bytes = vec![0; len];
        bytes[at] = 1;
        bytes
    };
    for (what, bytes, left) in [
        ("an empty log", Vec::new(), 0),
        ("nothing but zeros", vec![0; 2 * SEGMENT + 9], 0),
        ("no zeros", vec![1; SEGMENT + 9], SEGMENT + 9),
        ("zeros in the middle", segments(&[true, false, true]), 3 * SEGMENT),
        ("zeros in the middle and at the end", segments(&[true, false, true, false, false]), 3 * SEGMENT),
        ("a part of a segment at the end", with_byte_at(2 * SEGMENT + 9, SEGMENT), 2 * SEGMENT),
        ("the last byte before them", with_byte_at(3 * SEGMENT, SEGMENT - 1), SEGMENT),
        ("the first byte of the last", with_byte_at(2 * SEGMENT, SEGMENT), 2 * SEGMENT),
        ("the last byte of all", with_byte_at(2 * SEGMENT, 2 * SEGMENT - 1), 2 * SEGMENT),
    ] {
        let (_folder, path, log) = log(&bytes);
        cut(&log).unwrap();
        assert!(fs::read(&path).unwrap() == bytes[..left], "{what}");
    }
}
