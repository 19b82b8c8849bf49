//! An engine in memory that fails, crashes and loses power on cue: for tests only (I2, I6, I7, I10).
//!
//! It tells apart what was written, what is durable, and what looks durable after a sync that failed. Tests
//! hold the [`SimDisk`]; a store opened on it holds an engine that ends when the power does.

mod disk;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use self::disk::{Disk, Write, power_is_off};
use super::{Engine, Found, Mark, NewPage, Shortage};
use crate::error::{Fault, OpenError};
use crate::journal::{Chain, StoreId};
use crate::sync::Mutex;

/// Pages handed out by one call of a scan: few, so that tests go over the seam between two.
const SCAN_PAGES: usize = 3;

/// What a store asks of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Writing the pages of a group.
    Append,
    /// Making them durable.
    Sync,
    /// Writing the watermark.
    Mark,
    /// Taking an opened store into service.
    Accept,
}

/// How a step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// An error, and nothing is done.
    Before,
    /// It is done, and an error all the same.
    After,
    /// A sync only: an error, and from then on what was not written looks as if it were.
    Pretend,
    /// A panic.
    Panic,
}

/// What a power cut leaves of what was written and not yet durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsynced {
    /// All of it.
    Kept,
    /// Nothing.
    Dropped,
    /// Some pages, by chance; and the watermark by chance.
    Torn,
}

/// A simulated disk with room for one store. Clones are the same disk.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::testing::{Failure, SimDisk, Step, Unsynced};
/// use pointstore::{ErrorKind, PointStore, Points};
///
/// let disk = SimDisk::new(1);
/// let store = PointStore::builder().open_simulated(&disk)?;
/// let (alice, order) = ("alice".parse()?, "order-1".parse()?);
/// disk.fail(Step::Sync, Failure::Before);
/// let error = store.grant(&alice, &order, Points::new(5)?).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
///
/// // The power goes, and with it what was not synced. The same key makes it good.
/// disk.cut_power(Unsynced::Dropped);
/// let store = PointStore::builder().open_simulated(&disk)?;
/// assert!(!store.grant(&alice, &order, Points::new(5)?)?.is_replay());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SimDisk {
    disk: Arc<Mutex<Disk>>,
}

impl SimDisk {
    /// An empty disk. The seed decides whatever is left to chance.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let store = StoreId((u128::from(seed) | 1 << 100).to_be_bytes());
        let disk = Disk {
            store,
            created: false,
            life: 0,
            open: false,
            cached: BTreeMap::new(),
            durable: BTreeMap::new(),
            dirty: Vec::new(),
            mark_cached: None,
            mark_durable: None,
            clean: true,
            failures: VecDeque::new(),
            cut_after: None,
            moments: 0,
            reads_fail: false,
            full: false,
            random: seed,
        };
        Self { disk: Arc::new(Mutex::new(disk)) }
    }

    /// The next such step fails, once. Several are kept in order.
    pub fn fail(&self, step: Step, failure: Failure) {
        self.disk.lock().failures.push_back((step, failure));
    }

    /// Reads of single pages fail, or no longer do.
    pub fn fail_reads(&self, fail: bool) {
        self.disk.lock().reads_fail = fail;
    }

    /// There is no room for another group, or there is again.
    pub fn fill(&self, full: bool) {
        self.disk.lock().full = full;
    }

    /// The process is killed: the store's engine is cut off, and what was written stays as the system has it.
    pub fn kill(&self) {
        let mut disk = self.disk.lock();
        disk.end_life();
    }

    /// The power goes now.
    pub fn cut_power(&self, unsynced: Unsynced) {
        self.disk.lock().cut_power(unsynced);
    }

    /// The power goes after `moments` more moments: each step of the store has one before it and one after.
    pub fn cut_power_after(&self, moments: u64, unsynced: Unsynced) {
        self.disk.lock().cut_after = Some((moments, unsynced));
    }

    /// How many moments there have been.
    #[must_use]
    pub fn moments(&self) -> u64 {
        self.disk.lock().moments
    }

    /// A copy of what is on the disk for good, as first numbers and bytes of pages.
    #[must_use]
    pub fn durable_pages(&self) -> BTreeMap<u64, Vec<u8>> {
        self.disk.lock().durable.clone()
    }

    /// Puts other pages in the place of all there are, as if the disk had changed them.
    pub fn replace_pages(&self, pages: BTreeMap<u64, Vec<u8>>) {
        let mut disk = self.disk.lock();
        disk.cached.clone_from(&pages);
        disk.durable = pages;
    }

    pub(crate) fn open(&self) -> Result<SimEngine, OpenError> {
        let mut disk = self.disk.lock();
        if disk.open {
            return Err(OpenError::AlreadyOpen { path: "simulated disk".into() });
        }
        disk.open = true;
        let first = Mark { next: 1, chain: Chain::seed(disk.store).get() };
        let found = Found {
            mark: *disk.mark_cached.get_or_insert(first),
            created: !disk.created,
            clean: disk.clean,
            copied_bytes: if disk.clean {
                0
            } else {
                disk.cached.values().map(|page| page.len() as u64).sum()
            },
        };
        Ok(SimEngine { disk: Arc::clone(&self.disk), life: disk.life, store: disk.store, found })
    }
}

