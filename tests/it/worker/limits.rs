//! Limits: what is over before the store is given a command, and after (C10, I6).

use std::time::Duration;

use pointstore::ErrorKind;
use pointstore::worker::{Doubt, Worker, WorkerError};

use super::{applied, gated, grant, held, in_time, replayed};
use crate::concurrency::together;

/// Soon over: nothing but this test's own patience hangs on it.
const SOON: Duration = Duration::from_millis(2);

#[test]
fn a_limit_that_is_over_in_the_queue_means_that_nothing_was_attempted() {
    let (_disk, gate, store) = gated(20);
    let worker = Worker::builder(store.clone()).spawn().unwrap();
    let held = held(&gate, &worker);
    in_time(|| {
        let error = worker.apply_blocking_within(grant("k"), SOON).unwrap_err();
        assert_eq!((error.kind(), error), (ErrorKind::NotAttempted, WorkerError::Expired));
        gate.open();
        applied(held.wait());
        worker.shutdown_blocking();
    });
    assert!(!store.apply(&grant("k")).unwrap().is_replay(), "it was not attempted");
    assert_eq!((worker.stats().expired, worker.stats().accepted, worker.stats().answered), (1, 2, 2));
}

#[test]
fn a_limit_that_is_over_while_waiting_for_room_means_that_nothing_was_accepted() {
    let (_disk, gate, store) = gated(21);
    let worker = Worker::builder(store.clone()).capacity(1).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued = worker.try_apply(grant("queued")).unwrap();
    in_time(|| {
        let errors = together(40, |i| {
            let late = worker.apply_within(grant(format!("k{i}")), SOON);
            smol::block_on(late).unwrap_err()
        });
        assert_eq!(errors, vec![WorkerError::Expired; 40]);
        assert_eq!((worker.stats().queued, worker.stats().accepted), (1, 2));
        gate.open();
        applied(held.wait());
        applied(queued.wait());
        // The room that they waited for is there for others.
        applied(worker.apply_blocking(grant("k0")));
    });
}

#[test]
fn a_limit_that_is_over_in_the_store_leaves_the_outcome_open_and_a_retry_tells() {
    let (_disk, gate, store) = gated(22);
    let worker = Worker::builder(store).spawn().unwrap();
    gate.shut();
    in_time(|| {
        let mut limit = SOON;
        let mut expired = 0;
        // Where the worker is slow, the limit is over before it comes to the command.
        let error = loop {
            match worker.apply_blocking_within(grant("k"), limit).unwrap_err() {
                WorkerError::Expired => (limit, expired) = (2 * limit, expired + 1),
                error => break error,
            }
        };
        assert_eq!(error, WorkerError::OutcomeUnknown(Doubt::Expired));
        assert!(error.kind() == ErrorKind::OutcomeUnknown && error.is_transient() && !error.needs_reopen());
        gate.open();
        replayed(worker.apply_blocking(grant("k")));
        assert_eq!(worker.store().stats().receipts, 1);
    });
}

// C10: the kind of it, limits at both ends of what there is.
#[test]
fn c10_limits_of_any_size_neither_panic_nor_end_early() {
    let (_disk, gate, store) = gated(23);
    let worker = Worker::builder(store).capacity(1).spawn().unwrap();
    in_time(|| {
        let none = worker.apply_blocking_within(grant("none"), Duration::ZERO);
        assert_eq!(none, Err(WorkerError::Expired), "over at once, even with room");
        applied(worker.apply_blocking_within(grant("none"), Duration::MAX));
        let held = held(&gate, &worker);
        let queued = worker.try_apply(grant("queued")).unwrap();
        // Waits for room, for the store, as long as it takes.
        let answers = together(8, |i| {
            if i == 0 {
                gate.open();
            }
            worker.apply_blocking_within(grant(format!("k{i}")), Duration::MAX)
        });
        answers.into_iter().for_each(|answer| drop(applied(answer)));
        applied(held.wait());
        applied(queued.wait());
        assert!(worker.shutdown_blocking_within(Duration::MAX).is_complete());
    });
}

#[test]
fn limits_and_answers_that_meet_agree_on_what_happened() {
    let (_disk, _gate, store) = gated(24);
    let worker = Worker::builder(store).capacity(8).batch_at_most(4).spawn().unwrap();
    let answers = in_time(|| {
        together(16, |thread| {
            let within = |i: u64| Duration::from_micros(1 + (i * 37 + thread as u64) % 400);
            let ask = |i: u64| {
                let command = grant(format!("{thread}-{i}"));
                (command.clone(), worker.apply_blocking_within(command, within(i)))
            };
            (0..200).map(ask).collect::<Vec<_>>()
        })
    });
    in_time(|| worker.shutdown_blocking());
    let store = worker.store();
    let mut seen = [0; 3];
    for (command, answer) in answers.into_iter().flatten() {
        let again = store.apply(&command).unwrap();
        match answer {
            Ok(outcome) => {
                seen[0] += 1;
                assert_eq!(again.receipt(), outcome.receipt());
                assert!(again.is_replay());
            }
            Err(WorkerError::Expired) => {
                seen[1] += 1;
                assert!(!again.is_replay(), "I6: definitely not attempted");
            }
            Err(WorkerError::OutcomeUnknown(Doubt::Expired)) => {
                seen[2] += 1;
                assert!(again.is_replay(), "the worker went on and applied it");
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(seen.iter().sum::<i32>(), 3200);
    assert_eq!(worker.stats().queued, 0);
}
