//! Files and folders, the durable way: small files replaced as a whole, folders synced (I7).

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::error::Fault;

/// Turns an I/O error into a fault that says what was being done.
pub(super) fn fault(doing: &str, path: &Path, error: &io::Error) -> Fault {
    Fault::io(&format!("cannot {doing} {}", path.display()), error)
}

/// Puts `content` at `path` so that after a crash there is either what was there or all of it.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), Fault> {
    let draft = path.with_extension("new");
    let write = || {
        let mut file = File::create(&draft)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(|error| fault("write", path, &error))?;
    sync_parent(path)
}

/// Makes a folder and those above it, as far as they are missing, durably.
pub(super) fn create_folder(path: &Path) -> Result<(), Fault> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
    fs::create_dir_all(path).map_err(|error| fault("create", path, &error))?;
    missing.into_iter().try_for_each(sync_parent)
}

/// Makes what is listed in a folder durable.
#[cfg(unix)]
pub(super) fn sync_folder(path: &Path) -> Result<(), Fault> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(|error| fault("sync", path, &error))
}

/// Folders cannot be opened as files here; the file system orders its own changes.
#[cfg(not(unix))]
pub(super) fn sync_folder(_path: &Path) -> Result<(), Fault> {
    Ok(())
}

/// Makes the entry of `path` in its folder durable.
pub(super) fn sync_parent(path: &Path) -> Result<(), Fault> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_folder(Path::new(".")),
        Some(parent) => sync_folder(parent),
        None => Ok(()),
    }
}

/// An open file must still be the one that its path names: not removed, and nothing else in its place. Gives its length.
///
/// Where the path leads nowhere, a folder above it was renamed, and the file is as good as before.
pub(super) fn check_in_place(file: &File, path: &Path) -> Result<u64, Fault> {
    let open = Look::at_file(file).map_err(|error| fault("look at", path, &error))?;
    if open.links == 0 {
        return Err(Fault::new(format!("{} was removed while it was open", path.display())));
    }
    match Look::at_path(path) {
        Ok(named) if named.identity != open.identity => {
            Err(Fault::new(format!("{} was replaced while it was open", path.display())))
        }
        _ => Ok(open.len),
    }
}

/// The length of an open file.
pub(super) fn len(file: &File, path: &Path) -> Result<u64, Fault> {
    Look::at_file(file).map(|look| look.len).map_err(|error| fault("look at", path, &error))
}

/// What tells whether a file is still in its place, and how long it is.
///
/// Its times are not asked for. From Linux 6.13 on, the write after such a question gives the file a new time, which the
/// sync behind it may have to write: a step to the disk more for each group.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    links: u64,
    /// Device and number.
    identity: (u64, u64),
    len: u64,
}

/// Kernels before 4.11, and sandboxes of their time, know no such question: they are asked for everything.
#[cfg(target_os = "linux")]
impl Look {
    fn at_file(file: &File) -> io::Result<Self> {
        Self::of(file, c"", rustix::fs::AtFlags::EMPTY_PATH).or_else(|_| file.metadata().map(Self::from))
    }

    fn at_path(path: &Path) -> io::Result<Self> {
        Self::of(rustix::fs::CWD, path, rustix::fs::AtFlags::empty())
            .or_else(|_| fs::metadata(path).map(Self::from))
    }

    fn of(
        folder: impl std::os::fd::AsFd,
        path: impl rustix::path::Arg,
        flags: rustix::fs::AtFlags,
    ) -> io::Result<Self> {
        use rustix::fs::{StatxFlags, makedev, statx};
        let wanted = StatxFlags::NLINK | StatxFlags::INO | StatxFlags::SIZE;
        let found = statx(folder, path, flags, wanted)?;
        let device = makedev(found.stx_dev_major, found.stx_dev_minor);
        Ok(Self { links: found.stx_nlink.into(), identity: (device, found.stx_ino), len: found.stx_size })
    }
}

#[cfg(not(target_os = "linux"))]
impl Look {
    fn at_file(file: &File) -> io::Result<Self> {
        file.metadata().map(Self::from)
    }

    fn at_path(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(Self::from)
    }
}

#[cfg(unix)]
impl From<fs::Metadata> for Look {
    fn from(found: fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { links: found.nlink(), identity: (found.dev(), found.ino()), len: found.len() }
    }
}

/// Files cannot be told from others of their names here.
#[cfg(not(unix))]
impl From<fs::Metadata> for Look {
    fn from(found: fs::Metadata) -> Self {
        Self { links: 1, identity: (0, 0), len: found.len() }
    }
}

/// Reads bytes at a place, all of them.
#[cfg(unix)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Writes bytes at a place, all of them.
#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

/// Reads bytes at a place, all of them.
#[cfg(not(unix))]
pub(super) fn read_at(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(bytes)
}

/// Writes bytes at a place, all of them.
#[cfg(not(unix))]
pub(super) fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// Removes a file that may not be there.
pub(super) fn remove(path: &Path) -> Result<(), Fault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Removes a folder and what is in it, if it is there.
pub(super) fn remove_folder(path: &Path) -> Result<(), Fault> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault("remove", path, &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_looks_the_same_however_it_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, [7; 1234]).unwrap();
        fs::hard_link(&path, &link).unwrap();
        let file = File::open(&path).unwrap();
        let look = Look::at_file(&file).unwrap();
        assert_eq!(look.len, 1234);
        assert_eq!(look.links, if cfg!(unix) { 2 } else { 1 });
        assert_eq!(look, Look::at_path(&link).unwrap());
        assert_eq!(look, Look::from(file.metadata().unwrap()), "as systems without statx tell it");
        let error = Look::at_path(&folder.path().join("none")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
