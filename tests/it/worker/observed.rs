//! What an observer of a worker is told: every step once, with no lock held, and whatever it does harms nobody.

use std::panic::panic_any;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use pointstore::testing::LostAcks;
use pointstore::worker::{Doubt, Worker, WorkerError, WorkerObserver, WorkerStats};

use super::{Gate, applied, gated, grant, held, in_time};
use crate::concurrency::{Bomb, together};

/// Everything that was told.
#[derive(Debug, Default, Clone, PartialEq)]
struct Told {
    accepted: u64,
    busy: u64,
    batches: Vec<Vec<Duration>>,
    expired: u64,
    in_doubt: Vec<(Doubt, usize)>,
    reopened: Vec<bool>,
}

/// Writes it down.
#[derive(Debug, Default)]
struct Notes(Mutex<Told>);

impl Notes {
    fn told(&self) -> Told {
        self.0.lock().unwrap().clone()
    }
}

impl WorkerObserver for Notes {
    fn accepted(&self) {
        self.0.lock().unwrap().accepted += 1;
    }

    fn busy(&self) {
        self.0.lock().unwrap().busy += 1;
    }

    fn taken(&self, waits: &[Duration]) {
        self.0.lock().unwrap().batches.push(waits.to_vec());
    }

    fn expired(&self, commands: usize) {
        self.0.lock().unwrap().expired += commands as u64;
    }

    fn in_doubt(&self, doubt: Doubt, commands: usize) {
        self.0.lock().unwrap().in_doubt.push((doubt, commands));
    }

    fn reopened(&self, succeeded: bool) {
        self.0.lock().unwrap().reopened.push(succeeded);
    }
}

fn watched(seed: u64) -> (Arc<Notes>, Gate, Worker) {
    let (_disk, gate, store) = gated(seed);
    let notes = Arc::new(Notes::default());
    let worker = Worker::builder(store).capacity(3).observer(Arc::clone(&notes)).spawn().unwrap();
    (notes, gate, worker)
}

#[test]
fn what_queues_is_told_of_while_the_store_hangs_and_how_long_it_waited_once_it_goes_on() {
    let (notes, gate, worker) = watched(90);
    let held = held(&gate, &worker);
    let queued: Vec<_> = (0..3).map(|i| worker.try_apply(grant(format!("q{i}"))).unwrap()).collect();
    worker.try_apply(grant("busy")).unwrap_err();
    let told = notes.told();
    assert_eq!((told.accepted, told.busy, told.batches.len(), told.batches[0].len()), (4, 1, 1, 1));
    gate.open();
    in_time(|| {
        applied(held.wait());
        queued.into_iter().for_each(|ticket| drop(applied(ticket.wait())));
    });
    let batches = notes.told().batches;
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [1, 3]);
    // In the order in which they came: who came first has waited longest.
    assert!(batches[1].is_sorted_by(|one, next| one >= next), "{:?}", batches[1]);
    assert!(batches[1][2] > Duration::ZERO);
}

#[test]
fn waiting_for_room_is_waiting() {
    let (notes, gate, worker) = watched(91);
    let held = held(&gate, &worker);
    let queued: Vec<_> = (0..3).map(|i| worker.try_apply(grant(format!("q{i}"))).unwrap()).collect();
    let waiting = super::begun(&worker, "waiting");
    assert_eq!(notes.told().accepted, 4);
    let begun = pointstore::Clock::monotonic(&pointstore::SystemClock);
    gate.open();
    in_time(|| {
        applied(held.wait());
        queued.into_iter().for_each(|ticket| drop(applied(ticket.wait())));
        // It has its room only now, when it is polled again.
        let least = pointstore::Clock::monotonic(&pointstore::SystemClock) - begun;
        applied(smol::block_on(waiting));
        let batches = notes.told().batches;
        assert_eq!(batches.last().map(Vec::len), Some(1));
        assert!(batches.last().unwrap()[0] >= least, "{batches:?} {least:?}");
    });
}

