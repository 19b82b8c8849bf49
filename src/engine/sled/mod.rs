//! The engine on sled 0.34: the only folder that names sled, and the armour around it (I2, I7, I10, I11).
//!
//! sled alone neither syncs what it confirms nor keeps what it cannot read. `docs/design.md` lists each of its
//! hazards with what is done about it here:
//!
//! | file | against |
//! |---|---|
//! | `directory` | half-made, foreign, newer and in-use directories |
//! | `generation` | recovery that rewrites what it reads |
//! | `database` | panics, hangs, and answers before the data is on the disk |
//! | `watermark` | a journal that comes back shorter than it was |
//! | `helper` | a flush that never returns, a watermark that is never synced |
//! | `space` | a full disk |
//!
//! And against one cost: `runway` keeps the log longer than what sled has written to it, so that a sync has only bytes
//! to write.

mod carve;
mod database;
mod directory;
mod files;
mod generation;
mod helper;
mod runway;
mod sealed;
mod space;
mod watermark;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};

pub(crate) use self::carve::Carved;
use self::database::Database;
use self::directory::{Directory, Lock};
use self::generation::Generation;
use self::helper::Helper;
use self::watermark::Watermark;
use super::{Engine, Found, Mark, NewPage, Shortage};
use crate::error::{Fault, OpenError};
use crate::journal::StoreId;

/// Pages of a scan between two syncs: opening makes sled write, and the window must stay small.
const SCAN_SYNC_PAGES: usize = 32;

/// How a store on sled is opened.
#[derive(Clone, Debug)]
pub(crate) struct SledOptions {
    /// The directory.
    pub(crate) path: PathBuf,
    /// Bytes that sled may cache.
    pub(crate) cache_bytes: u64,
    /// What to do where there is no store yet.
    pub(crate) missing: Missing,
    /// Where the journal must reach, if the caller remembers that.
    pub(crate) least: Option<Mark>,
}

/// What to do where there is no store yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Say so.
    Refuse,
    /// Make a new one.
    Create,
    /// Make one for the pages of another store, whose identity this is. There must be none yet.
    Copy(StoreId),
}

/// A store's directory with sled in it.
#[derive(Debug)]
pub(crate) struct SledEngine {
    directory: Directory,
    store: StoreId,
    found: Found,
    /// The generation that is open; the one `CURRENT` names until `accept`.
    generation: Generation,
    /// It is new, and `CURRENT` cannot name it yet.
    can_be_removed: AtomicBool,
    parts: Arc<Parts>,
    helper: Mutex<Option<Helper>>,
    /// Held until the engine ends. Last, so that it is let go last.
    lock: Mutex<Option<Lock>>,
}

/// The generation that is to be opened.
#[derive(Debug)]
enum Used {
    /// The one that counts, itself.
    InPlace(Generation),
    /// A copy of it.
    Copy(Generation),
}

/// What the helper shares with the engine.
#[derive(Debug)]
struct Parts {
    /// `None` once closed.
    database: RwLock<Option<Database>>,
    watermark: Mutex<Watermark>,
    /// Flushes that try to wake one that hangs.
    nudges: AtomicUsize,
}

