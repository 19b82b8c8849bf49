//! Retries on real stores whose disk fails (I1, I6, I10).

use pointstore::retry::{GaveUp, ReopenError, RetryPolicy};
use pointstore::testing::{Failure, SimDisk, Step, Unsynced};
use pointstore::{ErrorKind, PointStore, Refusal};

use super::Time;
use crate::cases::{balance, grant, redeem};

fn open(disk: &SimDisk) -> PointStore {
    PointStore::builder().open_simulated(disk).unwrap()
}

#[test]
fn a_disk_that_is_full_for_a_while_only_delays_a_command() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    disk.fill(true);
    let (time, room) = (Time::new(), disk.clone());
    let waits = time.clone();
    let retrier = RetryPolicy::default().retrier().clock(time.clock.clone()).sleeper(move |delay| {
        pointstore::retry::Sleeper::sleep(&waits, delay);
        room.fill(waits.slept().len() < 3);
    });
    let outcome = retrier.apply(&store, &grant("a", "k", 10)).unwrap();
    assert!(!outcome.is_replay());
    assert_eq!((time.slept().len(), balance(&store, "a")), (3, 10));
}

#[test]
fn i10_a_store_that_failed_is_not_asked_again_until_it_is_opened_again() {
    let disk = SimDisk::new(2);
    let store = open(&disk);
    disk.fail(Step::Sync, Failure::After);
    let (time, before) = (Time::new(), disk.moments());
    let error = time.retrier(&RetryPolicy::default()).apply(&store, &grant("a", "k", 10)).unwrap_err();
    assert_eq!((error.attempts(), error.gave_up()), (1, GaveUp::NeedsReopen));
    assert!(error.outcome_is_unknown() && error.needs_reopen());
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(time.slept(), []);

    // Another command: refused at once, and nothing of it is unknown.
    let touched = disk.moments();
    assert!(touched > before);
    let error = time.retrier(&RetryPolicy::default()).apply(&store, &grant("a", "other", 1)).unwrap_err();
    assert_eq!((error.kind(), error.gave_up()), (ErrorKind::Closed, GaveUp::NeedsReopen));
    assert!(!error.outcome_is_unknown());
    assert_eq!(disk.moments(), touched);
}

// C11
#[test]
fn who_retries_on_a_store_that_was_closed_is_told_so_at_once_and_does_not_hang() {
    let disk = SimDisk::new(3);
    let store = open(&disk);
    disk.fill(true);
    let (time, closing) = (Time::new(), store.clone());
    let waits = time.clone();
    let retrier = RetryPolicy::default().retrier().clock(time.clock.clone()).sleeper(move |delay| {
        pointstore::retry::Sleeper::sleep(&waits, delay);
        closing.close().unwrap();
    });
    let error = retrier.apply(&store, &grant("a", "k", 10)).unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Closed, 2));
    assert!(!error.outcome_is_unknown());
    let list = [grant("a", "k", 10)];
    let error = time.retrier(&RetryPolicy::default()).apply_atomic(&store, &list).unwrap_err();
    assert_eq!((error.attempts(), error.gave_up()), (1, GaveUp::NeedsReopen));
}

#[test]
fn i1_after_an_unknown_outcome_the_store_is_opened_again_and_the_command_has_one_effect() {
    for (step, failure, happened) in [
        (Step::Append, Failure::Before, false),
        (Step::Append, Failure::After, true),
        (Step::Sync, Failure::After, true),
        (Step::Mark, Failure::Before, true),
        (Step::Sync, Failure::Panic, true),
    ] {
        let disk = SimDisk::new(4);
        let mut store = open(&disk);
        disk.fail(step, failure);
        let time = Time::new();
        let outcome = time
            .retrier(&RetryPolicy::default())
            .apply_reopening(&mut store, &grant("a", "k", 10), || PointStore::builder().open_simulated(&disk))
            .unwrap();
        assert_eq!(outcome.is_replay(), happened, "{step:?} {failure:?}");
        assert_eq!((balance(&store, "a"), store.stats().receipts), (10, 1));
        assert_eq!(time.slept().len(), 1);
    }
}

#[test]
fn a_power_cut_in_between_is_made_good_by_the_same_command() {
    let disk = SimDisk::new(5);
    let mut store = open(&disk);
    disk.fail(Step::Sync, Failure::Before);
    let reopen = || {
        disk.cut_power(Unsynced::Dropped);
        PointStore::builder().open_simulated(&disk)
    };
    let retrier = Time::new().retrier(&RetryPolicy::default());
    let outcome = retrier.apply_reopening(&mut store, &grant("a", "k", 10), reopen).unwrap();
    assert!(!outcome.is_replay());
    assert_eq!(balance(&store, "a"), 10);
}

#[test]
fn an_opening_that_fails_is_an_attempt_and_the_outcome_stays_unknown() {
    let disk = SimDisk::new(6);
    let mut store = open(&disk);
    disk.fail(Step::Sync, Failure::After);
    let policy = RetryPolicy::builder().attempts(4).build().unwrap();
    let mut openings = 0;
    let busy = || {
        openings += 1;
        Err(pointstore::OpenError::AlreadyOpen { path: "points".into() })
    };
    let error =
        Time::new().retrier(&policy).apply_reopening(&mut store, &grant("a", "k", 10), busy).unwrap_err();
    assert_eq!((error.attempts(), error.gave_up()), (4, GaveUp::Attempts));
    assert!(matches!(error.error(), ReopenError::Open(_)));
    assert!(error.outcome_is_unknown());
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(openings, 3);
    // The store was left closed, so that it can be opened.
    assert_eq!(balance(&open(&disk), "a"), 10);
}

#[test]
fn a_refusal_after_opening_again_proves_that_the_first_attempt_had_no_effect() {
    let disk = SimDisk::new(7);
    let mut store = open(&disk);
    store.apply(&grant("a", "k1", 50)).unwrap();
    disk.fail(Step::Append, Failure::Before);
    let retrier = Time::new().retrier(&RetryPolicy::default());
    let reopen = || {
        let store = PointStore::builder().open_simulated(&disk)?;
        // Somebody else was faster.
        store.apply(&redeem("a", "other", 30)).unwrap();
        Ok(store)
    };
    let error = retrier.apply_reopening(&mut store, &redeem("a", "k2", 40), reopen).unwrap_err();
    assert_eq!((error.attempts(), error.gave_up(), error.kind()), (2, GaveUp::Final, ErrorKind::Rejected));
    assert!(!error.outcome_is_unknown());
    let ReopenError::Apply(error) = error.into_error() else { panic!("a refusal") };
    assert!(matches!(error.refusal(), Some(Refusal::InsufficientPoints { .. })));
}
