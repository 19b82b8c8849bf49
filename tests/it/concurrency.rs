//! Many threads on one store: one effect a key, sums that add up, readers that see no ghosts (C14, I1, I8).
//!
//! Most of it runs on a simulated disk, where a group costs next to nothing and threads meet far more often.

mod failures;
mod keys;
mod readers;
mod sums;

use std::sync::Barrier;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pointstore::testing::SimDisk;
use pointstore::{AccountId, Balance, Builder, IdempotencyKey, PointStore, Points};

/// Longer than any of these tests can take, unless somebody waits for ever.
const PATIENCE: Duration = Duration::from_secs(180);

/// Runs `act`; if it never comes back, ends the whole program and says so.
pub(crate) fn watched<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let (done, hung) = mpsc::channel::<()>();
    let what = what.to_owned();
    let dog = thread::spawn(move || {
        if hung.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            eprintln!("somebody waits for ever: {what}");
            std::process::abort();
        }
    });
    let acted = act();
    drop(done);
    dog.join().unwrap();
    acted
}

/// To panic with: it panics once more when it is dropped.
pub(crate) struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a payload that panics");
    }
}

/// Runs `act` on so many threads, which all begin at once, and gives what they return, in order.
pub(crate) fn together<T: Send>(threads: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(threads);
    let (start, act) = (&start, &act);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|i| {
                scope.spawn(move || {
                    start.wait();
                    act(i)
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

pub(crate) fn account(name: impl AsRef<str>) -> AccountId {
    AccountId::new(name).unwrap()
}

pub(crate) fn key(text: impl AsRef<str>) -> IdempotencyKey {
    IdempotencyKey::new(text).unwrap()
}

pub(crate) fn points(points: i64) -> Points {
    Points::new(points).unwrap()
}

/// To build a store whose callers wait for longer than [`watched`] does: who is never woken looks by itself once the time
/// is up, and would not be missed.
pub(crate) fn patient() -> Builder {
    PointStore::builder().wait_at_most(PATIENCE.saturating_mul(2))
}

pub(crate) fn simulated(seed: u64) -> (SimDisk, PointStore) {
    let disk = SimDisk::new(seed);
    let store = patient().open_simulated(&disk).unwrap();
    (disk, store)
}

/// Reads everything there is and checks what must hold of any store; gives the sum of all balances.
///
/// I3: receipts are numbered without a gap, in the journal and in each account, each balance follows from the
/// one before, and the last one is the account's.
fn check_whole(store: &PointStore) -> i128 {
    let mut balances = std::collections::HashMap::<AccountId, (i64, u64)>::new();
    let mut keys = std::collections::HashSet::new();
    for (number, receipt) in (1..).zip(store.journal(0)) {
        let receipt = receipt.unwrap();
        assert_eq!(receipt.number(), number, "I3: the journal has no gap");
        let (balance, sequence) = balances.entry(receipt.account().clone()).or_default();
        *balance += signed(&receipt);
        *sequence += 1;
        assert_eq!((*balance, *sequence), (receipt.balance_after().get(), receipt.sequence()), "I3");
        let identity = (receipt.account().clone(), receipt.operation(), receipt.key().clone());
        assert!(keys.insert(identity), "I1: a key has one receipt");
    }
    assert_eq!(balances.len(), store.accounts().count());
    for (id, (balance, sequence)) in &balances {
        let account = store.account(id).unwrap();
        assert_eq!((account.balance().get(), account.sequence()), (*balance, *sequence), "I3");
        assert_eq!(store.balance(id), Balance::new(*balance).unwrap());
    }
    assert_eq!(store.verify().unwrap().entries(), keys.len() as u64);
    balances.values().map(|(balance, _)| i128::from(*balance)).sum()
}

/// The points of a receipt, below zero where they were redeemed.
fn signed(receipt: &pointstore::Receipt) -> i64 {
    match receipt.operation() {
        pointstore::Operation::Grant => receipt.points().get(),
        _ => -receipt.points().get(),
    }
}

/// A stream of numbers that a seed decides.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // Splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
