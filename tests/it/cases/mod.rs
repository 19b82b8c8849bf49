//! Small cases that went wrong in other ledgers and retry helpers, and their whole kind: C01 to C17.
//!
//! C10 and C11 are about delays and queues: `tests/it/retry`, `src/retry` and `tests/it/worker` have them. Where the
//! case does not need a disk that fails, it is tried on a simulated one and on sled.

mod crash;
mod keys;
mod lists;
mod points;
pub(crate) mod together;

use pointstore::testing::SimDisk;
use pointstore::{
    AccountId, ApplyError, Command, ErrorKind, IdempotencyKey, ManualClock, Outcome, PointStore, Points,
    Refusal, Timestamp,
};

use crate::model::{Dump, dump};

/// A store that can be opened again.
pub(crate) enum Shelf {
    Sim(SimDisk),
    Sled(tempfile::TempDir),
}

impl Shelf {
    /// One of each kind.
    pub(crate) fn all() -> [Self; 2] {
        [Self::Sim(SimDisk::new(7)), Self::Sled(tempfile::tempdir().unwrap())]
    }

    /// Opens it. The time stands still.
    pub(crate) fn open(&self) -> PointStore {
        let clock = ManualClock::at(Timestamp::from_unix_millis(5_000));
        let builder = PointStore::builder().clock(clock).cache_bytes(1 << 20);
        match self {
            Self::Sim(disk) => builder.open_simulated(disk).unwrap(),
            Self::Sled(directory) => builder.open(directory.path()).unwrap(),
        }
    }

    /// Closes it and opens it again.
    pub(crate) fn reopen(&self, store: PointStore) -> PointStore {
        store.close().unwrap();
        drop(store);
        self.open()
    }
}

/// Tries it on a new store of each kind.
pub(crate) fn on_both(try_on: impl Fn(&Shelf, PointStore)) {
    for shelf in Shelf::all() {
        let store = shelf.open();
        try_on(&shelf, store);
    }
}

pub(crate) fn id(name: &str) -> AccountId {
    AccountId::new(name).unwrap()
}

pub(crate) fn key(key: &str) -> IdempotencyKey {
    IdempotencyKey::new(key).unwrap()
}

pub(crate) fn pts(points: i64) -> Points {
    Points::new(points).unwrap()
}

pub(crate) fn grant(name: &str, k: &str, points: i64) -> Command {
    Command::grant(id(name), key(k), pts(points))
}

pub(crate) fn redeem(name: &str, k: &str, points: i64) -> Command {
    Command::redeem(id(name), key(k), pts(points))
}

pub(crate) fn balance(store: &PointStore, name: &str) -> i64 {
    store.balance(&id(name)).get()
}

pub(crate) fn held(store: &PointStore) -> Dump {
    dump(store).unwrap()
}

pub(crate) fn applied(answer: Result<Outcome, ApplyError>) -> Outcome {
    let outcome = answer.unwrap();
    assert!(!outcome.is_replay(), "not a replay: {outcome:?}");
    outcome
}

pub(crate) fn replayed(answer: Result<Outcome, ApplyError>) -> Outcome {
    let outcome = answer.unwrap();
    assert!(outcome.is_replay(), "a replay: {outcome:?}");
    outcome
}

/// The refusal that a command gets, after which everything is as it was (I6).
pub(crate) fn refused(store: &PointStore, command: &Command) -> Refusal {
    let (before, position) = (held(store), store.position());
    let error = store.apply(command).unwrap_err();
    assert!(!error.is_transient());
    held(store).must_equal(&before, "after a refusal");
    assert_eq!(store.position(), position);
    let refusal = error.refusal().expect("a refusal").clone();
    assert!(matches!(refusal.kind(), ErrorKind::KeyReused | ErrorKind::Rejected));
    refusal
}
