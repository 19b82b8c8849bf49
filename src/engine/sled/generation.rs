//! A generation: one folder of sled's files, read as plain bytes (I11).
//!
//! sled's recovery rewrites what it reads, and throws away whatever lies behind the first thing it cannot
//! read. So unless the files are known to be as they were closed, it only ever gets a copy.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::files::{self, fault};
use super::runway;
use crate::error::{Fault, OpenError};

const READ_LEN: usize = 1 << 20;

/// A numbered folder with sled's files.
#[derive(Clone, Debug)]
pub(super) struct Generation {
    number: u64,
    path: PathBuf,
}

impl Generation {
    /// The generation with a number, in a store's directory.
    pub(super) fn numbered(directory: &Path, number: u64) -> Self {
        Self { number, path: directory.join(format!("gen-{number}")) }
    }

    /// The number in a folder's name, if it is one of a generation.
    pub(super) fn number_of(name: &str) -> Option<u64> {
        let digits = name.strip_prefix("gen-")?;
        let number = digits.parse().ok()?;
        (format!("gen-{number}") == name).then_some(number)
    }

    /// Its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Its folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// sled's log.
    pub(super) fn log_path(&self) -> PathBuf {
        self.path.join("db")
    }

    /// Bytes of all its files.
    pub(super) fn len(&self) -> Result<u64, OpenError> {
        self.files()?.iter().try_fold(0, |sum: u64, name| {
            let path = self.path.join(name);
            let metadata =
                fs::metadata(&path).map_err(|error| OpenError::Io(fault("read", &path, &error)))?;
            Ok(sum.saturating_add(metadata.len()))
        })
    }

    /// Reads every byte of every file; the answer changes when a name, a length or a byte does.
    pub(super) fn digest(&self) -> Result<u32, OpenError> {
        self.read_all(|_, _| Ok(()))
    }

    /// Copies every byte to another generation, which must not exist yet, and gives the digest of what was read.
    ///
    /// Really copies: pages that failed to reach the disk may look clean to the system, and would be shared by
    /// anything cleverer.
    pub(super) fn copy_to(&self, other: &Self) -> Result<u32, OpenError> {
        fs::create_dir(&other.path).map_err(|error| OpenError::Io(fault("create", &other.path, &error)))?;
        let mut open: Option<(PathBuf, File)> = None;
        self.read_all(|name, bytes| {
            let path = other.path.join(name);
            if open.as_ref().is_none_or(|(name, _)| *name != path) {
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)
                        .map_err(|error| OpenError::Io(fault("create", folder, &error)))?;
                }
                let file =
                    File::create(&path).map_err(|error| OpenError::Io(fault("create", &path, &error)))?;
                open = Some((path.clone(), file));
            }
            match &mut open {
                Some((_, file)) => {
                    file.write_all(bytes).map_err(|error| OpenError::Io(fault("write", &path, &error)))
                }
                None => Ok(()),
            }
        })
    }

    /// Removes what is left of a snapshot that was being written when the process ended.
    ///
    /// sled takes such a file for a finished snapshot, and then can never open again.
    pub(super) fn remove_unfinished_snapshots(&self) -> Result<(), OpenError> {
        for name in self.files()? {
            let text = name.to_string_lossy();
            if text.starts_with("snap.") && text.ends_with(".generating") {
                files::remove(&self.path.join(&name)).map_err(OpenError::Io)?;
            }
        }
        Ok(())
    }

    /// Cuts off what was made ahead of sled in its log. Only while sled has not opened it.
    pub(super) fn cut_runway(&self) -> Result<(), Fault> {
        let path = self.log_path();
        File::options()
            .read(true)
            .write(true)
            .open(&path)
            .and_then(|log| runway::cut(&log))
            .map_err(|error| fault("cut", &path, &error))
    }

    /// Makes every file and folder of it durable, and its own entry too.
    pub(super) fn sync_files(&self) -> Result<(), Fault> {
        let names = self.files().map_err(super::into_fault)?;
        for name in &names {
            let path = self.path.join(name);
            // Opened for writing, as some systems want for a sync.
            File::options()
                .read(true)
                .write(true)
                .open(&path)
                .and_then(|file| file.sync_all())
                .map_err(|error| fault("sync", &path, &error))?;
        }
        let blobs = self.path.join("blobs");
        if blobs.is_dir() {
            files::sync_folder(&blobs)?;
        }
        files::sync_folder(&self.path)?;
        files::sync_parent(&self.path)
    }

    /// Removes it, and says whether it is gone.
    pub(super) fn remove(&self) -> bool {
        files::remove_folder(&self.path).is_ok()
    }

    /// The names of its files, within its folder, sorted.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, OpenError> {
        let mut names = Vec::new();
        collect(&self.path, Path::new(""), &mut names)
            .map_err(|error| OpenError::Io(fault("list", &self.path, &error)))?;
        names.sort();
        Ok(names)
    }

    fn read_all(
        &self,
        mut take: impl FnMut(&Path, &[u8]) -> Result<(), OpenError>,
    ) -> Result<u32, OpenError> {
        let mut buffer = vec![0; READ_LEN];
        let mut hasher = crc32fast::Hasher::new();
        for name in self.files()? {
            let path = self.path.join(&name);
            let failed = |error: io::Error| OpenError::Io(fault("read", &path, &error));
            let mut file = File::open(&path).map_err(failed)?;
            let mut len: u64 = 0;
            loop {
                let read = match file.read(&mut buffer) {
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(failed(error)),
                };
                let bytes = buffer.get(..read).unwrap_or_default();
                hasher.update(bytes);
                // Called for an empty file too, so that a copy has it.
                if read > 0 || len == 0 {
                    take(&name, bytes)?;
                }
                if read == 0 {
                    break;
                }
                len = len.saturating_add(read as u64);
            }
            hasher.update(&len.to_be_bytes());
            hasher.update(name.to_string_lossy().as_bytes());
        }
        Ok(hasher.finalize())
    }
}

