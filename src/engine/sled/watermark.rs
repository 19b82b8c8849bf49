//! The watermark: how far the journal had got, kept outside sled, so that a loss cannot go unseen (I11).
//!
//! Two slots lie 4 KiB apart. One is overwritten after each group until it has been synced, then the other, so
//! a torn write never harms both. The slot with the higher serial number counts. A clean end also leaves the
//! digest of the generation's files: they are opened in place only if they are still exactly those.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::files::{self, fault, read_at, write_at};
use crate::engine::Mark;
use crate::error::{Fault, OpenError};
use crate::journal::StoreId;

const SLOT_DISTANCE: u64 = 4096;
const SLOT_LEN: usize = 64;
const MAGIC: [u8; 8] = *b"pswmark1";

/// Groups after which the slot is synced at the latest.
const SYNC_GROUPS: u32 = 1000;

/// What a slot says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    serial: u64,
    /// How far the journal had got.
    pub(super) mark: Mark,
    /// The digest of the files after a clean end.
    pub(super) clean: Option<u32>,
}

/// The open watermark file.
#[derive(Debug)]
pub(super) struct Watermark {
    file: File,
    path: PathBuf,
    store: StoreId,
    serial: u64,
    /// Which slot is overwritten, 0 or 1.
    slot: u64,
    /// Writes since the last sync.
    unsynced: u32,
    /// Whether the first group since opening has been marked durably.
    settled: bool,
    /// The first failure; nothing is written or synced after it.
    failed: Option<Fault>,
}

impl Watermark {
    /// Makes the file of a new store.
    pub(super) fn create(path: &Path, store: StoreId, mark: Mark) -> Result<Self, OpenError> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .and_then(|file| file.set_len(SLOT_DISTANCE * 2).map(|()| file))
            .map_err(|error| OpenError::Io(fault("create", path, &error)))?;
        let mut watermark = Self {
            file,
            path: path.into(),
            store,
            serial: 0,
            slot: 0,
            unsynced: 0,
            settled: false,
            failed: None,
        };
        watermark.write(mark, None).and_then(|()| watermark.sync()).map_err(OpenError::Io)?;
        Ok(watermark)
    }

    /// Opens the file of a store and reads the slot that counts.
    pub(super) fn open(path: &Path, store: StoreId) -> Result<(Self, Slot), OpenError> {
        let missing = || OpenError::MissingWatermark { path: path.into() };
        let file = match File::options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            opened => opened.map_err(|error| OpenError::Io(fault("open", path, &error)))?,
        };
        let mut best: Option<(u64, Slot)> = None;
        for at in [0_u64, 1] {
            let mut bytes = [0; SLOT_LEN];
            match read_at(&file, &mut bytes, SLOT_DISTANCE.saturating_mul(at)) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
                read => read.map_err(|error| OpenError::Io(fault("read", path, &error)))?,
            }
            if let Some((owner, slot)) = decode(&bytes)
                && owner == store
                && best.is_none_or(|(_, other)| other.serial < slot.serial)
            {
                best = Some((at, slot));
            }
        }
        let (at, slot) = best.ok_or_else(missing)?;
        // After a kill it may be in the system's memory alone; the other slot, which is overwritten next, must not
        // be the only one on the disk.
        file.sync_data().map_err(|error| OpenError::Io(fault("sync", path, &error)))?;
        let watermark = Self {
            file,
            path: path.into(),
            store,
            serial: slot.serial,
            slot: 1_u64.saturating_sub(at),
            unsynced: 0,
            settled: false,
            failed: None,
        };
        Ok((watermark, slot))
    }

    /// Overwrites a slot. After an error nothing is known of it; the other still stands.
    pub(super) fn write(&mut self, mark: Mark, clean: Option<u32>) -> Result<(), Fault> {
        self.serial = self.serial.saturating_add(1);
        let bytes = encode(self.store, &Slot { serial: self.serial, mark, clean });
        let at = self.slot.saturating_mul(SLOT_DISTANCE);
        self.unsynced = self.unsynced.saturating_add(1);
        self.attempt("write", |file| write_at(file, &bytes, at))
    }

    /// Overwrites a slot after a group, and makes it durable where that is due at once: after the first
    /// group since opening, and when many have gone by.
    pub(super) fn advance(&mut self, mark: Mark) -> Result<(), Fault> {
        files::check_in_place(&self.file, &self.path)?;
        self.write(mark, None)?;
        if self.settled && self.unsynced < SYNC_GROUPS {
            return Ok(());
        }
        self.settled = true;
        self.sync()
    }

    /// Whether anything is not synced.
    pub(super) fn is_unsynced(&self) -> bool {
        self.unsynced > 0
    }

    /// Makes the slot durable; later writes go to the other one.
    pub(super) fn sync(&mut self) -> Result<(), Fault> {
        self.attempt("sync", File::sync_data)?;
        self.unsynced = 0;
        self.slot = 1_u64.saturating_sub(self.slot);
        Ok(())
    }

    /// I10: after a first failure everything fails with it.
    fn attempt(&mut self, doing: &str, act: impl FnOnce(&File) -> io::Result<()>) -> Result<(), Fault> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        act(&self.file).map_err(|error| self.failed.insert(fault(doing, &self.path, &error)).clone())
    }
}

/// The slots that can be read in the bytes of a watermark file, of whatever store.
pub(super) fn marks(bytes: &[u8]) -> Vec<(StoreId, Mark)> {
    let distance = usize::try_from(SLOT_DISTANCE).unwrap_or(usize::MAX);
    let slots = bytes.chunks(distance).filter_map(|slot| decode(slot.first_chunk()?));
    slots.map(|(store, slot)| (store, slot.mark)).collect()
}

fn encode(store: StoreId, slot: &Slot) -> [u8; SLOT_LEN] {
    let mut bytes = [0; SLOT_LEN];
    let fields: [&[u8]; 7] = [
        &MAGIC,
        &store.0,
        &slot.serial.to_be_bytes(),
        &slot.mark.next.to_be_bytes(),
        &slot.mark.chain.to_be_bytes(),
        &[u8::from(slot.clean.is_some())],
        &slot.clean.unwrap_or_default().to_be_bytes(),
    ];
    let (body, crc) = bytes.split_at_mut(SLOT_LEN - 4);
    for (to, from) in body.iter_mut().zip(fields.into_iter().flatten()) {
        *to = *from;
    }
    crc.copy_from_slice(&crc32fast::hash(body).to_be_bytes());
    bytes
}

fn decode(bytes: &[u8; SLOT_LEN]) -> Option<(StoreId, Slot)> {
    let (body, crc) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(body) != u32::from_be_bytes(*crc) {
        return None;
    }
    let (magic, rest) = body.split_first_chunk::<8>()?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let (serial, rest) = rest.split_first_chunk::<8>()?;
    let (next, rest) = rest.split_first_chunk::<8>()?;
    let (chain, rest) = rest.split_first_chunk::<4>()?;
    let (clean, rest) = rest.split_first_chunk::<1>()?;
    let (digest, _) = rest.split_first_chunk::<4>()?;
    let slot = Slot {
        serial: u64::from_be_bytes(*serial),
        mark: Mark { next: u64::from_be_bytes(*next), chain: u32::from_be_bytes(*chain) },
        clean: (*clean == [1]).then_some(u32::from_be_bytes(*digest)),
    };
    (*magic == MAGIC).then_some((StoreId(*id), slot))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that overflows is to say so at once")]
mod tests;
