//! Room on the disk: checked before anything is written, with a reserve for recovery.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::files;
use crate::engine::Shortage;

/// Free bytes without which no group is begun: two segments of sled, and as much again.
pub(super) const GROUP_BYTES: u64 = 2 << 20;

/// Bytes of the reserve file, which is given up when recovery needs room.
const RESERVE_BYTES: usize = 2 << 20;

/// What can be done without is written only where this much is free.
const PLENTY_BYTES: u64 = 64 << 20;

/// Whether `needed` bytes are free where `path` is.
///
/// A file system that does not say how much is free is taken to have room: the write itself will tell.
pub(super) fn check(path: &Path, needed: u64) -> Result<(), Shortage> {
    match fs4::available_space(path) {
        Ok(available) if available < needed => Err(Shortage { available, needed }),
        _ => Ok(()),
    }
}

/// Whether so much is free that something may be written that can be done without.
pub(super) fn is_plentiful(path: &Path) -> bool {
    check(path, PLENTY_BYTES).is_ok()
}

/// Whether `needed` bytes are free, the reserve given up for it if need be.
pub(super) fn check_or_give_reserve(path: &Path, reserve: &Path, needed: u64) -> Result<(), Shortage> {
    match check(path, needed) {
        Err(_) if files::remove(reserve).is_ok() => check(path, needed),
        checked => checked,
    }
}

/// Makes the reserve file if it is missing and there is room for it; a disk without room goes without.
pub(super) fn keep_reserve(reserve: &Path) {
    let Some(folder) = reserve.parent() else { return };
    if reserve.exists() || !is_plentiful(folder) {
        return;
    }
    if fill(reserve).is_err() {
        // Half a reserve is worth nothing. If it cannot even be removed, the disk has other troubles.
        let _ = files::remove(reserve);
    }
}

fn fill(reserve: &Path) -> io::Result<()> {
    let mut file = File::create(reserve)?;
    file.write_all(&vec![0; RESERVE_BYTES])?;
    file.sync_all()
}
