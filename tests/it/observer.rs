//! Who watches a store is told of everything once, and cannot hurt it (I8, I10).

use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use pointstore::testing::{Failure, SimDisk, Step};
use pointstore::{Answers, ErrorKind, Fault, ManualClock, Observer, PointStore, Timestamp, WrittenGroup};

use crate::cases::{applied, balance, grant, redeem, replayed};
use crate::concurrency::{self, Bomb};

/// What a watcher was told, in order.
#[derive(Debug, Default)]
struct Told {
    answers: Mutex<Vec<Answers>>,
    groups: Mutex<Vec<WrittenGroup>>,
    causes: Mutex<Vec<String>>,
}

impl Observer for Told {
    fn answered(&self, answers: &Answers) {
        self.answers.lock().unwrap().push(*answers);
    }

    fn group_written(&self, group: &WrittenGroup) {
        self.groups.lock().unwrap().push(*group);
    }

    fn poisoned(&self, cause: &Fault) {
        self.causes.lock().unwrap().push(cause.to_string());
    }
}

impl Told {
    /// All answers added up as far as the store's own counts go.
    fn sums(&self) -> [u64; 8] {
        let mut sums = [0; 8];
        for a in self.answers.lock().unwrap().iter() {
            let storage = a.not_attempted + a.outcome_unknown + a.unavailable + a.corrupt + a.closed;
            let all = [
                a.applied,
                a.replayed,
                a.key_reused,
                a.sequence_mismatch,
                a.insufficient_points,
                a.balance_overflow,
                a.invalid,
                storage,
            ];
            sums.iter_mut().zip(all).for_each(|(sum, n)| *sum += n);
        }
        sums
    }
}

fn watched(disk: &SimDisk) -> (PointStore, Arc<Told>) {
    let told = Arc::new(Told::default());
    (PointStore::builder().observer(Arc::clone(&told)).open_simulated(disk).unwrap(), told)
}

fn counted(store: &PointStore) -> [u64; 8] {
    let s = store.stats();
    [
        s.applied,
        s.replayed,
        s.key_reused,
        s.sequence_mismatch,
        s.insufficient_points,
        s.balance_overflow,
        s.invalid,
        s.storage_errors,
    ]
}

#[test]
fn what_is_told_adds_up_to_what_the_store_counts() {
    let disk = SimDisk::new(1);
    let (store, told) = watched(&disk);
    applied(store.apply(&grant("a", "k1", i64::MAX - 1)));
    replayed(store.apply(&grant("a", "k1", i64::MAX - 1)));
    store.apply(&grant("a", "k1", 5)).unwrap_err();
    store.apply(&grant("a", "k2", 2)).unwrap_err();
    store.apply(&redeem("b", "k", 1)).unwrap_err();
    store.apply(&grant("b", "k", 1).expecting(7)).unwrap_err();
    store.apply_each(&[grant("b", "k3", 1), grant("b", "k3", 1), redeem("b", "k4", 9)]);
    store.apply_atomic(&[grant("c", "k5", 1), grant("c", "k6", 1)]).unwrap();
    store.apply_atomic(&vec![grant("c", "k", 1); pointstore::ATOMIC_LIST_LEN_MAX + 1]).unwrap_err();
    disk.fill(true);
    store.apply(&grant("a", "k7", 1)).unwrap_err();
    disk.fill(false);
    store.close().unwrap();
    store.apply(&grant("a", "k8", 1)).unwrap_err();

    assert_eq!(counted(&store), [4, 2, 1, 1, 2, 1, 1, 2]);
    assert_eq!(told.sums(), counted(&store));
    // Once a call.
    assert_eq!(told.answers.lock().unwrap().len(), 11);
    let groups = told.groups.lock().unwrap();
    let counts = groups.iter().map(|group| (group.entries, group.requests));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 1), (1, 1), (2, 1)]);
    assert_eq!(groups.len() as u64, store.stats().groups);
    assert!(told.causes.lock().unwrap().is_empty());
}

