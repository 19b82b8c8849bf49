//! The store's directory: who has it, what it is, which generation counts (I11).
//!
//! | name | what |
//! |---|---|
//! | `LOCK` | locked while the store is open; never removed |
//! | `CREATING` | there while a store is being made: nothing was ever acknowledged |
//! | `FORMAT` | written last when a store is made: format and identity |
//! | `WATERMARK` | how far the journal had got |
//! | `CURRENT` | which generation counts |
//! | `RESERVE` | room for recovery on a full disk |
//! | `gen-N` | sled's files |

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::files::{self, fault};
use super::generation::Generation;
use super::sealed::{parse_store, read_small, seal, store_text, unseal};
use super::{Missing, space};
use crate::error::{Fault, OpenError};
use crate::journal::StoreId;

/// The directory format that this program writes, and the newest it reads.
const FORMAT: u32 = 1;

/// What `CREATING` says while the pages of another store are copied in.
const COPYING: &[u8] = b"copy\n";

/// The lock on a directory, held while it lives.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that is being spawned just now may hold the file for a moment.
        let _ = self.file.unlock();
    }
}

/// What the `FORMAT` file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) store: StoreId,
}

/// A store's directory, locked by this process.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Takes the directory, if it is one of a store or may become one.
    pub(super) fn lock(path: &Path, missing: Missing) -> Result<(Self, Lock), OpenError> {
        let failed = |doing: &str, error: io::Error| OpenError::Io(fault(doing, path, &error));
        // The process may go to another folder while the store is open.
        let absolute = std::path::absolute(path).map_err(|error| failed("find", error))?;
        let directory = Self { path: absolute };
        let create = missing != Missing::Refuse;
        if !directory.has("FORMAT")? {
            match fs::read_dir(path) {
                Ok(entries) => directory.refuse_foreign(entries)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound && create => {
                    files::create_folder(path).map_err(OpenError::Io)?;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(OpenError::Missing { path: path.into() });
                }
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                    return Err(OpenError::Foreign { path: path.into() });
                }
                Err(error) => return Err(failed("open", error)),
            }
            if !create {
                return Err(OpenError::Missing { path: path.into() });
            }
        }
        let lock_path = directory.path.join("LOCK");
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(|error| OpenError::Io(fault("open", &lock_path, &error)))?;
        match file.try_lock() {
            Ok(()) => Ok((directory, Lock { file })),
            Err(TryLockError::WouldBlock) => Err(OpenError::AlreadyOpen { path: path.into() }),
            Err(TryLockError::Error(error)) => Err(OpenError::Io(fault("lock", &lock_path, &error))),
        }
    }

    /// A directory that is only read from.
    pub(super) fn at(path: &Path) -> Result<Self, OpenError> {
        let absolute =
            std::path::absolute(path).map_err(|error| OpenError::Io(fault("find", path, &error)))?;
        Ok(Self { path: absolute })
    }

    /// The store that `CURRENT` names, as far as it can be read.
    pub(super) fn current_store(&self) -> Option<StoreId> {
        let text = read_small(&self.path.join("CURRENT")).ok()??;
        parse_store(unseal("current", &text)?.get(1)?)
    }

    /// Without `FORMAT` and `CREATING`, only an empty directory may become a store. What is left by a process that
    /// was killed before `CREATING` was there does not count: an empty `LOCK`, and the draft of `CREATING`.
    fn refuse_foreign(&self, entries: fs::ReadDir) -> Result<(), OpenError> {
        if self.has("CREATING")? {
            return Ok(());
        }
        for entry in entries {
            let entry = entry.map_err(|error| OpenError::Io(fault("list", &self.path, &error)))?;
            let left_over = [("LOCK", 0), ("CREATING.new", COPYING.len())].iter().any(|(name, len_max)| {
                entry.file_name() == *name
                    && entry.metadata().is_ok_and(|m| m.is_file() && m.len() <= *len_max as u64)
            });
            // Looked at once more: another process may be making a store here just now.
            if !left_over && !self.has("CREATING")? && !self.has("FORMAT")? {
                return Err(OpenError::Foreign { path: self.path.clone() });
            }
        }
        Ok(())
    }

    fn has(&self, name: &str) -> Result<bool, OpenError> {
        let path = self.path.join(name);
        match path.try_exists() {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
            checked => checked.map_err(|error| OpenError::Io(fault("look for", &path, &error))),
        }
    }

    /// The directory itself.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a path, which may not exist yet, is the directory or lies below it.
    pub(super) fn contains(&self, path: &Path) -> bool {
        let Ok(absolute) = std::path::absolute(path) else { return false };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let own = real(&self.path);
        absolute.ancestors().any(|path| path == self.path || real(path) == own)
    }

    /// Where the watermark is.
    pub(super) fn watermark_path(&self) -> PathBuf {
        self.path.join("WATERMARK")
    }

    /// Where the reserve is.
    pub(super) fn reserve_path(&self) -> PathBuf {
        self.path.join("RESERVE")
    }

    /// What the directory says it is; `None` if it is not a finished store.
    pub(super) fn format(&self) -> Result<Option<Format>, OpenError> {
        let path = self.path.join("FORMAT");
        let Some(text) = read_small(&path)? else { return Ok(None) };
        let damaged = || corrupt("the format file is damaged", &path);
        let fields = unseal("format", &text).ok_or_else(damaged)?;
        let [format, store] = fields[..] else { return Err(damaged()) };
        let found: u32 = format.parse().map_err(|_| damaged())?;
        if found > FORMAT {
            return Err(OpenError::NewerFormat { found, supported: FORMAT });
        }
        let store = parse_store(store).ok_or_else(damaged)?;
        Ok(Some(Format { store }))
    }

    /// Says that a store is being made, and removes what an earlier attempt left.
    pub(super) fn begin_creation(&self, missing: Missing) -> Result<(), OpenError> {
        let path = self.path.join("CREATING");
        match read_small(&path)?.as_deref() {
            // Whoever opens it hopes for what was copied, and must not be given an empty store.
            Some(COPYING) => return Err(corrupt("the copy of a store was never finished", &path)),
            Some(_) => self.refuse_acknowledged()?,
            None => {}
        }
        let purpose = if matches!(missing, Missing::Copy(_)) { COPYING } else { b"" };
        files::replace(&path, purpose)
            .and_then(|()| files::sync_parent(&self.path))
            .map_err(OpenError::Io)?;
        for generation in self.generations()? {
            files::remove_folder(generation.path()).map_err(OpenError::Io)?;
        }
        for name in ["WATERMARK", "CURRENT", "CURRENT.new", "FORMAT.new", "RESERVE"] {
            files::remove(&self.path.join(name)).map_err(OpenError::Io)?;
        }
        Ok(())
    }

    /// `CREATING` says that nothing was acknowledged. A watermark that says otherwise means that the format
    /// file was lost, and then nothing may be removed.
    fn refuse_acknowledged(&self) -> Result<(), OpenError> {
        let path = self.watermark_path();
        let Some(bytes) = read_small(&path)? else { return Ok(()) };
        if super::watermark::marks(&bytes).iter().any(|(_, mark)| mark.next > 1) {
            return Err(corrupt("the format file is missing from a store that was in use", &path));
        }
        Ok(())
    }

    /// A store is made and the sign of its making is still there: takes it away.
    pub(super) fn finish_creation(&self) -> Result<(), OpenError> {
        let creating = self.path.join("CREATING");
        if self.has("CREATING")? {
            files::remove(&creating).and_then(|()| files::sync_folder(&self.path)).map_err(OpenError::Io)?;
        }
        Ok(())
    }

    /// The folder for a new store's first generation.
    pub(super) fn first_generation(&self) -> Result<Generation, OpenError> {
        let generation = Generation::numbered(&self.path, 1);
        let path = generation.path();
        fs::create_dir(path).map_err(|error| OpenError::Io(fault("create", path, &error)))?;
        Ok(generation)
    }

    /// The generation that counts.
    pub(super) fn current(&self, store: StoreId) -> Result<Generation, OpenError> {
        let path = self.path.join("CURRENT");
        let text = read_small(&path)?
            .ok_or_else(|| corrupt("the file that names the generation is missing", &path))?;
        let damaged = || corrupt("the file that names the generation is damaged", &path);
        let fields = unseal("current", &text).ok_or_else(damaged)?;
        let [number, owner] = fields[..] else { return Err(damaged()) };
        if parse_store(owner) != Some(store) {
            return Err(corrupt("the file that names the generation belongs to another store", &path));
        }
        let generation = Generation::numbered(&self.path, number.parse().map_err(|_| damaged())?);
        for file in ["db", "conf"] {
            let path = generation.path().join(file);
            match path.try_exists() {
                Ok(true) => {}
                Ok(false) => return Err(corrupt("a file of the generation is missing", &path)),
                Err(error) => return Err(OpenError::Io(fault("look for", &path, &error))),
            }
        }
        Ok(generation)
    }

    /// Whether there is room for so many bytes and for what opening writes; the reserve is given up for it.
    pub(super) fn need_room(&self, bytes: u64) -> Result<(), OpenError> {
        let needed = bytes.saturating_add(space::GROUP_BYTES);
        space::check_or_give_reserve(&self.path, &self.reserve_path(), needed)
            .map_err(|s| OpenError::DiskFull { available: s.available, needed: s.needed })
    }

    /// Copies a generation to a new one with a number above all there are, and says whether its digest is the
    /// expected one. Nothing of the copy is durable yet.
    pub(super) fn copy_generation(
        &self,
        from: &Generation,
        expected: Option<u32>,
    ) -> Result<(Generation, bool), OpenError> {
        let highest = self.generations()?.iter().map(Generation::number).max().unwrap_or_default();
        let copy = Generation::numbered(&self.path, highest.saturating_add(1));
        files::replace(&self.copy_mark(&copy), b"").map_err(OpenError::Io)?;
        let copied = from.copy_to(&copy).and_then(|digest| {
            // What is not known to be right must at least be the same when it is read again.
            if expected == Some(digest) || from.digest()? == digest {
                copy.cut_runway().map_err(OpenError::Io)?;
                Ok(expected == Some(digest))
            } else {
                Err(corrupt("two reads of the generation gave different bytes", from.path()))
            }
        });
        if copied.is_err() {
            self.remove_copy(&copy);
        }
        copied.map(|as_expected| (copy, as_expected))
    }

    /// Says of a generation that it is a copy which does not count yet, and can be made again.
    fn copy_mark(&self, copy: &Generation) -> PathBuf {
        self.path.join(format!("gen-{}.copy", copy.number()))
    }

    /// Removes a copy that does not count. What is left after an error is removed at a later opening.
    pub(super) fn remove_copy(&self, copy: &Generation) {
        // The mark goes last, on the disk too: a copy without one would be taken for evidence.
        if copy.remove() && files::sync_folder(&self.path).is_ok() {
            let _ = files::remove(&self.copy_mark(copy));
        }
    }

    /// Removes what openings that were cut short have left. Any generation without such a mark may be evidence, and
    /// stays until the store is open; a newer one than the one that counts is.
    pub(super) fn remove_unfinished_copies(&self, current: &Generation) -> Result<(), OpenError> {
        let marks = self.names()?.into_iter().filter_map(|name| {
            let number = Generation::number_of(name.strip_suffix(".copy")?)?;
            (number != current.number()).then(|| Generation::numbered(&self.path, number))
        });
        for copy in marks {
            self.remove_copy(&copy);
        }
        // A copy has its mark before its first byte, and loses it after CURRENT names it.
        match self.generations()?.iter().find(|other| other.number() > current.number()) {
            None => Ok(()),
            Some(newer) if self.copy_mark(newer).exists() => Ok(()),
            Some(newer) => Err(corrupt("there is a newer generation than the one that counts", newer.path())),
        }
    }

    /// Makes a generation the one that counts, at once or not at all.
    pub(super) fn set_current(&self, store: StoreId, generation: &Generation) -> Result<(), Fault> {
        let text = seal("current", &[generation.number().to_string(), store_text(store)]);
        files::replace(&self.path.join("CURRENT"), text.as_bytes())
    }

    /// The store is open and sound: it is finished, and only the generation that counts is kept.
    pub(super) fn complete(&self, store: StoreId, current: &Generation) -> Result<(), Fault> {
        let format = self.path.join("FORMAT");
        if !format.try_exists().map_err(|error| fault("look for", &format, &error))? {
            files::replace(&format, seal("format", &[FORMAT.to_string(), store_text(store)]).as_bytes())?;
            files::remove(&self.path.join("CREATING"))?;
        }
        let generations = self.generations().map_err(super::into_fault)?;
        files::remove(&self.copy_mark(current))?;
        for other in generations.iter().filter(|other| other.number() != current.number()) {
            self.remove_copy(other);
        }
        files::sync_folder(&self.path)
    }

    /// All generations there are.
    pub(super) fn generations(&self) -> Result<Vec<Generation>, OpenError> {
        let numbers = self.names()?.into_iter().filter_map(|name| Generation::number_of(&name));
        Ok(numbers.map(|number| Generation::numbered(&self.path, number)).collect())
    }

    /// What is in the directory, as far as its names are text.
    fn names(&self) -> Result<Vec<String>, OpenError> {
        let failed = |error: io::Error| OpenError::Io(fault("list", &self.path, &error));
        let entries = fs::read_dir(&self.path).map_err(failed)?;
        entries
            .filter_map(|entry| entry.map(|entry| entry.file_name().into_string().ok()).transpose())
            .collect::<io::Result<_>>()
            .map_err(failed)
    }
}

/// Keeps others from opening a store while it is read from, as far as its lock is there to be taken.
pub(super) fn lock_without_touching(path: &Path) -> Result<Option<File>, OpenError> {
    let lock_path = path.join("LOCK");
    let file = match File::open(&lock_path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(OpenError::Io(fault("open", &lock_path, &error))),
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::AlreadyOpen { path: path.into() }),
        Err(TryLockError::Error(error)) => Err(OpenError::Io(fault("lock", &lock_path, &error))),
    }
}

/// A new identity.
pub(super) fn random_store() -> Result<StoreId, OpenError> {
    let mut id = [0; 16];
    getrandom::fill(&mut id)
        .map_err(|error| OpenError::Io(Fault::new(format!("no random bytes: {error}"))))?;
    Ok(StoreId(id))
}

fn corrupt(what: &str, file: &Path) -> OpenError {
    OpenError::Corrupt { what: what.into(), file: Some(file.into()) }
}

#[cfg(test)]
mod tests;
