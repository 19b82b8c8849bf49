//! Acknowledgements that get lost on cue, and panics between the store and its callers (I1, I4, C01).

use std::collections::HashSet;
use std::future::Future;
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use pointstore::testing::{LostAcks, SimDisk};
use pointstore::worker::{Doubt, Worker, WorkerError};
use pointstore::{ErrorKind, PointStore};

use super::{applied, gated, grant, held, in_time, poll_once, replayed};
use crate::concurrency::Bomb;

fn losing(acks: &LostAcks, seed: u64) -> Worker {
    let (_disk, _gate, store) = gated(seed);
    Worker::builder(store).lose_acks(acks).spawn().unwrap()
}

// C01
#[test]
fn c01_a_lost_acknowledgement_leaves_its_effect_and_the_retry_gets_its_receipt() {
    let acks = LostAcks::new();
    let worker = losing(&acks, 60);
    in_time(|| {
        acks.lose_next(2);
        for _ in 0..2 {
            let error = worker.apply_blocking(grant("k")).unwrap_err();
            assert_eq!(error, WorkerError::OutcomeUnknown(Doubt::Lost));
            assert!(error.kind() == ErrorKind::OutcomeUnknown && error.is_transient());
            assert_eq!(worker.store().stats().receipts, 1, "it is there, and once");
        }
        let retry = replayed(worker.apply_blocking(grant("k")));
        assert_eq!(retry.receipt().balance_after().get(), 1);
        applied(worker.apply_blocking(grant("next")));
    });
    assert_eq!((acks.lost(), worker.stats().in_doubt, worker.stats().answered), (2, 2, 4));
}

#[test]
fn only_the_acknowledgements_that_are_picked_get_lost() {
    let acks = LostAcks::new();
    let worker = losing(&acks, 61);
    let seen = Mutex::new(HashSet::new());
    // The first attempt of every other key.
    acks.lose_where(move |command| {
        let key = command.key().as_str().to_owned();
        key.ends_with('1') && seen.lock().unwrap().insert(key)
    });
    in_time(|| {
        for i in 0..20 {
            let (odd, k) = (i % 2 == 1, format!("k{i}-{}", i % 2));
            let first = worker.apply_blocking(grant(&k));
            assert_eq!(first.is_err(), odd, "{k}");
            assert_eq!(worker.apply_blocking(grant(&k)).unwrap().receipt().number(), i + 1);
        }
    });
    assert_eq!((acks.lost(), worker.store().stats().receipts), (10, 20));
}

// An answer *closed*, which the worker keeps until it has opened the store again, was lost in the place of one that is
// told.
#[test]
fn what_waits_for_a_store_that_is_opened_again_loses_its_answer_when_it_comes() {
    let (disk, acks) = (SimDisk::new(67), LostAcks::new());
    let store = PointStore::builder().open_simulated(&disk).unwrap();
    let worker = Worker::builder(store.clone())
        .lose_acks(&acks)
        .on_poisoned(move |_, _| PointStore::builder().create(false).open_simulated(&disk))
        .spawn()
        .unwrap();
    store.close().unwrap();
    acks.lose_next(1);
    in_time(|| {
        assert_eq!(worker.apply_blocking(grant("k")), Err(WorkerError::OutcomeUnknown(Doubt::Lost)));
        replayed(worker.apply_blocking(grant("k")));
    });
    assert_eq!((acks.lost(), worker.stats().reopened), (1, 1));
}

#[test]
fn a_caller_who_hears_nothing_has_its_limit_or_the_end_of_the_worker() {
    let acks = LostAcks::new();
    let worker = losing(&acks, 62);
    acks.keep_silent(true);
    acks.lose_where(|_| true);
    in_time(|| {
        let mut limit = Duration::from_millis(2);
        let error = loop {
            match worker.apply_blocking_within(grant("k"), limit).unwrap_err() {
                WorkerError::Expired => limit *= 2,
                error => break error,
            }
        };
        assert_eq!(error, WorkerError::OutcomeUnknown(Doubt::Expired));
        let patient = worker.try_apply(grant("patient")).unwrap();
        worker.shutdown_blocking();
        assert_eq!(patient.wait(), Err(WorkerError::OutcomeUnknown(Doubt::Lost)));
    });
    let store = worker.store();
    assert!(store.apply(&grant("k")).unwrap().is_replay());
    assert!(store.apply(&grant("patient")).unwrap().is_replay());
    assert_eq!(worker.stats().accepted, worker.stats().answered);
}

#[test]
fn a_panic_in_a_delivery_is_that_deliverys_answer_and_the_worker_goes_on() {
    let (_disk, gate, store) = gated(63);
    let acks = LostAcks::new();
    acks.lose_where(|command| match command.key().as_str() {
        "bad" => panic!("between the store and the answer"),
        _ => false,
    });
    let worker = Worker::builder(store).lose_acks(&acks).spawn().unwrap();
    in_time(|| {
        let held = held(&gate, &worker);
        let together = ["beside", "bad", "behind"].map(|k| worker.try_apply(grant(k)).unwrap());
        gate.open();
        applied(held.wait());
        for ticket in together {
            assert_eq!(ticket.wait(), Err(WorkerError::OutcomeUnknown(Doubt::Panicked)));
        }
        replayed(worker.apply_blocking(grant("beside")));
        replayed(worker.apply_blocking(grant("behind")));
        applied(worker.apply_blocking(grant("next")));
    });
    assert_eq!(worker.stats().in_doubt, 3);
}

