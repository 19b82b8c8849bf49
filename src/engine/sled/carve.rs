//! Finds journal pages in files that sled can no longer read, by what the pages say of themselves (I9, I11).
//!
//! A page carries version, store, group and a checksum over its own key, and sled keeps it in one piece. So its
//! bytes are found wherever they are, live or left behind, and none is taken for a page that is not one. The
//! files are opened for reading alone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::directory::{self, Directory};
use super::files::{fault, read_at};
use super::watermark;
use crate::engine::Mark;
use crate::error::{Fault, OpenError};
use crate::journal::{Page, StoreId};
use crate::limits::PAGE_LEN_MAX;

/// Bytes looked through at once; beside these, a page that begins among them is read to its end.
const WINDOW_LEN: usize = 1 << 20;

/// What is tried again in smaller pieces where a window cannot be read.
const BLOCK_LEN: usize = 4096;

/// Where a page was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    file: usize,
    at: u64,
    len: usize,
}

/// The pages found in a store's directory.
#[derive(Debug)]
pub(crate) struct Carved {
    store: StoreId,
    /// How far the journal had got, as far as a watermark can be read.
    pub(crate) mark: Option<Mark>,
    /// Bytes that could not be read.
    pub(crate) unreadable_bytes: u64,
    files: Vec<PathBuf>,
    /// By first number, in the order they were found; two places may hold the same bytes.
    pages: BTreeMap<u64, Vec<Place>>,
    _lock: Option<File>,
}

impl Carved {
    /// Looks through all files of a store's directory, which is left as it is.
    pub(crate) fn find(path: &Path) -> Result<Self, OpenError> {
        let lock = directory::lock_without_touching(path)?;
        let directory = Directory::at(path)?;
        let mut files = Vec::new();
        for generation in directory.generations()? {
            files.extend(generation.files()?.into_iter().map(|name| generation.path().join(name)));
        }
        let slots = fs::read(directory.watermark_path()).unwrap_or_default();
        let marks = watermark::marks(&slots);
        // Any one of these is enough to know whose pages to look for.
        let store = match directory.format() {
            Ok(Some(format)) => Some(format.store),
            _ => marks.first().map(|(store, _)| *store),
        };
        let store = store.or_else(|| directory.current_store()).ok_or_else(|| OpenError::Corrupt {
            what: "neither the format, the watermark nor the generation says which store it was".into(),
            file: Some(path.into()),
        })?;
        let mark = marks.into_iter().filter(|(owner, _)| *owner == store).map(|(_, mark)| mark);
        let mut carved = Self {
            store,
            mark: mark.max_by_key(|mark| mark.next),
            unreadable_bytes: 0,
            files,
            pages: BTreeMap::new(),
            _lock: lock,
        };
        for file in 0..carved.files.len() {
            carved.look_through(file)?;
        }
        Ok(carved)
    }

    /// The identity of the store.
    pub(crate) fn store(&self) -> StoreId {
        self.store
    }

    /// The first numbers of the pages that were found.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = u64> {
        self.pages.keys().copied()
    }

    /// The pages with a first number: more than one where the journal was another one at some time.
    pub(crate) fn pages(&self, first: u64) -> Result<Vec<Vec<u8>>, OpenError> {
        let mut pages: Vec<Vec<u8>> = Vec::new();
        for place in self.pages.get(&first).into_iter().flatten() {
            let mut page = vec![0; place.len];
            let (file, path) = self.open(place.file)?;
            read_at(&file, &mut page, place.at)
                .map_err(|error| OpenError::Io(fault("read", path, &error)))?;
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
        Ok(pages)
    }

    fn open(&self, file: usize) -> Result<(File, &Path), OpenError> {
        let path = self.files.get(file).ok_or_else(|| OpenError::Io(Fault::new("a file is gone")))?;
        let open = File::open(path).map_err(|error| OpenError::Io(fault("open", path, &error)))?;
        Ok((open, path))
    }

    fn look_through(&mut self, file: usize) -> Result<(), OpenError> {
        let (open, path) = self.open(file)?;
        let len = open.metadata().map_err(|error| OpenError::Io(fault("look at", path, &error)))?.len();
        let mut window = vec![0; WINDOW_LEN.saturating_add(PAGE_LEN_MAX)];
        let mut at = 0;
        while at < len {
            let rest = usize::try_from(len.saturating_sub(at)).unwrap_or(usize::MAX);
            let bytes =
                window.get_mut(..rest.min(WINDOW_LEN.saturating_add(PAGE_LEN_MAX))).unwrap_or_default();
            self.unreadable_bytes = self.unreadable_bytes.saturating_add(read_what_can_be(&open, bytes, at));
            for (place, first, len) in pages_in(self.store, bytes) {
                if place < WINDOW_LEN {
                    let place = Place { file, at: at.saturating_add(place as u64), len };
                    self.pages.entry(first).or_default().push(place);
                }
            }
            at = at.saturating_add(WINDOW_LEN as u64);
        }
        Ok(())
    }
}

/// The pages in some bytes: where each begins, its first number and its length.
fn pages_in(store: StoreId, bytes: &[u8]) -> Vec<(usize, u64, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..) {
        let Some(next) = Page::find_start(store, rest) else { break };
        at = at.saturating_add(next);
        let here = bytes.get(at..).unwrap_or_default();
        match Page::without_key(store, here) {
            Some((first, len)) => {
                found.push((at, first, len));
                at = at.saturating_add(len);
            }
            None => at = at.saturating_add(1),
        }
    }
    found
}

/// Fills a window; where it cannot be read, block by block, with zeros for those that cannot. Says how many bytes
/// those are.
fn read_what_can_be(file: &File, window: &mut [u8], at: u64) -> u64 {
    if read_at(file, window, at).is_ok() {
        return 0;
    }
    let mut lost: u64 = 0;
    let mut at = at;
    for block in window.chunks_mut(BLOCK_LEN) {
        if read_at(file, block, at).is_err() {
            block.fill(0);
            lost = lost.saturating_add(block.len() as u64);
        }
        at = at.saturating_add(block.len() as u64);
    }
    lost
}
