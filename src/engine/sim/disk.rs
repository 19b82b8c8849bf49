//! What a simulated disk holds: written, durable, and what only looks it.

use std::collections::{BTreeMap, VecDeque};

use super::{Failure, Step, Unsynced};
use crate::engine::Mark;
use crate::error::Fault;
use crate::journal::StoreId;

/// The state behind a [`SimDisk`](super::SimDisk).
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) store: StoreId,
    pub(super) created: bool,
    /// The engine that may use the disk; others have lost their power.
    pub(super) life: u64,
    pub(super) open: bool,
    /// What a read sees.
    pub(super) cached: BTreeMap<u64, Vec<u8>>,
    /// What a power cut leaves for sure.
    pub(super) durable: BTreeMap<u64, Vec<u8>>,
    /// Written and not yet durable.
    pub(super) dirty: Vec<Write>,
    pub(super) mark_cached: Option<Mark>,
    pub(super) mark_durable: Option<Mark>,
    pub(super) clean: bool,
    pub(super) failures: VecDeque<(Step, Failure)>,
    /// The power goes after so many more moments; each step has one before it and one after.
    pub(super) cut_after: Option<(u64, Unsynced)>,
    pub(super) moments: u64,
    pub(super) reads_fail: bool,
    pub(super) full: bool,
    pub(super) random: u64,
}

/// A change of what is stored.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Put(u64, Vec<u8>),
    Remove(u64),
}

impl Disk {
    pub(super) fn end_life(&mut self) {
        self.life = self.life.wrapping_add(1);
        self.open = false;
        self.cut_after = None;
    }

    pub(super) fn cut_power(&mut self, unsynced: Unsynced) {
        self.end_life();
        for write in std::mem::take(&mut self.dirty) {
            if unsynced == Unsynced::Kept || (unsynced == Unsynced::Torn && self.toss()) {
                write.apply(&mut self.durable);
            }
        }
        if unsynced == Unsynced::Kept || (unsynced == Unsynced::Torn && self.toss()) {
            self.mark_durable = self.mark_cached;
        }
        self.cached.clone_from(&self.durable);
        self.mark_cached = self.mark_durable;
    }

    /// A coin that falls as the seed says.
    pub(super) fn toss(&mut self) -> bool {
        // Splitmix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) & 1 == 1
    }

    /// Another moment goes by; whether the power still is there.
    pub(super) fn moment(&mut self) -> Result<(), Fault> {
        self.moments = self.moments.wrapping_add(1);
        match self.cut_after {
            Some((0, unsynced)) => {
                self.cut_power(unsynced);
                Err(power_is_off())
            }
            Some((left, unsynced)) => {
                self.cut_after = Some((left.saturating_sub(1), unsynced));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// How the next step of this kind fails, if it does.
    pub(super) fn failure(&mut self, step: Step) -> Option<Failure> {
        let at = self.failures.iter().position(|(failing, _)| *failing == step)?;
        self.failures.remove(at).map(|(_, failure)| failure)
    }

    /// Takes a step: before it and after it the power may go, and it may fail.
    #[allow(clippy::panic, reason = "a test asked for it")]
    pub(super) fn step(&mut self, step: Step, act: impl FnOnce(&mut Self)) -> Result<(), Fault> {
        self.moment()?;
        let failure = self.failure(step);
        match failure {
            None => act(self),
            Some(Failure::Before) => {}
            Some(Failure::After) => act(self),
            Some(Failure::Pretend) => self.dirty.clear(),
            Some(Failure::Panic) => panic!("a simulated panic"),
        }
        self.moment()?;
        match failure {
            None => Ok(()),
            Some(_) => Err(Fault::new(format!("a simulated failure, step={step:?}"))),
        }
    }

    pub(super) fn write(&mut self, write: Write) {
        write.clone().apply(&mut self.cached);
        self.dirty.push(write);
    }

    pub(super) fn sync(&mut self) {
        for write in std::mem::take(&mut self.dirty) {
            write.apply(&mut self.durable);
        }
    }
}

impl Write {
    pub(super) fn apply(self, pages: &mut BTreeMap<u64, Vec<u8>>) {
        match self {
            Self::Put(first, page) => pages.insert(first, page),
            Self::Remove(first) => pages.remove(&first),
        };
    }
}

pub(super) fn power_is_off() -> Fault {
    Fault::io("the engine cannot be reached", &std::io::Error::other("the simulated power is off"))
}
