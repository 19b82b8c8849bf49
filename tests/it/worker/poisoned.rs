//! A store that failed: everybody is told, and a program may have it opened again under the same handle (I10, I6).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pointstore::testing::{Failure, SimDisk, Step, Unsynced};
use pointstore::worker::{Builder, Doubt, Worker, WorkerError};
use pointstore::{ErrorKind, OpenError, PointStore};
use tokio::runtime;

use super::{applied, gated, grant, held, in_time, replayed};

/// Has a store opened again after a power cut that leaves so much of what was not synced.
fn reopening(builder: Builder, disk: &SimDisk, kept: Unsynced) -> Builder {
    let disk = disk.clone();
    builder.on_poisoned(move |failed, error| {
        assert!(error.needs_reopen());
        failed.close().unwrap_err();
        disk.cut_power(kept);
        PointStore::builder().create(false).open_simulated(&disk)
    })
}

#[test]
fn i10_without_a_hook_everybody_is_told_and_the_worker_goes_on_to_answer() {
    let (disk, gate, store) = gated(40);
    let worker = Worker::builder(store.clone()).spawn().unwrap();
    in_time(|| {
        applied(worker.apply_blocking(grant("before")));
        let held = held(&gate, &worker);
        let queued: Vec<_> = (0..10).map(|i| worker.try_apply(grant(format!("q{i}"))).unwrap()).collect();
        disk.fail(Step::Sync, Failure::Before);
        gate.open();
        let error = held.wait().unwrap_err();
        assert!(error.kind() == ErrorKind::OutcomeUnknown && error.needs_reopen(), "{error}");
        for ticket in queued {
            let error = ticket.wait().unwrap_err();
            assert!(error.kind() == ErrorKind::Closed && error.needs_reopen(), "{error}");
        }
        let error = worker.apply_blocking(grant("after")).unwrap_err();
        assert_eq!(error, WorkerError::Apply(store.apply(&grant("after")).unwrap_err()));
        replayed(worker.apply_blocking(grant("before")));
        worker.shutdown_blocking();
    });
    assert_eq!((worker.stats().reopened, worker.stats().reopen_failures), (0, 0));
}

#[test]
fn i6_with_a_hook_a_retry_through_the_same_handle_gets_the_truth() {
    let cases = [
        (Step::Append, Failure::Before, Unsynced::Kept, false),
        (Step::Sync, Failure::Before, Unsynced::Dropped, false),
        (Step::Sync, Failure::Before, Unsynced::Kept, true),
        (Step::Sync, Failure::Pretend, Unsynced::Kept, false),
        (Step::Sync, Failure::Panic, Unsynced::Dropped, false),
        (Step::Mark, Failure::After, Unsynced::Kept, true),
    ];
    for (seed, (step, failure, kept, happened)) in (41..).zip(cases) {
        let (disk, gate, store) = gated(seed);
        let worker = reopening(Worker::builder(store), &disk, kept).spawn().unwrap();
        in_time(|| {
            let before = applied(worker.apply_blocking(grant("before")));
            let held = held(&gate, &worker);
            let queued = worker.try_apply(grant("queued")).unwrap();
            disk.fail(step, failure);
            gate.open();
            let error = held.wait().unwrap_err();
            assert!(error.kind() == ErrorKind::OutcomeUnknown && error.is_transient(), "{error}");
            assert!(!error.needs_reopen(), "the worker sees to it: {error}");
            let retry = worker.apply_blocking(grant("held")).unwrap();
            assert_eq!(retry.is_replay(), happened, "{step:?} {failure:?} {kept:?}");
            // What came behind the failure is none the worse for it, and what was before is there.
            applied(queued.wait());
            assert_eq!(replayed(worker.apply_blocking(grant("before"))).receipt(), before.receipt());
        });
        assert_eq!(worker.store().verify().unwrap().entries(), 3);
        assert_eq!((worker.stats().reopened, worker.stats().reopen_failures), (1, 0));
    }
}