#[test]
fn the_kinds_of_failures_are_told_apart_and_the_first_cause_is_told_once() {
    for (step, failure) in [
        (Step::Append, Failure::Before),
        (Step::Sync, Failure::After),
        (Step::Mark, Failure::Before),
        (Step::Sync, Failure::Panic),
    ] {
        let disk = SimDisk::new(2);
        let (store, told) = watched(&disk);
        applied(store.apply(&grant("a", "k1", 1)));
        disk.fail(step, failure);
        for kind in [ErrorKind::OutcomeUnknown, ErrorKind::Closed, ErrorKind::Closed] {
            assert_eq!(store.apply(&grant("a", "k2", 1)).unwrap_err().kind(), kind);
        }
        store.close().unwrap_err();
        let answers: Vec<_> =
            told.answers.lock().unwrap().iter().map(|a| [a.applied, a.outcome_unknown, a.closed]).collect();
        assert_eq!(answers, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]);
        assert_eq!(told.causes.lock().unwrap().len(), 1, "{step:?} {failure:?}");
        assert_eq!(told.groups.lock().unwrap().len(), 1);
    }
}

/// A clock that goes on by a second with each reading.
#[derive(Debug, Clone)]
struct Ticking(ManualClock);

impl pointstore::Clock for Ticking {
    fn wall(&self) -> Timestamp {
        self.0.wall()
    }

    fn monotonic(&self) -> Duration {
        self.0.advance(Duration::from_secs(1));
        self.0.monotonic()
    }
}

#[test]
fn each_step_of_a_group_is_measured_by_the_stores_clock() {
    let (disk, told) = (SimDisk::new(3), Arc::new(Told::default()));
    let clock = ManualClock::at(Timestamp::from_unix_millis(0));
    let builder = PointStore::builder().clock(Ticking(clock.clone())).observer(Arc::clone(&told));
    let store = builder.open_simulated(&disk).unwrap();
    applied(store.apply(&grant("a", "k", 1)));
    let group = told.groups.lock().unwrap()[0];
    let steps = [group.deciding, group.appending, group.syncing, group.marking];
    assert_eq!(steps, [Duration::from_secs(1); 4]);
    assert_eq!(group.committing(), Duration::from_secs(3));
}

/// A clock that holds whoever leads until it is let go.
#[derive(Debug, Clone, Default)]
struct Holding(Arc<(Mutex<bool>, Condvar)>);

impl Holding {
    fn hold(&self, hold: bool) {
        *self.0.0.lock().unwrap() = hold;
        self.0.1.notify_all();
    }
}

impl pointstore::Clock for Holding {
    fn wall(&self) -> Timestamp {
        let held = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(held, |held| *held).unwrap());
        Timestamp::from_unix_millis(1)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

#[test]
fn a_leader_that_hangs_is_told_of_by_whoever_gives_up_on_it() {
    let (disk, clock, told) = (SimDisk::new(7), Holding::default(), Arc::new(Told::default()));
    let builder = PointStore::builder().clock(clock.clone()).wait_at_most(Duration::ZERO);
    let store = builder.observer(Arc::clone(&told)).open_simulated(&disk).unwrap();
    clock.hold(true);
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            let (store, clock) = (&store, &clock);
            scope.spawn(move || {
                store.apply(&grant(name, "k", 1)).unwrap_err();
                // Let go by the first who gave up: until then one of them hangs.
                clock.hold(false);
            });
        }
    });
    assert_eq!(*told.causes.lock().unwrap(), ["no group was finished for as long as callers may wait"]);
    assert_eq!(told.groups.lock().unwrap().len(), 0);
}

#[test]
fn nothing_is_measured_where_nobody_watches() {
    let (disk, clock) = (SimDisk::new(4), ManualClock::at(Timestamp::from_unix_millis(0)));
    let store = PointStore::builder().clock(Ticking(clock.clone())).open_simulated(&disk).unwrap();
    let before = pointstore::Clock::monotonic(&clock);
    applied(store.apply(&grant("a", "k", 1)));
    assert_eq!(pointstore::Clock::monotonic(&clock), before);
}