impl SledEngine {
    /// Opens or creates the store in a directory, up to where its pages can be scanned.
    ///
    /// `initial` gives the watermark of a new store.
    pub(crate) fn open(
        options: &SledOptions,
        initial: impl FnOnce(StoreId) -> Mark,
    ) -> Result<Self, OpenError> {
        let (directory, lock) = Directory::lock(&options.path, options.missing)?;
        let Some(format) = directory.format()? else {
            return Self::create(options, directory, lock, initial);
        };
        if matches!(options.missing, Missing::Copy(_)) {
            return Err(OpenError::Unsupported {
                what: "a store can only be copied to an empty folder".into(),
            });
        }
        directory.finish_creation()?;
        let current = directory.current(format.store)?;
        directory.remove_unfinished_copies(&current)?;
        let (mut watermark, slot) = Watermark::open(&directory.watermark_path(), format.store)?;
        let len = current.len()?;
        // sled changes what it opens, and one read that fails makes it throw away the rest. So it gets a copy, which
        // is synced before it counts. Only where there is no room for one, and the files are known to be sound and
        // the right ones, are they opened themselves.
        let (used, clean, copied_bytes) = match directory.need_room(len) {
            Ok(()) => {
                let (copy, clean) = directory.copy_generation(&current, slot.clean)?;
                (Used::Copy(copy), clean, len)
            }
            Err(full) => {
                directory.need_room(0)?;
                let right = options.least.is_none_or(|least| least == slot.mark);
                if !right || slot.clean != Some(current.digest()?) {
                    return Err(full);
                }
                // Before sled writes anything, and on the disk: from here on it is not clean any more.
                watermark.write(slot.mark, None).and_then(|()| watermark.sync()).map_err(OpenError::Io)?;
                (Used::InPlace(current), true, 0)
            }
        };
        let found = Found { mark: slot.mark, created: false, clean, copied_bytes };
        Self::start(options, directory, lock, format.store, found, used, watermark)
    }

    fn create(
        options: &SledOptions,
        directory: Directory,
        lock: Lock,
        initial: impl FnOnce(StoreId) -> Mark,
    ) -> Result<Self, OpenError> {
        directory.begin_creation(options.missing)?;
        directory.need_room(0)?;
        let store = match options.missing {
            Missing::Copy(store) => store,
            Missing::Create | Missing::Refuse => directory::random_store()?,
        };
        let mark = initial(store);
        let generation = directory.first_generation()?;
        let watermark = Watermark::create(&directory.watermark_path(), store, mark)?;
        let found = Found { mark, created: true, clean: true, copied_bytes: 0 };
        Self::start(options, directory, lock, store, found, Used::InPlace(generation), watermark)
    }

    fn start(
        options: &SledOptions,
        directory: Directory,
        lock: Lock,
        store: StoreId,
        found: Found,
        used: Used,
        watermark: Watermark,
    ) -> Result<Self, OpenError> {
        let (generation, is_copy) = match used {
            Used::InPlace(generation) => (generation, false),
            Used::Copy(generation) => (generation, true),
        };
        // What sled writes while it opens is synced at once, unless nothing of it counts yet.
        let opened = Database::open(&generation, options.cache_bytes)
            .and_then(|database| if is_copy { Ok(database) } else { database.synced() });
        let database = match opened {
            Ok(database) => database,
            Err(error) => {
                if is_copy {
                    directory.remove_copy(&generation);
                }
                return Err(error);
            }
        };
        let parts = Parts {
            database: RwLock::new(Some(database)),
            watermark: Mutex::new(watermark),
            nudges: AtomicUsize::new(0),
        };
        Ok(Self {
            directory,
            store,
            found,
            generation,
            can_be_removed: AtomicBool::new(is_copy || found.created),
            parts: Arc::new(parts),
            helper: Mutex::new(None),
            lock: Mutex::new(Some(lock)),
        })
    }

    fn with_database<T>(&self, act: impl FnOnce(&Database) -> Result<T, Fault>) -> Result<T, Fault> {
        match &*self.parts.database.read() {
            Some(database) => act(database),
            None => Err(Fault::new("the store is closed")),
        }
    }

    /// Ends it without writing. A copy that does not count is removed.
    fn let_go(&self) {
        if let Some(helper) = self.helper.lock().take() {
            helper.stop();
        }
        self.drop_database();
        if self.can_be_removed.swap(false, Ordering::SeqCst) {
            self.directory.remove_copy(&self.generation);
        }
        self.lock.lock().take();
    }

    /// Lets sled go; whether it is wholly gone.
    fn drop_database(&self) -> bool {
        // Taken out first, so that no lock is held while sled drops.
        let database = self.parts.database.write().take();
        database.is_some_and(Database::drop_wholly)
    }

