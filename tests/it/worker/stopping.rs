//! Shutting down in every state: each accepted command is answered, each later one is told *closed*, nobody hangs (C11).

use std::time::Duration;

use pointstore::worker::{Doubt, Stopped, Worker, WorkerError, WorkerObserver};
use pointstore::{Clock, ErrorKind};

use super::{Answer, Gate, applied, begun, gated, grant, held, in_time, poll_once, replayed};
use crate::concurrency::together;

/// Everything that can be asked of a worker is answered with *closed*.
fn check_closed(worker: &Worker) {
    let limit = Duration::from_secs(60);
    let answers: [Answer; 5] = [
        worker.apply_blocking(grant("later")),
        worker.apply_blocking_within(grant("later"), limit),
        worker.apply_blocking_within(grant("later"), Duration::ZERO),
        smol::block_on(worker.apply(grant("later"))),
        worker.try_apply(grant("later")).map(|ticket| panic!("accepted: {ticket:?}")),
    ];
    for answer in answers {
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), &error), (ErrorKind::Closed, &WorkerError::Closed));
        assert!(!error.needs_reopen(), "the store is well");
    }
}

#[test]
fn c11_with_a_full_queue_a_delivery_and_callers_waiting_for_room_everybody_is_answered() {
    let (_disk, gate, store) = gated(30);
    let worker = Worker::builder(store.clone()).capacity(3).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued: Vec<_> = (0..3).map(|i| worker.try_apply(grant(format!("q{i}"))).unwrap()).collect();
    let waiting: Vec<_> = (0..5).map(|i| begun(&worker, format!("w{i}"))).collect();
    in_time(|| {
        let mut shutdown = Box::pin(worker.shutdown());
        assert!(poll_once(&mut shutdown).is_pending(), "a delivery is running");
        // While it is still at work: those who wait for room, and those who come later.
        for apply in waiting {
            assert_eq!(smol::block_on(apply), Err(WorkerError::Closed));
        }
        check_closed(&worker);
        gate.open();
        smol::block_on(shutdown);
        applied(held.wait());
        queued.into_iter().for_each(|ticket| drop(applied(ticket.wait())));
    });
    assert_eq!((worker.stats().accepted, worker.stats().answered), (4, 4));
    for i in 0..5 {
        assert!(!store.apply(&grant(format!("w{i}"))).unwrap().is_replay(), "closed means not attempted");
    }
    assert!(!store.apply(&grant("later")).unwrap().is_replay());
}

#[test]
fn c11_an_idle_worker_ends_however_often_and_from_wherever_it_is_asked() {
    let (_disk, _gate, store) = gated(31);
    let worker = Worker::builder(store.clone()).spawn().unwrap();
    in_time(|| {
        together(8, |i| match i % 4 {
            0 => smol::block_on(worker.shutdown()),
            1 => worker.clone().shutdown_blocking(),
            2 => assert!(worker.shutdown_blocking_within(Duration::from_secs(60)).is_complete()),
            _ => assert!(smol::block_on(worker.shutdown_within(Duration::MAX)).is_complete()),
        });
        check_closed(&worker);
        worker.shutdown_blocking();
        assert!(worker.shutdown_blocking_within(Duration::ZERO).is_complete(), "it has ended before");
    });
    // The store is whoever's it was.
    assert!(!store.apply(&grant("k")).unwrap().is_replay());
    store.close().unwrap();
}

#[test]
fn c11_a_shutdown_whose_time_is_over_answers_everybody_with_what_is_known() {
    let (_disk, gate, store) = gated(32);
    let worker = Worker::builder(store.clone()).capacity(3).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued: Vec<_> = (0..3).map(|i| worker.try_apply(grant(format!("q{i}"))).unwrap()).collect();
    let waiting = begun(&worker, "waiting");
    in_time(|| {
        // The store hangs all the while.
        let stopped = worker.shutdown_blocking_within(Duration::from_millis(1));
        assert!(!stopped.is_complete());
        let Stopped { not_attempted, in_doubt, .. } = stopped;
        assert_eq!((not_attempted, in_doubt), (3, 1));
        assert_eq!(held.wait(), Err(WorkerError::OutcomeUnknown(Doubt::Stopped)));
        for ticket in queued {
            assert_eq!(ticket.wait(), Err(WorkerError::Expired));
        }
        assert_eq!(smol::block_on(waiting), Err(WorkerError::Closed));
        check_closed(&worker);
        assert_eq!((worker.stats().accepted, worker.stats().answered), (4, 4));
        gate.open();
        worker.shutdown_blocking();
    });
    for i in 0..3 {
        assert!(!store.apply(&grant(format!("q{i}"))).unwrap().is_replay(), "not attempted");
    }
    assert!(store.apply(&grant("held")).unwrap().is_replay(), "it happened, as it may");
}