fn collect(root: &Path, below: &Path, names: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &name, names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generation with some files, one of them empty and one in a folder.
    fn generation(folder: &Path) -> Generation {
        let generation = Generation::numbered(folder, 3);
        fs::create_dir_all(generation.path().join("blobs")).unwrap();
        for (name, len) in [("db", READ_LEN + 1), ("conf", 40), ("empty", 0), ("blobs/1", READ_LEN)] {
            fs::write(generation.path().join(name), vec![7; len]).unwrap();
        }
        generation
    }

    #[test]
    fn only_whole_numbers_in_one_spelling_are_generations() {
        assert_eq!(Generation::number_of("gen-0"), Some(0));
        assert_eq!(Generation::number_of("gen-18446744073709551615"), Some(u64::MAX));
        for name in ["gen-", "gen-01", "gen-+1", "gen-1.new", "gen-18446744073709551616", "Gen-1", "1"] {
            assert_eq!(Generation::number_of(name), None, "{name}");
        }
    }

    /// What is done to a generation's folder, by name.
    type Change = (&'static str, fn(&Path));

    // I11
    #[test]
    fn the_digest_changes_with_every_name_length_and_byte() {
        let folder = tempfile::tempdir().unwrap();
        let generation = generation(folder.path());
        let good = generation.digest().unwrap();
        let changes: [Change; 5] = [
            ("a byte", |path| fs::write(path.join("conf"), [8; 40]).unwrap()),
            ("a length", |path| fs::write(path.join("conf"), [7; 41]).unwrap()),
            ("a name", |path| fs::rename(path.join("conf"), path.join("cong")).unwrap()),
            ("an empty file more", |path| fs::write(path.join("more"), "").unwrap()),
            ("an empty file less", |path| fs::remove_file(path.join("empty")).unwrap()),
        ];
        for (what, change) in changes {
            let folder = tempfile::tempdir().unwrap();
            let changed = self::generation(folder.path());
            assert_eq!(changed.digest().unwrap(), good);
            change(changed.path());
            assert_ne!(changed.digest().unwrap(), good, "{what}");
        }
    }

    #[test]
    fn a_copy_has_every_byte_and_the_same_digest() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (generation(folder.path()), Generation::numbered(folder.path(), 4));
        let digest = from.copy_to(&to).unwrap();
        assert_eq!((digest, to.digest().unwrap()), (from.digest().unwrap(), digest));
        assert_eq!(to.len().unwrap(), from.len().unwrap());
        for name in from.files().unwrap() {
            assert_eq!(fs::read(to.path().join(&name)).unwrap(), fs::read(from.path().join(&name)).unwrap());
        }
        // Never over something that is there.
        from.copy_to(&to).unwrap_err();
    }

    #[test]
    fn only_unfinished_snapshots_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let generation = generation(folder.path());
        for name in ["snap.1", "snap.2.generating", "snap.generating", "db.generating"] {
            fs::write(generation.path().join(name), "").unwrap();
        }
        generation.remove_unfinished_snapshots().unwrap();
        let left = generation.files().unwrap();
        let expected = ["blobs/1", "conf", "db", "db.generating", "empty", "snap.1"];
        assert_eq!(left, expected.map(PathBuf::from));
    }
}