#[test]
fn every_doubt_is_told_with_its_reason() {
    let (_disk, gate, store) = gated(92);
    let (notes, acks) = (Arc::new(Notes::default()), LostAcks::new());
    let worker = Worker::builder(store).lose_acks(&acks).observer(Arc::clone(&notes)).spawn().unwrap();
    in_time(|| {
        acks.lose_next(1);
        worker.apply_blocking(grant("lost")).unwrap_err();
        acks.lose_where(|command| match command.key().as_str() {
            "panics" => panic!("between the store and the answer"),
            _ => false,
        });
        worker.apply_blocking(grant("panics")).unwrap_err();
        gate.shut();
        let mut limit = Duration::from_millis(2);
        while worker.apply_blocking_within(grant("slow"), limit) == Err(WorkerError::Expired) {
            limit *= 2;
        }
        gate.open();
        worker.apply_blocking(grant("slow")).unwrap();
        let stopped = held(&gate, &worker);
        assert!(!worker.shutdown_blocking_within(Duration::from_millis(1)).is_complete());
        stopped.wait().unwrap_err();
        gate.open();
        worker.shutdown_blocking();
    });
    let told = notes.told();
    let doubts = [Doubt::Lost, Doubt::Panicked, Doubt::Expired, Doubt::Stopped];
    assert_eq!(told.in_doubt, doubts.map(|doubt| (doubt, 1)));
    assert_eq!((told.expired, worker.stats().in_doubt), (worker.stats().expired, 4));
}

// A caller whose limit was over was counted once more when the worker was stopped, and so was one that had gone away.
#[test]
fn a_caller_that_was_told_before_or_went_away_is_not_counted_as_told() {
    for (seed, goes_away) in [(95, false), (96, true)] {
        let (notes, gate, worker) = watched(seed);
        in_time(|| {
            if goes_away {
                drop(held(&gate, &worker));
            } else {
                gate.shut();
                let mut limit = Duration::from_millis(2);
                while worker.apply_blocking_within(grant("slow"), limit) == Err(WorkerError::Expired) {
                    limit *= 2;
                }
            }
            let stopped = worker.shutdown_blocking_within(Duration::from_millis(1));
            assert_eq!((stopped.not_attempted, stopped.in_doubt), (0, 1));
            gate.open();
            worker.shutdown_blocking();
        });
        let told = if goes_away { vec![] } else { vec![(Doubt::Expired, 1)] };
        assert_eq!((worker.stats().in_doubt, notes.told().in_doubt), (told.len() as u64, told));
    }
}

#[test]
fn what_was_told_adds_up_to_what_is_counted() {
    for seed in 0..10 {
        let (_disk, _gate, store) = gated(930 + seed);
        let notes = Arc::new(Notes::default());
        let builder = Worker::builder(store).capacity(4).batch_at_most(3);
        let worker = builder.observer(Arc::clone(&notes)).spawn().unwrap();
        in_time(|| {
            together(8, |thread| {
                for i in 0..50 {
                    let command = grant(format!("{thread}-{i}"));
                    match (thread + i) % 3 {
                        0 => drop(worker.apply_blocking(command)),
                        1 => drop(worker.try_apply(command)),
                        _ => {
                            drop(worker.apply_blocking_within(command, Duration::from_micros(20 * i as u64)))
                        }
                    }
                    if thread == 7 && i == 40 {
                        let _ = worker.shutdown_blocking_within(Duration::from_micros(seed * 10));
                    }
                }
            });
            worker.shutdown_blocking();
        });
        let (told, stats) = (notes.told(), worker.stats());
        let given: usize = told.batches.iter().map(Vec::len).sum();
        assert_eq!((told.accepted, told.busy, told.expired), (stats.accepted, stats.busy, stats.expired));
        assert_eq!(told.accepted, told.expired + given as u64, "nobody is left in the queue");
        assert_eq!(told.batches.len() as u64, stats.batches);
        assert_eq!(told.in_doubt.iter().map(|(_, n)| *n as u64).sum::<u64>(), stats.in_doubt);
        assert!(given > 0 && told.batches.iter().all(|batch| (1..=3).contains(&batch.len())));
    }
}

/// Asks the worker back, wherever it is called.
#[derive(Default)]
struct Curious {
    worker: OnceLock<Mutex<Option<Worker>>>,
    seen: Mutex<Vec<WorkerStats>>,
}

