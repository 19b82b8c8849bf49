//! The store's directory, stopped in every way, damaged, exchanged and rolled back (I11).
//!
//! Whatever is done to it: either everything acknowledged is served, or the refusal has a name and the bytes
//! that were there still are.

mod closing;
mod copies;
mod creation;
mod damage;
mod identity;
mod rollback;
mod salvage;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pointstore::{Command, OpenError, PointStore, Points, Position, Receipt};
use tempfile::TempDir;

/// All files below a folder, by path, with their bytes; folders are there without any.
type Listing = BTreeMap<PathBuf, Option<Vec<u8>>>;

fn listing(folder: &Path) -> Listing {
    fn collect(root: &Path, folder: &Path, into: &mut Listing) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if path.is_dir() {
                into.insert(name, None);
                collect(root, &path, into);
            } else {
                into.insert(name, Some(fs::read(&path).unwrap()));
            }
        }
    }
    let mut all = Listing::new();
    collect(folder, folder, &mut all);
    all
}

/// What I11 says must still be there after a refusal.
fn evidence(folder: &Path) -> Listing {
    let mut all = listing(folder);
    all.retain(|path, _| !["LOCK", "WATERMARK"].iter().any(|name| path == Path::new(name)));
    all
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for (name, bytes) in listing(from) {
        match bytes {
            None => fs::create_dir_all(to.join(name)).unwrap(),
            Some(bytes) => fs::write(to.join(name), bytes).unwrap(),
        }
    }
}

/// A folder with a copy of another.
fn copy_of(from: &Path) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(from, folder.path());
    folder
}

fn grant(account: &str, key: &str, points: i64) -> Command {
    Command::grant(account.parse().unwrap(), key.parse().unwrap(), Points::new(points).unwrap())
}

/// Some groups of several sizes; `from` keeps the keys of several calls apart.
fn fill(store: &PointStore, from: u64, groups: u64) {
    for group in from..from + groups {
        let list: Vec<Command> = (0..1 + group % 7 * 5)
            .map(|i| grant(&format!("account-{}", (group + i) % 9), &format!("g{group}-{i}"), 1 + i as i64))
            .collect();
        assert!(store.apply_each(&list).iter().all(Result::is_ok));
    }
}

fn receipts(store: &PointStore) -> Vec<Receipt> {
    store.journal(0).map(Result::unwrap).collect()
}

/// How a store came to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    /// Closed in order.
    Clean,
    /// As kill -9 leaves it.
    Killed,
}

/// What a store left, and what it had acknowledged.
struct Stopped {
    folder: TempDir,
    receipts: Vec<Receipt>,
    position: Position,
}

/// A store with some groups, stopped so; reopened once before its last groups, so that there is a snapshot.
fn stopped(stop: Stop) -> Stopped {
    let live = tempfile::tempdir().unwrap();
    let store = PointStore::open(live.path()).unwrap();
    fill(&store, 0, 20);
    store.close().unwrap();
    let store = PointStore::open(live.path()).unwrap();
    fill(&store, 20, 20);
    let (receipts, position) = (receipts(&store), store.position());
    let folder = match stop {
        Stop::Clean => {
            store.close().unwrap();
            live
        }
        // Everything acknowledged is written, and nothing is while it is copied.
        Stop::Killed => copy_of(live.path()),
    };
    Stopped { folder, receipts, position }
}

impl Stopped {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the generation that counts.
    fn generation(&self) -> PathBuf {
        generation(self.path())
    }

    /// Opens it and sees that everything acknowledged is served.
    fn serves_all(&self) -> PointStore {
        let store = PointStore::open(self.path()).unwrap();
        assert_serves(&store, &self.receipts);
        store
    }

    /// Opens it and sees that it is refused, with everything kept; gives the refusal.
    fn refused(&self) -> OpenError {
        refused(self.path())
    }
}

/// The only generation in a store's folder.
fn generation(store: &Path) -> PathBuf {
    let mut generations = fs::read_dir(store)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("gen-"));
    let generation = generations.next().expect("a generation");
    assert_eq!(generations.next(), None, "only one generation is left");
    generation
}

fn refused(folder: &Path) -> OpenError {
    let before = evidence(folder);
    match PointStore::open(folder) {
        Ok(store) => panic!("it must be refused: {}", store.opened()),
        Err(error) => {
            assert_kept(folder, &before, &error);
            error
        }
    }
}

/// I11: nothing of what was there is changed, and nothing is added.
fn assert_kept(folder: &Path, before: &Listing, error: &OpenError) {
    let after = evidence(folder);
    let names = |listing: &Listing| listing.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(before), "I11: after {error:?}");
    for (name, bytes) in before {
        assert!(&after[name] == bytes, "I11: {} changed after {error:?}", name.display());
    }
}

fn assert_serves(store: &PointStore, acknowledged: &[Receipt]) {
    assert_eq!(receipts(store), acknowledged, "I7");
    for receipt in acknowledged.iter().rev().take(20) {
        let found = store.receipt(receipt.account(), receipt.operation(), receipt.key()).unwrap();
        assert_eq!(found.as_ref(), Some(receipt));
    }
    store.verify().unwrap();
}
