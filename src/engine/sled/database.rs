//! sled itself: opened with panics caught, written in one transaction a group, and synced for real (I2, I7).
//!
//! No panic of sled's gets past here, and no more of it is used than: a transaction, `flush`, `get`, and one
//! iterator while nothing is written.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockWriteGuard, const_mutex};
use sled::transaction::{ConflictableTransactionError, TransactionError};

use super::files::{self, fault};
use super::generation::Generation;
use super::runway::Runway;
use super::space;
use crate::contain::contain;
use crate::engine::NewPage;
use crate::error::{Fault, OpenError};

/// Bytes of one of sled's segments.
pub(super) const SEGMENT_LEN: u64 = 512 << 10;

/// Pages that one transaction removes at most.
const TRUNCATE_PAGES: usize = 8;

/// sled lets a lock go some time after a database is dropped: how often, and how long, to wait for that.
const RELEASE_TRIES: u32 = 100;
const RELEASE_WAIT: Duration = Duration::from_millis(10);

/// How long a group waits for readers to let it make the log longer; the next one tries again.
const READERS_WAIT: Duration = Duration::from_millis(1);

/// Held over each transaction and each flush in this process, and for a moment between two of them.
///
/// A flush that hangs is woken by another thread's flush, which waits behind any transaction that waits for
/// sled's process-wide lock. So no transaction of ours may wait while a flush of ours is under way.
static SLED: Mutex<()> = const_mutex(());

/// An open sled database with the journal's tree.
#[derive(Debug)]
pub(super) struct Database {
    db: sled::Db,
    journal: sled::Tree,
    /// Our own descriptor of the log: it sees write errors that sled's would swallow.
    log: File,
    log_path: PathBuf,
    log_len: AtomicU64,
    runway: Mutex<Runway>,
    /// Held by whoever reads, since reading may make sled write.
    reading: RwLock<()>,
    /// Rises when sled is asked to write, and when it has answered: odd while it is at it.
    turns: AtomicU64,
}

impl Database {
    /// Opens the files of a generation, or makes them.
    pub(super) fn open(generation: &Generation, cache_bytes: u64) -> Result<Self, OpenError> {
        generation.remove_unfinished_snapshots()?;
        // sled waits for ever where no thread can be had for its first piece of work.
        thread::Builder::new()
            .spawn(|| ())
            .map_err(|error| OpenError::Io(Fault::io("cannot start a thread", &error)))?;
        let config =
            sled::Config::new().path(generation.path()).cache_capacity(cache_bytes).flush_every_ms(None);
        let refused =
            |what: String| OpenError::Corrupt { what: what.into(), file: Some(generation.path().into()) };
        let (db, journal) = match open_patiently(&config) {
            Ok(opened) => opened,
            Err(Caught::Sled(sled::Error::Io(error))) => {
                return Err(OpenError::Io(fault("open", generation.path(), &error)));
            }
            Err(caught) => return Err(refused(format!("the engine cannot read its files: {caught}"))),
        };
        let log_path = generation.log_path();
        let log = match File::options().read(true).write(true).open(&log_path) {
            Ok(log) => log,
            Err(error) => {
                drop_caught((journal, db));
                return Err(OpenError::Io(fault("open", &log_path, &error)));
            }
        };
        Ok(Self {
            db,
            journal,
            log,
            log_path,
            log_len: AtomicU64::new(0),
            runway: Mutex::default(),
            reading: RwLock::default(),
            turns: AtomicU64::new(0),
        })
    }

    /// Syncs what opening wrote, and lets go of everything if it cannot. Opening writes, and reuses segments: nothing
    /// more may be written to files that count before that is on the disk.
    pub(super) fn synced(self) -> Result<Self, OpenError> {
        match self.sync() {
            Ok(()) => Ok(self),
            Err(fault) => {
                self.drop_wholly();
                Err(OpenError::Io(fault))
            }
        }
    }

    /// Appends pages in one transaction.
    pub(super) fn append(&self, pages: &[NewPage]) -> Result<(), Fault> {
        // Before it grows again: afterwards a file that was cut is as long as it was, with a hole in it.
        let len = self.check_len(files::len(&self.log, &self.log_path)?)?;
        self.keep_runway(len)?;
        let _turn = self.turn();
        caught(|| {
            // The closure may run again; it only writes what it is given.
            let appended = self.journal.transaction(|journal| {
                for (first, bytes) in pages {
                    journal.insert(&first.to_be_bytes(), bytes.as_slice())?;
                }
                Ok::<_, ConflictableTransactionError<()>>(())
            });
            appended.map_err(transaction_fault)?;
            // sled splits a full leaf when it is next walked over, whoever does it. Walked over here, that is
            // written before our sync and not by some reader after it.
            for (first, _) in pages.iter().chain(pages.last()) {
                self.journal.get(first.to_be_bytes()).map_err(Caught::Sled)?;
            }
            Ok(())
        })
        .map_err(|caught| caught.into_fault("append"))
    }

