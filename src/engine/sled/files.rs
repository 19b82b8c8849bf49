//! Files and folders, the durable way: small files replaced as a whole, folders synced (I7).

use std::fs::{self, File, Metadata};
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

/// An open file must still be the one that its path names: not removed, and nothing else in its place.
///
/// Where the path leads nowhere, a folder above it was renamed, and the file is as good as before.
#[cfg(unix)]
pub(super) fn check_in_place(file: &File, path: &Path) -> Result<Metadata, Fault> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().map_err(|error| fault("look at", path, &error))?;
    if metadata.nlink() == 0 {
        return Err(Fault::new(format!("{} was removed while it was open", path.display())));
    }
    match fs::metadata(path) {
        Ok(named) if (named.dev(), named.ino()) != (metadata.dev(), metadata.ino()) => {
            Err(Fault::new(format!("{} was replaced while it was open", path.display())))
        }
        _ => Ok(metadata),
    }
}

/// Files cannot be told from others of their names here.
#[cfg(not(unix))]
pub(super) fn check_in_place(file: &File, path: &Path) -> Result<Metadata, Fault> {
    file.metadata().map_err(|error| fault("look at", path, &error))
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