/// A waker that asks for the counts and then panics: a runtime at its worst.
struct Meddles(Worker);

impl Wake for Meddles {
    fn wake(self: Arc<Self>) {
        panic!("a runtime that panics {:?}", self.0.stats());
    }
}

fn meddled<T>(future: &mut (impl Future<Output = T> + Unpin), worker: &Worker) -> Poll<T> {
    let waker = Waker::from(Arc::new(Meddles(worker.clone())));
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

#[test]
fn a_caller_whose_waker_panics_harms_nobody_else() {
    let (_disk, gate, store) = gated(64);
    let worker = Worker::builder(store).spawn().unwrap();
    let held = held(&gate, &worker);
    let mut bad = Box::pin(worker.apply(grant("bad")));
    assert!(meddled(&mut bad, &worker).is_pending());
    let good = worker.try_apply(grant("good")).unwrap();
    gate.open();
    in_time(|| {
        applied(held.wait());
        applied(good.wait());
        applied(smol::block_on(bad));
        applied(worker.apply_blocking(grant("next")));
    });
}

// The worker's thread wakes whoever waits for room when it takes a command: the first of a batch, and those behind it.
// A panic there ended the worker with the whole batch in doubt, and asking for the counts stopped it for good.
#[test]
fn a_waker_that_panics_when_there_is_room_ends_neither_a_batch_nor_the_worker() {
    let (_disk, gate, store) = gated(65);
    let worker = Worker::builder(store).capacity(2).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued = ["q0", "q1"].map(|k| worker.try_apply(grant(k)).unwrap());
    let mut bad = ["b0", "b1", "b2"].map(|k| Box::pin(worker.apply(grant(k))));
    assert!(bad.iter_mut().all(|bad| meddled(bad, &worker).is_pending()));
    gate.open();
    in_time(|| {
        applied(held.wait());
        queued.into_iter().for_each(|ticket| drop(applied(ticket.wait())));
        bad.into_iter().for_each(|bad| drop(applied(smol::block_on(bad))));
        applied(worker.apply_blocking(grant("next")));
    });
    assert_eq!((worker.stats().in_doubt, worker.stats().accepted), (0, 7));
}

#[test]
fn wakers_that_panic_keep_no_shutdown_from_ending() {
    let (_disk, gate, store) = gated(66);
    let worker = Worker::builder(store).capacity(1).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued = worker.try_apply(grant("queued")).unwrap();
    let mut waiting = Box::pin(worker.apply(grant("waiting")));
    assert!(meddled(&mut waiting, &worker).is_pending());
    in_time(|| {
        // This wakes the one who waits for room, and the end wakes both who wait for it.
        let mut bad = Box::pin(worker.shutdown());
        assert!(meddled(&mut bad, &worker).is_pending());
        let mut good = Box::pin(worker.shutdown());
        assert!(poll_once(&mut good).is_pending());
        assert_eq!(smol::block_on(waiting), Err(WorkerError::Closed));
        gate.open();
        smol::block_on(good);
        smol::block_on(bad);
        applied(held.wait());
        applied(queued.wait());
    });
}

/// A waker that panics with what panics again when it is dropped.
struct Bombs;

impl Wake for Bombs {
    fn wake(self: Arc<Self>) {
        panic_any(Bomb);
    }
}

// What was panicked with was dropped outside of what catches panics: it ended the thread that wakes at limits, and that
// of the worker with whoever was in its hands.
#[test]
fn a_waker_that_panics_with_what_panics_again_ends_no_thread() {
    let (_disk, gate, store) = gated(67);
    let worker = Worker::builder(store).capacity(2).spawn().unwrap();
    let limit = Duration::from_millis(50);
    let waker = Waker::from(Arc::new(Bombs));
    let mut context = Context::from_waker(&waker);
    in_time(|| {
        let held = held(&gate, &worker);
        // The one is woken by its limit; the others by their answer, and by the room that there is then.
        let mut late = Box::pin(worker.apply_within(grant("late"), limit));
        let mut queued = Box::pin(worker.apply(grant("queued")));
        let mut waiting = Box::pin(worker.apply(grant("waiting")));
        assert!(late.as_mut().poll(&mut context).is_pending());
        assert!(queued.as_mut().poll(&mut context).is_pending());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        // Limits still hold behind it: this one waits for room, and is woken after the other.
        assert_eq!(worker.apply_blocking_within(grant("later"), 2 * limit), Err(WorkerError::Expired));
        gate.open();
        applied(held.wait());
        applied(smol::block_on(queued));
        applied(smol::block_on(waiting));
        assert_eq!(smol::block_on(late), Err(WorkerError::Expired));
        applied(worker.apply_blocking(grant("next")));
        worker.shutdown_blocking();
    });
    assert_eq!(worker.stats().in_doubt, 0);
}

#[test]
fn lost_acknowledgements_are_told_on_a_real_store_too() {
    let acks = LostAcks::new();
    let worker = Worker::builder(PointStore::temporary().unwrap()).lose_acks(&acks).spawn().unwrap();
    acks.lose_next(1);
    in_time(|| {
        assert!(worker.apply_blocking(grant("k")).is_err());
        replayed(worker.apply_blocking(grant("k")));
    });
}