/// Panics whatever it is told.
struct Panics;

impl Observer for Panics {
    fn answered(&self, _: &Answers) {
        panic!("a watcher that panics");
    }

    fn group_written(&self, _: &WrittenGroup) {
        panic!("a watcher that panics");
    }

    fn poisoned(&self, _: &Fault) {
        panic!("a watcher that panics");
    }
}

#[test]
fn a_watcher_that_panics_changes_nothing() {
    let disk = SimDisk::new(5);
    let store = PointStore::builder().observer(Panics).open_simulated(&disk).unwrap();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let store = &store;
            scope.spawn(move || {
                for n in 0..25 {
                    applied(store.apply(&grant(name, &format!("k{n}"), 1)));
                }
            });
        }
    });
    assert_eq!(["a", "b", "c", "d"].map(|name| balance(&store, name)), [25; 4]);
    disk.fail(Step::Sync, Failure::After);
    assert_eq!(store.apply(&grant("a", "last", 1)).unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(store.apply(&grant("a", "later", 1)).unwrap_err().kind(), ErrorKind::Closed);
    store.close().unwrap_err();
}

/// Panics with what panics again when it is dropped.
struct Bombs;

impl Observer for Bombs {
    fn answered(&self, _: &Answers) {
        panic_any(Bomb);
    }

    fn group_written(&self, _: &WrittenGroup) {
        panic_any(Bomb);
    }
}

// What it panicked with was dropped outside of what catches panics, and so came out at the caller.
#[test]
fn a_watcher_that_panics_with_what_panics_again_changes_nothing() {
    let disk = SimDisk::new(5);
    let store = PointStore::builder().observer(Bombs).open_simulated(&disk).unwrap();
    applied(store.apply(&grant("a", "first", 1)));
    applied(store.apply(&grant("a", "second", 1)));
    assert_eq!(balance(&store, "a"), 2);
    store.close().unwrap();
}

/// A clock that panics on cue, with what panics again when it is dropped.
#[derive(Debug, Default)]
struct BadClock(AtomicBool);

impl pointstore::Clock for BadClock {
    fn wall(&self) -> Timestamp {
        if self.0.load(Ordering::SeqCst) {
            panic_any(Bomb);
        }
        Timestamp::from_unix_millis(0)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

#[test]
fn a_clock_that_panics_with_what_panics_again_fails_the_store_and_not_the_caller() {
    let (disk, clock) = (SimDisk::new(6), Arc::new(BadClock::default()));
    let store = PointStore::builder().clock(Arc::clone(&clock)).open_simulated(&disk).unwrap();
    applied(store.apply(&grant("a", "first", 1)));
    clock.0.store(true, Ordering::SeqCst);
    let answer = concurrency::watched("a caller", || store.apply(&grant("a", "second", 1)));
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::NotAttempted);
    assert_eq!(store.apply(&grant("a", "third", 1)).unwrap_err().kind(), ErrorKind::Closed);
    store.close().unwrap_err();
}

/// Asks the store that it watches, which would wait for ever if anything of it were held meanwhile.
#[derive(Default)]
struct Asks(Mutex<Option<PointStore>>, Mutex<Vec<i64>>);

impl Observer for Asks {
    fn group_written(&self, _: &WrittenGroup) {
        let store = self.0.lock().unwrap().take();
        if let Some(store) = store {
            applied(store.apply(&grant("b", "from the watcher", 7)));
            self.1.lock().unwrap().push(balance(&store, "b"));
        }
    }
}

#[test]
fn a_watcher_may_use_the_store_while_it_is_told() {
    let (disk, asks) = (SimDisk::new(6), Arc::new(Asks::default()));
    let store = PointStore::builder().observer(Arc::clone(&asks)).open_simulated(&disk).unwrap();
    *asks.0.lock().unwrap() = Some(store.clone());
    applied(store.apply(&grant("a", "k", 1)));
    assert_eq!(*asks.1.lock().unwrap(), [7]);
}
