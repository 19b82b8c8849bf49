//! Folders of files: copied, listed, compared; and a scratch folder that goes away.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const BLOCK: usize = 64 << 10;

/// Writes a file; blocks of zeros become holes, so that a reserve costs nothing.
pub fn write_sparse(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = fs::File::create(path)?;
    file.set_len(bytes.len() as u64)?;
    for (n, block) in bytes.chunks(BLOCK).enumerate() {
        if block.iter().any(|byte| *byte != 0) {
            file.write_all_at(block, (n * BLOCK) as u64)?;
        }
    }
    Ok(())
}

/// All files below a folder, by path, with their bytes; folders are there without any.
pub type Listing = BTreeMap<PathBuf, Option<Vec<u8>>>;

pub fn listing(folder: &Path) -> io::Result<Listing> {
    fn collect(root: &Path, below: &Path, into: &mut Listing) -> io::Result<()> {
        for entry in fs::read_dir(root.join(below))? {
            let entry = entry?;
            let name = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                into.insert(name.clone(), None);
                collect(root, &name, into)?;
            } else {
                into.insert(name, Some(fs::read(entry.path())?));
            }
        }
        Ok(())
    }
    let mut all = Listing::new();
    collect(folder, Path::new(""), &mut all)?;
    Ok(all)
}

pub fn write_listing(all: &Listing, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for (name, bytes) in all {
        let path = to.join(name);
        match bytes {
            None => fs::create_dir_all(path)?,
            Some(bytes) => {
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                write_sparse(&path, bytes)?;
            }
        }
    }
    Ok(())
}

pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    write_listing(&listing(from)?, to)
}

/// What of the evidence changed: I11 says nothing may, `LOCK` and `WATERMARK` aside.
pub fn changed(before: &Listing, after: &Listing) -> Option<String> {
    let counts = |name: &Path| !name.ends_with("LOCK") && !name.ends_with("WATERMARK");
    for (name, bytes) in before.iter().filter(|(name, _)| counts(name)) {
        match after.get(name) {
            None => return Some(format!("{} is gone", name.display())),
            Some(now) if now != bytes => return Some(format!("{} has changed", name.display())),
            Some(_) => {}
        }
    }
    after
        .keys()
        .filter(|name| counts(name))
        .find(|name| !before.contains_key(*name))
        .map(|name| format!("{} is new", name.display()))
}

/// A folder of this process, removed with it.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// In memory where there is room for it, so that thousands of states cost no disk.
    pub fn new() -> io::Result<Self> {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = base.join(format!("pointstore-torture-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