impl Curious {
    fn look(&self) {
        let worker = self.worker.get().and_then(|worker| worker.lock().unwrap().clone());
        if let Some(worker) = worker {
            drop(worker.store());
            let stats = worker.stats();
            self.seen.lock().unwrap().push(stats);
        }
    }
}

impl WorkerObserver for Curious {
    fn accepted(&self) {
        self.look();
    }

    fn busy(&self) {
        self.look();
    }

    fn taken(&self, _: &[Duration]) {
        self.look();
    }

    fn expired(&self, _: usize) {
        self.look();
    }

    fn in_doubt(&self, _: Doubt, _: usize) {
        self.look();
    }
}

#[test]
fn no_lock_is_held_while_an_observer_is_told() {
    let (_disk, gate, store) = gated(94);
    let curious = Arc::new(Curious::default());
    let worker = Worker::builder(store).capacity(1).observer(Arc::clone(&curious)).spawn().unwrap();
    curious.worker.set(Mutex::new(Some(worker.clone()))).unwrap();
    in_time(|| {
        let held = held(&gate, &worker);
        let queued = worker.try_apply(grant("queued")).unwrap();
        worker.try_apply(grant("busy")).unwrap_err();
        let stopped = worker.shutdown_blocking_within(Duration::from_millis(1));
        assert_eq!((stopped.not_attempted, stopped.in_doubt), (1, 1));
        gate.open();
        worker.shutdown_blocking();
        held.wait().unwrap_err();
        queued.wait().unwrap_err();
    });
    // Two accepted, one busy, one batch, one in doubt, one expired.
    assert_eq!(curious.seen.lock().unwrap().len(), 6);
    curious.worker.get().unwrap().lock().unwrap().take();
}

/// Panics with what panics again when it is dropped.
struct Bombs;

impl WorkerObserver for Bombs {
    fn accepted(&self) {
        panic_any(Bomb);
    }

    fn taken(&self, _: &[Duration]) {
        panic_any(Bomb);
    }
}

// It ended the worker's thread, and came out at the callers.
#[test]
fn an_observer_that_panics_with_what_panics_again_harms_nobody() {
    let (_disk, _gate, store) = gated(97);
    let worker = Worker::builder(store).observer(Bombs).spawn().unwrap();
    in_time(|| {
        applied(worker.apply_blocking(grant("first")));
        applied(worker.apply_blocking(grant("second")));
        worker.shutdown_blocking();
    });
    assert_eq!((worker.stats().batches, worker.stats().in_doubt), (2, 0));
}

/// Panics, wherever it is called.
struct Panics(Weak<()>);

impl Panics {
    fn panic(&self) -> ! {
        panic!("an observer that panics, of {} others", self.0.strong_count())
    }
}

impl WorkerObserver for Panics {
    fn accepted(&self) {
        self.panic()
    }

    fn busy(&self) {
        self.panic()
    }

    fn taken(&self, _: &[Duration]) {
        self.panic()
    }

    fn expired(&self, _: usize) {
        self.panic()
    }

    fn in_doubt(&self, _: Doubt, _: usize) {
        self.panic()
    }

    fn reopened(&self, _: bool) {
        self.panic()
    }
}

#[test]
fn an_observer_that_panics_harms_nobody_and_is_gone_with_the_worker() {
    let (disk, gate, store) = gated(95);
    let alive = Arc::new(());
    let again = disk.clone();
    let worker = Worker::builder(store.clone())
        .capacity(1)
        .observer(Panics(Arc::downgrade(&alive)))
        .on_poisoned(move |_, _| pointstore::PointStore::builder().create(false).open_simulated(&again))
        .spawn()
        .unwrap();
    in_time(|| {
        let held = held(&gate, &worker);
        let queued = worker.try_apply(grant("queued")).unwrap();
        assert_eq!(worker.try_apply(grant("busy")).unwrap_err(), WorkerError::Busy { capacity: 1 });
        gate.open();
        applied(held.wait());
        applied(queued.wait());
        store.close().unwrap();
        applied(worker.apply_blocking(grant("next")));
        worker.shutdown_blocking();
        drop(worker);
        // The worker's thread has let go of it, too, or is about to.
        while Arc::weak_count(&alive) > 0 {
            std::thread::yield_now();
        }
    });
}