/// Holds the worker's thread while it has commands in hand that it has not answered yet.
struct InHand(Gate);

impl WorkerObserver for InHand {
    fn expired(&self, _: usize) {
        self.0.wall();
    }
}

// The time is over while the worker's thread has a command between the queue and its answer: neither of the counts has
// it, and they said that everything had been worked off.
#[test]
fn c11_a_shutdown_whose_time_is_over_is_not_complete_though_it_found_nobody_to_answer() {
    let (_disk, gate, store) = gated(36);
    let in_hand = Gate::default();
    let worker = Worker::builder(store).observer(InHand(in_hand.clone())).spawn().unwrap();
    in_time(|| {
        let held = held(&gate, &worker);
        let late = worker.apply_blocking_within(grant("late"), Duration::from_millis(1));
        assert_eq!(late, Err(WorkerError::Expired));
        in_hand.shut();
        gate.open();
        applied(held.wait());
        in_hand.wait_until_held();
        let stopped = worker.shutdown_blocking_within(Duration::from_millis(1));
        assert_eq!((stopped.not_attempted, stopped.in_doubt), (0, 0));
        assert!(!stopped.is_complete());
        in_hand.open();
        worker.shutdown_blocking();
        assert!(worker.shutdown_blocking_within(Duration::ZERO).is_complete());
    });
}

#[test]
fn c11_a_shutdown_that_nobody_waits_for_still_ends_the_worker() {
    let (_disk, gate, store) = gated(33);
    let worker = Worker::builder(store).spawn().unwrap();
    let held = held(&gate, &worker);
    let mut shutdown = Box::pin(worker.shutdown());
    assert!(poll_once(&mut shutdown).is_pending());
    drop(shutdown);
    gate.open();
    in_time(|| {
        applied(held.wait());
        worker.shutdown_blocking();
        check_closed(&worker);
    });
}

#[test]
fn c11_dropping_the_last_handle_waits_for_nobody_and_loses_nothing() {
    let (_disk, gate, store) = gated(34);
    let worker = Worker::builder(store.clone()).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued = worker.try_apply(grant("queued")).unwrap();
    let unheard = worker.try_apply(grant("unheard")).unwrap();
    let clone = worker.clone();
    in_time(|| {
        // The store hangs: were this to wait for it, it never came back.
        drop(worker);
        drop(unheard);
        let later = clone.try_apply(grant("by the clone")).unwrap();
        drop(clone);
        gate.open();
        applied(held.wait());
        applied(queued.wait());
        applied(later.wait());
    });
    assert!(store.apply(&grant("unheard")).unwrap().is_replay(), "accepted before the last one");
}

#[test]
fn c11_a_shutdown_amid_callers_answers_each_of_them_and_says_the_truth() {
    for seed in 0..20 {
        let (_disk, _gate, store) = gated(350 + seed);
        let worker = Worker::builder(store.clone()).capacity(4).batch_at_most(8).spawn().unwrap();
        let answers = in_time(|| {
            together(12, |thread| {
                if thread == 11 {
                    while worker.stats().answered < 10 * seed {
                        std::thread::yield_now();
                    }
                    match seed % 2 {
                        0 => worker.shutdown_blocking(),
                        _ => drop(worker.shutdown_blocking_within(Duration::from_micros(seed))),
                    }
                    return Vec::new();
                }
                let mut answers = Vec::new();
                for i in 0.. {
                    let command = grant(format!("{thread}-{i}"));
                    let answer = worker.apply_blocking(command.clone());
                    let ended = answer.is_err();
                    answers.push((command, answer));
                    if ended {
                        break;
                    }
                }
                answers
            })
        });
        in_time(|| worker.shutdown_blocking());
        for (command, answer) in answers.into_iter().flatten() {
            let again = store.apply(&command).unwrap();
            match answer {
                Ok(outcome) => assert_eq!(again.receipt(), outcome.receipt(), "I7"),
                Err(error) => match error.kind() {
                    ErrorKind::OutcomeUnknown => drop(replayed(Ok(again))),
                    ErrorKind::Closed | ErrorKind::NotAttempted => drop(applied(Ok(again))),
                    other => panic!("{other}: {error}"),
                },
            }
        }
        let stats = worker.stats();
        assert_eq!((stats.queued, stats.delivering, stats.accepted), (0, 0, stats.answered));
    }
}