    /// Removes the pages from a number on.
    pub(super) fn truncate(&self, from: u64) -> Result<(), Fault> {
        let keys: Vec<u64> =
            self.pages(from).map(|page| page.map(|(first, _)| first)).collect::<Result<_, _>>()?;
        for keys in keys.chunks(TRUNCATE_PAGES) {
            let _turn = self.turn();
            caught(|| {
                let removed = self.journal.transaction(|journal| {
                    for first in keys {
                        journal.remove(&first.to_be_bytes())?;
                    }
                    Ok::<_, ConflictableTransactionError<()>>(())
                });
                removed.map_err(transaction_fault)
            })
            .map_err(|caught| caught.into_fault("truncate"))?;
        }
        Ok(())
    }

    /// Makes everything written so far durable, or fails for good: a sync that failed once is never tried again.
    pub(super) fn sync(&self) -> Result<(), Fault> {
        self.flush()?;
        self.sync_log()
    }

    /// The same between two parts of a scan, where sled has nothing to write more often than not.
    ///
    /// If anything was written since the last sync, some of it is still in the buffer that is flushed here: a
    /// buffer is as large as a segment, and sled begins the next one where it ends.
    pub(super) fn sync_if_written(&self) -> Result<(), Fault> {
        match self.flush()? {
            0 => Ok(()),
            _ => self.sync_log(),
        }
    }

    fn sync_log(&self) -> Result<(), Fault> {
        self.log.sync_data().map_err(|error| fault("sync", &self.log_path, &error))?;
        // The file that was synced must still be the store's: not removed, not replaced, not cut.
        self.check_len(files::check_in_place(&self.log, &self.log_path)?).map(drop)
    }

    /// Makes the log longer before sled needs it, unless somebody reads just now.
    fn keep_runway(&self, len: u64) -> Result<(), Fault> {
        let mut runway = self.runway.lock();
        if runway.is_short(&self.log, len) && space::is_plentiful(&self.log_path) {
            let turn = self.turn();
            // What there is to wait for is waited for here, where who reads goes on.
            self.nudge()?;
            let Some(nobody_reads) = self.reading.try_write_for(READERS_WAIT) else { return Ok(()) };
            self.extend(&mut runway, &nobody_reads, turn)?;
        }
        Ok(())
    }

    /// Makes the log longer while nobody reads. Who reads may have had sled write something meanwhile: now all of that is
    /// written too, and nobody can make it write more, since only who appends runs transactions. Behind the end of its log
    /// there is nobody but us.
    fn extend(
        &self,
        runway: &mut Runway,
        _nobody_reads: &RwLockWriteGuard<'_, ()>,
        turn: Turn<'_>,
    ) -> Result<(), Fault> {
        self.nudge()?;
        // No other store is to wait while this one's disk takes the zeros.
        drop(turn);
        let len = self.check_len(files::len(&self.log, &self.log_path)?)?;
        runway.extend(&self.log, len);
        Ok(())
    }

    /// Hands everything to the system; another thread's call wakes one that hangs.
    fn flush(&self) -> Result<usize, Fault> {
        let _turn = self.turn();
        self.nudge()
    }

