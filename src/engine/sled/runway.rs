//! Zeros in sled's log where it will write next, so that a group's sync has only bytes to write (I7).
//!
//! sled appends to its log. Where that makes the file longer, the sync behind it writes what the file system keeps about
//! the file too, and on most that is another step to the disk. Over bytes that are already there it is not.
//!
//! Nothing rests on them. sled takes zeros behind its last record for the end of its log, as it leaves them there itself
//! when it opens. They are cut off again before sled opens the file, which would free them one by one, and when a
//! store is closed.

use std::fs::File;
use std::io;

use super::database::SEGMENT_LEN;
use super::files;

/// Bytes that are made at a time: as many as there are, within these bounds. The most take a disk some milliseconds.
const STEP_MIN: u64 = SEGMENT_LEN;
const STEP_MAX: u64 = 4 * SEGMENT_LEN;

/// What is written in one piece; it stays in the processor's cache.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Bytes of the head of a segment; with its checksum and a masked number in it, they are never all zero.
const HEAD_LEN: usize = 20;

/// How far the log is longer than what sled has written to it.
#[derive(Debug, Default)]
pub(super) struct Runway {
    /// Where the first segment begins that sled has not begun; known from the first look on.
    unused: Option<u64>,
    /// It could not be made once, and is not tried again.
    given_up: bool,
}

impl Runway {
    /// Whether sled has begun the last segment of a log with this length.
    pub(super) fn is_short(&mut self, log: &File, len: u64) -> bool {
        if self.given_up {
            return false;
        }
        let end = end_of_segment(len);
        // sled may have given back what lay at the end.
        let mut unused = self.unused.unwrap_or(end).min(end);
        while unused < len && has_head(log, unused) {
            unused = unused.saturating_add(SEGMENT_LEN);
        }
        self.unused = Some(unused);
        unused >= len
    }

    /// Makes a log of this length longer, up to the end of a segment. Nobody else may write to it meanwhile, and all
    /// that sled was to write must be written.
    ///
    /// No error comes of it: a write that fails here says nothing of what was written before, and a disk with troubles
    /// shows them to the group that follows.
    pub(super) fn extend(&mut self, log: &File, len: u64) {
        if append_zeros(log, len).is_err() {
            self.given_up = true;
            // A part of them is of no use, and others may need its room.
            let _ = log.set_len(len);
        }
    }
}

fn append_zeros(log: &File, mut len: u64) -> io::Result<()> {
    let end = end_of_segment(len);
    let end = end.saturating_add(end.clamp(STEP_MIN, STEP_MAX));
    while len < end {
        let rest = usize::try_from(end.saturating_sub(len)).unwrap_or(usize::MAX);
        let zeros = ZEROS.get(..rest).unwrap_or(&ZEROS);
        files::write_at(log, zeros, len)?;
        len = len.saturating_add(zeros.len() as u64);
    }
    Ok(())
}

/// Cuts off the segments at the end that are all zeros, and a part of one, too.
pub(super) fn cut(log: &File) -> io::Result<()> {
    let len = log.metadata()?.len();
    let mut end = len;
    let mut segment = Vec::new();
    while let Some(last) = end.checked_sub(1) {
        let start = last.checked_div(SEGMENT_LEN).unwrap_or_default().saturating_mul(SEGMENT_LEN);
        segment.resize(usize::try_from(end.saturating_sub(start)).unwrap_or_default(), 0);
        files::read_at(log, &mut segment, start)?;
        if segment.iter().any(|byte| *byte != 0) {
            break;
        }
        end = start;
    }
    if end < len { log.set_len(end) } else { Ok(()) }
}

/// The end of the segment in which a log with this length ends.
fn end_of_segment(len: u64) -> u64 {
    len.checked_next_multiple_of(SEGMENT_LEN).unwrap_or(u64::MAX)
}

/// Whether sled has written the head of a segment.
fn has_head(log: &File, at: u64) -> bool {
    let mut head = [0; HEAD_LEN];
    files::read_at(log, &mut head, at).is_ok_and(|()| head != [0; HEAD_LEN])
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that overflows is to say so at once")]
mod tests;
