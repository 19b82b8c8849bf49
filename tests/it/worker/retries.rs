//! Retries through a worker: what is asked again, what is settled, who opens a failed store again (I1, I6, I10).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use pointstore::retry::{GaveUp, RetryPolicy};
use pointstore::testing::{Failure, LostAcks, SimDisk, Step, Unsynced};
use pointstore::worker::{Doubt, Worker, WorkerError};
use pointstore::{Command, ErrorKind, OpenError, PointStore};

use super::{account, applied, gated, grant, held, in_time, key, points};
use crate::retry::Time;

/// Soon over: nothing but this test's own patience hangs on it.
const SOON: Duration = Duration::from_millis(20);

/// Many attempts, no waits between them.
fn eager() -> RetryPolicy {
    RetryPolicy::builder().first_delay(Duration::ZERO).attempts(1_000).build().unwrap()
}

// C01
#[test]
fn c01_a_policy_asks_again_after_a_limit_that_left_the_outcome_open() {
    let (_disk, _gate, store) = gated(80);
    let acks = LostAcks::new();
    acks.keep_silent(true);
    acks.lose_next(2);
    let worker = Worker::builder(store.clone()).lose_acks(&acks).spawn().unwrap();
    let mut answers = Vec::new();
    let outcome = in_time(|| {
        eager().run(|| {
            let answer = worker.apply_blocking_within(grant("k"), SOON);
            answers.push(answer.clone().err());
            answer
        })
    });
    assert!(outcome.unwrap().is_replay());
    let lost = Some(WorkerError::OutcomeUnknown(Doubt::Expired));
    // Where the machine is slow, a limit is over before the worker comes to the command, too.
    answers.retain(|answer| *answer != Some(WorkerError::Expired));
    assert_eq!((answers, store.stats().receipts), (vec![lost.clone(), lost, None], 1));
}

#[test]
fn an_async_caller_asks_again_in_the_same_way() {
    let (_disk, _gate, store) = gated(81);
    let acks = LostAcks::new();
    acks.lose_next(3);
    let worker = Worker::builder(store.clone()).lose_acks(&acks).spawn().unwrap();
    let outcome = in_time(|| smol::block_on(eager().run_async(|| worker.apply(grant("k")))));
    assert!(outcome.unwrap().is_replay());
    assert_eq!((acks.lost(), store.stats().receipts), (3, 1));
}

#[test]
fn a_full_queue_is_asked_again_once_it_has_room() {
    let (_disk, gate, store) = gated(82);
    let worker = Worker::builder(store).capacity(1).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued = worker.try_apply(grant("queued")).unwrap();
    let waits = AtomicUsize::new(0);
    let retrier = eager().retrier().sleeper(|_: Duration| {
        // The third wait is long enough for the store to get on.
        if waits.fetch_add(1, Ordering::SeqCst) == 2 {
            gate.open();
            while worker.stats().queued > 0 {
                std::thread::yield_now();
            }
        }
    });
    let ticket = in_time(|| retrier.run(|| worker.try_apply(grant("k")))).unwrap();
    in_time(|| {
        applied(held.wait());
        applied(queued.wait());
        applied(ticket.wait());
    });
    assert_eq!((waits.into_inner(), worker.stats().busy), (3, 3));
}

#[test]
fn i10_without_a_hook_a_policy_gives_up_at_once_since_nobody_opens_the_store_again() {
    let (disk, _gate, store) = gated(83);
    let worker = Worker::builder(store).spawn().unwrap();
    disk.fail(Step::Sync, Failure::After);
    let time = Time::new();
    let ask = |k: &str| time.retrier(&eager()).run(|| worker.apply_blocking(grant(k))).unwrap_err();
    in_time(|| {
        let error = ask("k");
        assert_eq!((error.attempts(), error.gave_up()), (1, GaveUp::NeedsReopen));
        assert!(error.outcome_is_unknown() && error.needs_reopen());
        let error = ask("other");
        assert_eq!((error.kind(), error.gave_up()), (ErrorKind::Closed, GaveUp::NeedsReopen));
        assert!(!error.outcome_is_unknown());
    });
    assert_eq!(time.slept(), []);
}

