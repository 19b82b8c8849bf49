//! The queue: bounded whatever is asked of it, in order, and one call of the store for all that has queued.

use pointstore::testing::SimDisk;
use pointstore::worker::{Worker, WorkerError};
use pointstore::{ErrorKind, PointStore};

use super::{applied, begun, gated, grant, held, in_time, poll_once};
use crate::concurrency::together;

#[test]
fn what_queues_while_the_store_is_at_work_shares_one_batch() {
    let (_disk, gate, store) = gated(10);
    let worker = Worker::builder(store.clone()).capacity(100).spawn().unwrap();
    let held = held(&gate, &worker);
    let groups = store.stats().groups;
    let tickets: Vec<_> = (0..100).map(|i| worker.try_apply(grant(format!("k{i}"))).unwrap()).collect();
    assert_eq!((worker.stats().delivering, worker.stats().queued), (1, 100));
    gate.open();
    in_time(|| {
        applied(held.wait());
        // In the order in which they were accepted.
        for (number, ticket) in (2..).zip(tickets) {
            assert_eq!(applied(ticket.wait()).receipt().number(), number);
        }
    });
    let stats = worker.stats();
    assert_eq!((stats.batches, stats.largest_batch, stats.queued, stats.delivering), (2, 100, 0, 0));
    assert_eq!(store.stats().groups - groups, 2, "and one group of the store");
}

#[test]
fn a_batch_is_no_larger_than_it_may_be() {
    let (_disk, gate, store) = gated(11);
    let worker = Worker::builder(store).capacity(100).batch_at_most(30).spawn().unwrap();
    let held = held(&gate, &worker);
    let tickets: Vec<_> = (0..100).map(|i| worker.try_apply(grant(format!("k{i}"))).unwrap()).collect();
    gate.open();
    in_time(|| {
        applied(held.wait());
        tickets.into_iter().for_each(|ticket| drop(applied(ticket.wait())));
    });
    assert_eq!((worker.stats().batches, worker.stats().largest_batch), (5, 30));
}

#[test]
fn a_full_queue_says_busy_or_makes_wait_and_never_grows() {
    let (_disk, gate, store) = gated(12);
    let worker = Worker::builder(store).capacity(4).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued: Vec<_> = (0..4).map(|i| worker.try_apply(grant(format!("q{i}"))).unwrap()).collect();
    let mut waiting: Vec<_> = (0..50).map(|i| begun(&worker, format!("w{i}"))).collect();
    for _ in 0..3 {
        let error = worker.try_apply(grant("busy")).unwrap_err();
        assert_eq!(error, WorkerError::Busy { capacity: 4 });
        assert!(error.kind() == ErrorKind::Busy && error.is_transient());
        assert!(waiting.iter_mut().all(|apply| poll_once(apply).is_pending()));
        assert_eq!((worker.stats().queued, worker.stats().capacity, worker.stats().accepted), (4, 4, 5));
    }
    assert_eq!(worker.stats().busy, 3);
    gate.open();
    in_time(|| {
        applied(held.wait());
        queued.into_iter().for_each(|ticket| drop(applied(ticket.wait())));
        // Each of them by itself, though the others are polled by nobody: none holds a place that it does not use.
        waiting.into_iter().rev().for_each(|apply| drop(applied(smol::block_on(apply))));
    });
    applied(worker.apply_blocking(grant("busy")));
    assert_eq!(worker.stats().accepted, 56);
}

#[test]
fn producers_that_outrun_the_store_are_held_back() {
    let store = PointStore::builder().open_simulated(&SimDisk::new(13)).unwrap();
    let worker = Worker::builder(store.clone()).capacity(4).batch_at_most(3).spawn().unwrap();
    in_time(|| {
        together(32, |thread| {
            for i in 0..100 {
                let command = grant(format!("{thread}-{i}"));
                match worker.try_apply(command.clone()) {
                    Ok(ticket) => applied(ticket.wait()),
                    Err(WorkerError::Busy { .. }) => applied(worker.apply_blocking(command)),
                    Err(error) => panic!("{error}"),
                };
                let stats = worker.stats();
                assert!(stats.queued <= 4 && stats.delivering <= 3, "{stats:?}");
            }
        })
    });
    assert_eq!(store.stats().receipts, 3200);
    let stats = worker.stats();
    assert_eq!((stats.accepted, stats.answered), (3200, 3200));
    assert!(stats.largest_batch <= 3);
}

#[test]
fn a_refusal_is_its_own_callers_alone() {
    let (_disk, gate, store) = gated(14);
    let worker = Worker::builder(store).spawn().unwrap();
    let held = held(&gate, &worker);
    let good = worker.try_apply(grant("good")).unwrap();
    let bad = worker.try_apply(grant("bad").expecting(7)).unwrap();
    let last = worker.try_apply(grant("last")).unwrap();
    gate.open();
    in_time(|| {
        applied(held.wait());
        applied(good.wait());
        let error = bad.wait().unwrap_err();
        assert!(error.kind() == ErrorKind::Rejected && error.refusal().is_some() && !error.is_transient());
        applied(last.wait());
    });
}

#[test]
fn bounds_of_a_worker_are_made_to_fit() {
    let store = PointStore::builder().open_simulated(&SimDisk::new(15)).unwrap();
    let worker = Worker::builder(store).capacity(0).batch_at_most(0).name("with\0zero").spawn().unwrap();
    assert_eq!(worker.stats().capacity, 1);
    applied(in_time(|| worker.apply_blocking(grant("k"))));
    let worker = Worker::builder(worker.store()).capacity(usize::MAX).spawn().unwrap();
    assert_eq!(worker.stats().capacity, 1 << 20);
}