    fn end(&self, mark: Option<Mark>) -> Result<(), Fault> {
        let closing = match mark {
            None => Ok(()),
            Some(mark) => self.with_database(|database| {
                database.sync()?;
                let mut watermark = self.parts.watermark.lock();
                watermark.write(mark, None)?;
                watermark.sync()
            }),
        };
        let gone = self.drop_database();
        closing?;
        let Some(mark) = mark else { return Ok(()) };
        if !gone {
            return Err(Fault::new("sled did not let go of its files"));
        }
        self.generation.cut_runway()?;
        // What sled wrote while it dropped is synced too; then the files are as the digest says.
        self.generation.sync_files()?;
        let digest = self.generation.digest().map_err(into_fault)?;
        let mut watermark = self.parts.watermark.lock();
        watermark.write(mark, Some(digest))?;
        watermark.sync()
    }
}

/// What went wrong, of an error in which that may be the source.
fn into_fault(error: OpenError) -> Fault {
    match error {
        OpenError::Io(fault) => fault,
        other => Fault::new(other.to_string()),
    }
}

impl Drop for SledEngine {
    fn drop(&mut self) {
        // Only where it was neither rejected nor closed is there anything left to do, as after a panic while it
        // opened.
        self.let_go();
    }
}

impl Engine for SledEngine {
    fn store(&self) -> StoreId {
        self.store
    }

    fn found(&self) -> Found {
        self.found
    }

    fn scan(&self, from: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<Option<u64>, Fault> {
        self.with_database(|database| {
            let mut next = None;
            for page in database.pages(from).take(SCAN_SYNC_PAGES) {
                let (first, bytes) = page?;
                visit(first, &bytes);
                next = first.checked_add(1);
            }
            // A copy that does not count yet may be torn in any way. Once it does, the window must stay small.
            match next {
                _ if self.can_be_removed.load(Ordering::SeqCst) => {}
                Some(_) => database.sync_if_written()?,
                None => database.sync()?,
            }
            Ok(next)
        })
    }

    fn truncate(&self, from: u64) -> Result<(), Fault> {
        self.with_database(|database| {
            database.truncate(from)?;
            database.sync()
        })
    }

    fn accept(&self, mark: Mark) -> Result<(), Fault> {
        self.with_database(Database::sync)?;
        self.generation.sync_files()?;
        // All that can be refused comes before CURRENT is touched; after that the copy may be what counts.
        *self.helper.lock() = Some(Helper::start(Arc::clone(&self.parts))?);
        self.can_be_removed.store(false, Ordering::SeqCst);
        // CURRENT before the watermark: what the copy holds beyond the old watermark may be in the old
        // generation's cached pages alone, so nothing may claim it before the copy is the one that counts.
        self.directory.set_current(self.store, &self.generation)?;
        {
            let mut watermark = self.parts.watermark.lock();
            watermark.write(mark, None)?;
            watermark.sync()?;
        }
        space::keep_reserve(&self.directory.reserve_path());
        self.directory.complete(self.store, &self.generation)
    }

    fn reject(&self) {
        self.let_go();
    }

    fn room(&self) -> Result<(), Shortage> {
        space::check(self.directory.path(), space::GROUP_BYTES)
    }

    fn append(&self, pages: &[NewPage]) -> Result<(), Fault> {
        if let Some(helper) = &*self.helper.lock() {
            helper.wake();
        }
        self.with_database(|database| database.append(pages))
    }

    fn sync(&self) -> Result<(), Fault> {
        self.with_database(Database::sync)
    }

    fn mark(&self, mark: Mark) -> Result<(), Fault> {
        self.parts.watermark.lock().advance(mark)
    }

    fn page(&self, first: u64, read: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
        self.with_database(|database| {
            if let Some(bytes) = database.page(first)? {
                read(&bytes);
            }
            Ok(())
        })
    }

    fn keeps(&self, path: &Path) -> bool {
        self.directory.contains(path)
    }

    fn close(&self, mark: Option<Mark>) -> Result<(), Fault> {
        let ended = self.end(mark);
        // Only now: until here a flush may have needed it.
        if let Some(helper) = self.helper.lock().take() {
            helper.stop();
        }
        self.lock.lock().take();
        ended
    }
}