#[test]
fn a_store_that_the_program_closed_is_opened_again_and_nobody_is_told() {
    let disk = SimDisk::new(50);
    let store = PointStore::builder().open_simulated(&disk).unwrap();
    let again = disk.clone();
    let worker = Worker::builder(store.clone())
        .on_poisoned(move |_, _| PointStore::builder().create(false).open_simulated(&again))
        .spawn()
        .unwrap();
    in_time(|| {
        applied(worker.apply_blocking(grant("k")));
        store.close().unwrap();
        applied(worker.apply_blocking(grant("other")));
        replayed(worker.apply_blocking(grant("k")));
    });
    assert_eq!(worker.stats().reopened, 1);
    assert_eq!(store.apply(&grant("old handle")).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(worker.store().stats().receipts, 2);
}

#[test]
fn a_hook_that_fails_or_panics_is_asked_again_with_the_next_command() {
    let disk = SimDisk::new(51);
    let store = PointStore::builder().open_simulated(&disk).unwrap();
    let (calls, again) = (Arc::new(AtomicUsize::new(0)), disk.clone());
    let counted = Arc::clone(&calls);
    let worker = Worker::builder(store.clone())
        .on_poisoned(move |_, _| match counted.fetch_add(1, Ordering::SeqCst) {
            0 => Err(OpenError::Missing { path: "not mounted".into() }),
            1 => panic!("a hook that panics"),
            _ => PointStore::builder().create(false).open_simulated(&again),
        })
        .spawn()
        .unwrap();
    store.close().unwrap();
    in_time(|| {
        for call in 1..=2 {
            let error = worker.apply_blocking(grant("k")).unwrap_err();
            assert!(error.kind() == ErrorKind::NotAttempted && error.is_transient(), "{error}");
            assert!(matches!(error, WorkerError::Reopening(_)) && !error.needs_reopen(), "{error}");
            assert_eq!(calls.load(Ordering::SeqCst), call);
        }
        applied(worker.apply_blocking(grant("k")));
    });
    assert_eq!((worker.stats().reopened, worker.stats().reopen_failures), (1, 2));
}

#[test]
fn a_shutdown_does_not_wait_for_a_hook_that_hangs() {
    let (disk, gate, store) = gated(52);
    let hook = gate.clone();
    let worker = Worker::builder(store.clone())
        .on_poisoned(move |_, _| {
            use pointstore::Clock;
            hook.wall();
            PointStore::builder().create(false).open_simulated(&disk)
        })
        .spawn()
        .unwrap();
    store.close().unwrap();
    let held = held(&gate, &worker);
    in_time(|| {
        let stopped = worker.shutdown_blocking_within(std::time::Duration::from_millis(1));
        assert_eq!((stopped.not_attempted, stopped.in_doubt), (0, 1));
        assert_eq!(held.wait(), Err(WorkerError::OutcomeUnknown(Doubt::Stopped)));
        gate.open();
        worker.shutdown_blocking();
    });
}

#[test]
fn i1_hundreds_of_callers_that_retry_through_failures_have_each_effect_once() {
    let disk = SimDisk::new(53);
    let store = PointStore::builder().open_simulated(&disk).unwrap();
    let worker = reopening(Worker::builder(store).capacity(32), &disk, Unsynced::Torn).spawn().unwrap();
    let failures = Arc::new(AtomicUsize::new(0));
    in_time(|| {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let callers: Vec<_> = (0..200)
            .map(|caller| {
                let (worker, disk, failures) = (worker.clone(), disk.clone(), Arc::clone(&failures));
                runtime.spawn(async move {
                    for i in 0..10 {
                        if (caller + i) % 97 == 0 {
                            disk.fail(Step::Sync, [Failure::Before, Failure::After, Failure::Panic][i % 3]);
                        }
                        while let Err(error) = worker.apply(grant(format!("{caller}-{i}"))).await {
                            assert!(error.is_transient(), "{error}");
                            failures.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                })
            })
            .collect();
        for caller in callers {
            runtime.block_on(caller).unwrap();
        }
    });
    assert!(failures.load(Ordering::SeqCst) > 0 && worker.stats().reopened > 0);
    assert_eq!(worker.store().verify().unwrap().entries(), 2000, "I1");
    assert_eq!(worker.store().stats().points_granted, 2000);
}
