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

mod carve;
mod database;
mod directory;
mod files;
mod generation;
mod helper;
mod space;
mod watermark;

use std::path::PathBuf;
use std::sync::Arc;

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
    parts: Arc<Parts>,
    helper: Mutex<Option<Helper>>,
    /// Held until the engine ends. Last, so that it is let go last.
    lock: Mutex<Option<Lock>>,
}

/// What the helper shares with the engine.
#[derive(Debug)]
struct Parts {
    /// `None` once closed.
    database: RwLock<Option<Database>>,
    watermark: Mutex<Watermark>,
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
        directory.need_room(0)?;
        let (mut watermark, slot) = Watermark::open(&directory.watermark_path(), format.store)?;
        // Every byte is read here, once, whichever way it goes on.
        let digest = current.digest()?;
        let clean = slot.clean == Some(digest);
        // sled changes what it opens. Where the journal may yet turn out to be another one than is remembered, it
        // gets a copy too, so that a refusal leaves everything as it is.
        let in_place = clean && options.least.is_none_or(|least| least == slot.mark);
        let (generation, copied_bytes) = if in_place {
            // Before sled writes anything, and on the disk: from here on it is not clean any more.
            watermark.write(slot.mark, None).and_then(|()| watermark.sync()).map_err(OpenError::Io)?;
            (current, 0)
        } else {
            directory.copy_generation(&current, digest)?
        };
        let found = Found { mark: slot.mark, created: false, clean, copied_bytes };
        Self::start(options, directory, lock, format.store, found, generation, watermark)
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
        Self::start(options, directory, lock, store, found, generation, watermark)
    }

    fn start(
        options: &SledOptions,
        directory: Directory,
        lock: Lock,
        store: StoreId,
        found: Found,
        generation: Generation,
        watermark: Watermark,
    ) -> Result<Self, OpenError> {
        let database = match Database::open(&generation, options.cache_bytes) {
            Ok(database) => database,
            Err(error) => {
                if found.copied_bytes > 0 {
                    generation.remove();
                }
                return Err(error);
            }
        };
        let parts = Parts { database: RwLock::new(Some(database)), watermark: Mutex::new(watermark) };
        Ok(Self {
            directory,
            store,
            found,
            generation,
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
        // What sled wrote while it dropped is synced too; then the files are as the digest says.
        self.generation.sync_files()?;
        let digest = self.generation.digest().map_err(|error| Fault::new(error.to_string()))?;
        let mut watermark = self.parts.watermark.lock();
        watermark.write(mark, Some(digest))?;
        watermark.sync()
    }
}

impl Drop for SledEngine {
    fn drop(&mut self) {
        // Only where it was neither rejected nor closed, as after a panic while it opened: sled is still
        // dropped with its panics caught.
        self.drop_database();
        if let Some(helper) = self.helper.lock().take() {
            helper.stop();
        }
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
            if next.is_some() {
                database.sync_if_written()?
            } else {
                database.sync()?
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
        // CURRENT before the watermark: what the copy holds beyond the old watermark may be in the old
        // generation's cached pages alone, so nothing may claim it before the copy is the one that counts.
        self.directory.set_current(self.store, &self.generation)?;
        {
            let mut watermark = self.parts.watermark.lock();
            watermark.write(mark, None)?;
            watermark.sync()?;
        }
        space::keep_reserve(&self.directory.reserve_path());
        self.directory.complete(self.store, &self.generation)?;
        *self.helper.lock() = Some(Helper::start(Arc::clone(&self.parts))?);
        Ok(())
    }

    fn reject(&self) {
        self.drop_database();
        if self.found.copied_bytes > 0 {
            self.generation.remove();
        }
        self.lock.lock().take();
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