    fn turn(&self) -> Turn<'_> {
        let lock = SLED.lock();
        self.turns.fetch_add(1, Ordering::SeqCst);
        Turn { turns: &self.turns, _lock: lock }
    }

    /// Which piece of writing is under way; the same for as long as it is.
    pub(super) fn under_way(&self) -> Option<u64> {
        let turns = self.turns.load(Ordering::SeqCst);
        (turns % 2 == 1).then_some(turns)
    }

    /// The same without waiting for a turn: for who has it, and for the thread that wakes a flush that hangs.
    pub(super) fn nudge(&self) -> Result<usize, Fault> {
        caught(|| self.db.flush().map_err(Caught::Sled)).map_err(|caught| caught.into_fault("flush"))
    }

    /// The log must not have been cut since its length was looked at last.
    fn check_len(&self, len: u64) -> Result<u64, Fault> {
        let before = self.log_len.swap(len, Ordering::Relaxed);
        // sled gives back free segments at the end, and only whole ones.
        if len < before && (len == 0 || !len.is_multiple_of(SEGMENT_LEN)) {
            return Err(Fault::new(format!("{} was cut while it was open", self.log_path.display())));
        }
        Ok(len)
    }

    /// The page with this first number.
    pub(super) fn page(&self, first: u64) -> Result<Option<sled::IVec>, Fault> {
        let _reading = self.reading.read();
        caught(|| self.journal.get(first.to_be_bytes()).map_err(Caught::Sled))
            .map_err(|caught| caught.into_fault("read"))
    }

    /// The pages from a number on, by rising number, while nothing is written.
    pub(super) fn pages(&self, from: u64) -> impl Iterator<Item = Result<(u64, sled::IVec), Fault>> {
        let mut rows = self.journal.range(from.to_be_bytes()..);
        let mut failed = false;
        std::iter::from_fn(move || {
            if failed {
                // sled's iterator gives one error for ever.
                return None;
            }
            let _reading = self.reading.read();
            let page = match caught(|| rows.next().transpose().map_err(Caught::Sled)) {
                Ok(None) => return None,
                Ok(Some((key, bytes))) => match <[u8; 8]>::try_from(key.as_ref()) {
                    Ok(first) => Ok((u64::from_be_bytes(first), bytes)),
                    Err(_) => Err(Fault::new(format!("a page has an impossible key, len={}", key.len()))),
                },
                Err(caught) => Err(caught.into_fault("scan")),
            };
            failed = page.is_err();
            Some(page)
        })
    }

    /// Drops the database, panics caught, and says whether sled let go of its files.
    pub(super) fn drop_wholly(self) -> bool {
        let Self { db, journal, log, log_path, .. } = self;
        drop_caught((journal, db, log)) && released(&log_path)
    }
}

/// Drops parts of sled in order, and says whether it did so without a panic: its log syncs when it is dropped, and
/// panics if it cannot.
fn drop_caught<T>(parts: T) -> bool {
    contain(move || drop(parts)).is_ok()
}

/// A piece of writing, one at a time in this process.
struct Turn<'a> {
    turns: &'a AtomicU64,
    _lock: MutexGuard<'static, ()>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.fetch_add(1, Ordering::SeqCst);
    }
}

/// Waits, for a second at most, until sled's own lock on its log is free.
fn released(log_path: &std::path::Path) -> bool {
    (0..RELEASE_TRIES).any(|attempt| {
        if attempt > 0 {
            wait();
        }
        File::open(log_path).is_ok_and(|file| file.try_lock().is_ok())
    })
}

/// Opens sled; the lock of a database that was dropped just now is waited for, a second at most.
fn open_patiently(config: &sled::Config) -> Result<(sled::Db, sled::Tree), Caught> {
    let mut attempt: u32 = 0;
    loop {
        let opened = caught(|| {
            let db = config.open().map_err(Caught::Sled)?;
            let journal = db.open_tree("journal").map_err(Caught::Sled)?;
            Ok((db, journal))
        });
        attempt = attempt.saturating_add(1);
        match opened {
            Err(Caught::Sled(sled::Error::Io(error))) if is_locked(&error) && attempt < RELEASE_TRIES => {
                wait()
            }
            opened => return opened,
        }
    }
}

/// sled wraps the answer of a lock that is taken into an error of kind `Other`.
fn is_locked(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.to_string().contains("could not acquire lock")
}

/// Between two looks at a lock that nothing announces.
#[allow(clippy::disallowed_methods, reason = "nothing tells when sled's threads let go of a lock")]
fn wait() {
    thread::sleep(RELEASE_WAIT);
}

/// What came out of sled instead of an answer.
#[derive(Debug, thiserror::Error)]
enum Caught {
    #[error(transparent)]
    Sled(sled::Error),
    #[error("{0}")]
    Panic(String),
}

impl Caught {
    fn into_fault(self, doing: &str) -> Fault {
        match self {
            Self::Sled(sled::Error::Io(error)) => Fault::io(&format!("the engine cannot {doing}"), &error),
            other => Fault::new(format!("the engine cannot {doing}: {other}")),
        }
    }
}

fn transaction_fault(error: TransactionError<()>) -> Caught {
    match error {
        TransactionError::Storage(error) => Caught::Sled(error),
        TransactionError::Abort(()) => Caught::Panic("a transaction aborted itself".into()),
    }
}

/// Runs a piece of sled; a panic in it becomes an error.
fn caught<T>(act: impl FnOnce() -> Result<T, Caught>) -> Result<T, Caught> {
    contain(act).unwrap_or_else(|text| Err(Caught::Panic(text)))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that overflows is to say so at once")]
mod tests;