/// A store's hold on a simulated disk.
#[derive(Debug)]
pub(crate) struct SimEngine {
    disk: Arc<Mutex<Disk>>,
    life: u64,
    store: StoreId,
    found: Found,
}

impl SimEngine {
    fn with_power<T>(&self, act: impl FnOnce(&mut Disk) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut disk = self.disk.lock();
        if disk.life == self.life { act(&mut disk) } else { Err(power_is_off()) }
    }
}

impl Drop for SimEngine {
    fn drop(&mut self) {
        // Only where it was neither rejected nor closed to the end, as after a panic.
        self.reject();
    }
}

impl Engine for SimEngine {
    fn store(&self) -> StoreId {
        self.store
    }

    fn found(&self) -> Found {
        self.found
    }

    fn scan(&self, from: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<Option<u64>, Fault> {
        self.with_power(|disk| {
            let mut next = None;
            for (first, page) in disk.cached.range(from..).take(SCAN_PAGES) {
                visit(*first, page);
                next = first.checked_add(1);
            }
            Ok(next)
        })
    }

    fn truncate(&self, from: u64) -> Result<(), Fault> {
        self.with_power(|disk| {
            let gone: Vec<u64> = disk.cached.range(from..).map(|(first, _)| *first).collect();
            for first in gone {
                disk.write(Write::Remove(first));
            }
            Ok(())
        })
    }

    fn accept(&self, mark: Mark) -> Result<(), Fault> {
        self.with_power(|disk| {
            disk.step(Step::Accept, |disk| {
                // After an unclean stop everything is copied, and the copy is synced.
                disk.dirty.clear();
                disk.durable.clone_from(&disk.cached);
                (disk.mark_cached, disk.mark_durable) = (Some(mark), Some(mark));
                (disk.created, disk.clean) = (true, false);
            })
        })
    }

    fn reject(&self) {
        let mut disk = self.disk.lock();
        if disk.life == self.life {
            disk.end_life();
        }
    }

    fn room(&self) -> Result<(), Shortage> {
        let full = self.disk.lock().full;
        if full { Err(Shortage { available: 0, needed: 1 }) } else { Ok(()) }
    }

    fn append(&self, pages: &[NewPage]) -> Result<(), Fault> {
        self.with_power(|disk| {
            disk.step(Step::Append, |disk| {
                for (first, page) in pages {
                    disk.write(Write::Put(*first, page.clone()));
                }
            })
        })
    }

    fn sync(&self) -> Result<(), Fault> {
        self.with_power(|disk| disk.step(Step::Sync, Disk::sync))
    }

    fn mark(&self, mark: Mark) -> Result<(), Fault> {
        self.with_power(|disk| disk.step(Step::Mark, |disk| disk.mark_cached = Some(mark)))
    }

    fn page(&self, first: u64, read: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
        let page = self.with_power(|disk| {
            if disk.reads_fail {
                let error = std::io::Error::other("a simulated error");
                Err(Fault::io("the engine cannot read", &error))
            } else {
                Ok(disk.cached.get(&first).cloned())
            }
        })?;
        if let Some(page) = page {
            read(&page);
        }
        Ok(())
    }

    fn keeps(&self, _path: &Path) -> bool {
        false
    }

    fn close(&self, mark: Option<Mark>) -> Result<(), Fault> {
        self.with_power(|disk| {
            let closed = match mark {
                None => Ok(()),
                Some(mark) => disk.step(Step::Sync, Disk::sync).and_then(|()| {
                    disk.step(Step::Mark, |disk| {
                        (disk.mark_cached, disk.mark_durable) = (Some(mark), Some(mark));
                        disk.clean = true;
                    })
                }),
            };
            if disk.life == self.life {
                disk.end_life();
            }
            closed
        })
    }
}