#[test]
fn i6_with_a_hook_a_policy_waits_until_the_worker_has_opened_the_store_again() {
    // What the failure leaves of the command, and so how the last attempt is answered.
    for (seed, kept) in [(84, Unsynced::Kept), (85, Unsynced::Dropped)] {
        let (disk, _gate, store) = gated(seed);
        let (again, calls) = (disk.clone(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&calls);
        let worker = Worker::builder(store)
            .on_poisoned(move |failed, _| {
                if counted.fetch_add(1, Ordering::SeqCst) < 2 {
                    return Err(OpenError::Missing { path: "not mounted".into() });
                }
                failed.close().unwrap_err();
                again.cut_power(kept);
                PointStore::builder().create(false).open_simulated(&again)
            })
            .spawn()
            .unwrap();
        disk.fail(Step::Sync, Failure::Before);
        let mut kinds = Vec::new();
        let outcome = in_time(|| {
            eager().run(|| {
                let answer = worker.apply_blocking(grant("k"));
                kinds.extend(answer.as_ref().err().map(WorkerError::kind));
                answer
            })
        });
        assert_eq!(outcome.unwrap().is_replay(), kept == Unsynced::Kept);
        // The last hook succeeds, and the command that it was called for goes to the new store at once.
        assert_eq!(kinds, [ErrorKind::OutcomeUnknown, ErrorKind::NotAttempted]);
        assert_eq!((worker.store().stats().receipts, worker.stats().reopened), (1, 1));
    }
}

#[test]
fn a_worker_that_is_shut_down_is_not_asked_again() {
    let (_disk, _gate, store) = gated(86);
    let worker = Worker::builder(store).spawn().unwrap();
    let error = in_time(|| {
        worker.shutdown_blocking();
        eager().run(|| worker.apply_blocking(grant("k"))).unwrap_err()
    });
    assert_eq!((error.attempts(), error.gave_up()), (1, GaveUp::Final));
    assert_eq!((error.kind(), error.outcome_is_unknown()), (ErrorKind::Closed, false));
}

// A worker's hook is still at work, with an attempt in hand whose caller's limit is over. The next attempt goes to
// another worker, on the store that comes, and is refused for want of points. Were that taken for proof, a caller would
// be told that there is no effect; then points come, and the first attempt has it.
#[test]
fn i6_a_refusal_of_another_worker_does_not_settle_an_attempt_that_a_first_one_still_holds() {
    let disk = SimDisk::new(87);
    let store = PointStore::builder().open_simulated(&disk).unwrap();
    let (opened, comes) = mpsc::channel();
    let (go_on, released) = mpsc::channel::<()>();
    let first = Worker::builder(store.clone())
        .on_poisoned(move |_, _| {
            let store = PointStore::builder().create(false).open_simulated(&disk)?;
            opened.send(store.clone()).unwrap();
            released.recv().unwrap();
            Ok(store)
        })
        .spawn()
        .unwrap();
    store.close().unwrap();
    let redeem = Command::redeem(account("ada"), key("gift"), points(5));
    let mut second = None;
    let error = in_time(|| {
        let retried = eager().run(|| match &second {
            None => {
                let answer = first.apply_blocking_within(redeem.clone(), SOON);
                if answer == Err(WorkerError::OutcomeUnknown(Doubt::Expired)) {
                    second = Some(Worker::builder(comes.recv().unwrap()).spawn().unwrap());
                }
                answer
            }
            Some(second) => second.apply_blocking(redeem.clone()),
        });
        retried.unwrap_err()
    });
    assert_eq!((error.gave_up(), error.error().kind()), (GaveUp::Final, ErrorKind::Rejected));
    assert!(error.outcome_is_unknown() && error.kind() == ErrorKind::OutcomeUnknown);

    let store = second.unwrap().store();
    store.grant(&account("ada"), &key("points"), points(9)).unwrap();
    in_time(|| {
        go_on.send(()).unwrap();
        first.shutdown_blocking();
    });
    assert_eq!(store.balance(&account("ada")).get(), 4, "it had its effect");
    assert!(store.apply(&redeem).unwrap().is_replay());
}
