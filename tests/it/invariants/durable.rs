//! Whole or not at all (I2), there once acknowledged (I7), unseen before (I8), and no write after a failure (I10).

use std::sync::mpsc;
use std::time::Duration;

use pointstore::testing::{Failure, SimDisk, Step, Unsynced};
use pointstore::{Command, ErrorKind, Operation, PointStore};

use super::open;
use crate::cases::together::Gate;
use crate::cases::{applied, balance, grant, held, id, key, redeem, replayed};

/// Longer than any of this takes on the slowest machine: only to fail rather than to hang.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn i2_a_group_of_several_pages_is_there_as_a_whole_or_not_at_all_after_a_torn_write() {
    let (mut whole, mut nothing, mut torn) = (0, 0, 0);
    for seed in 0..64 {
        let disk = SimDisk::new(seed);
        let store = open(&disk);
        applied(store.apply(&grant("a", "before", 1)));
        // Two pages in one group: a list of two, and something beside it.
        disk.fail(Step::Sync, Failure::Before);
        let long = |n: i64| grant("a", &format!("{n}{}", "K".repeat(250)), n);
        let answers = store.apply_each(&[long(10), long(20), long(30)]);
        assert!(
            answers
                .iter()
                .all(|answer| answer.as_ref().is_err_and(|e| e.kind() == ErrorKind::OutcomeUnknown))
        );
        disk.cut_power(Unsynced::Torn);
        drop(store);
        let store = open(&disk);
        match (balance(&store, "a"), store.stats().receipts) {
            (61, 4) => whole += 1,
            (1, 1) => nothing += 1,
            other => panic!("half a group: {other:?}"),
        }
        torn += u64::from(store.opened().dropped_pages() == 1);
        store.verify().unwrap();
        for (command, n) in [(long(10), 10), (long(20), 20), (long(30), 30)] {
            assert_eq!(store.apply(&command).unwrap().receipt().points().get(), n);
        }
        assert_eq!(balance(&store, "a"), 61);
    }
    assert!(whole > 5 && nothing > 5 && torn > 5, "whole={whole} nothing={nothing} torn={torn}");
}

#[test]
fn i2_each_page_that_a_torn_write_left_of_a_group_is_dropped_and_counted() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..64 {
        let disk = SimDisk::new(seed);
        let store = PointStore::builder().open_simulated(&disk).unwrap();
        applied(store.apply(&grant("a", "before", 1)));
        disk.fail(Step::Sync, Failure::Before);
        // Five pages in one group.
        let long = |n: i64| grant("a", &format!("{n:03}{}", "K".repeat(250)), n);
        store.apply_each(&(1..=70).map(long).collect::<Vec<_>>());
        disk.cut_power(Unsynced::Torn);
        drop(store);
        let left = disk.durable_pages().len() as u64 - 1;
        let store = PointStore::builder().open_simulated(&disk).unwrap();
        if store.opened().entries() == 1 {
            assert_eq!(store.opened().dropped_pages(), left, "seed={seed}");
            assert_eq!(disk.durable_pages().len(), 1, "what is left of it is gone");
            seen.insert(left);
        }
        store.verify().unwrap();
    }
    assert!(seen.len() >= 4, "it was torn in many ways: {seen:?}");
}

#[test]
fn i7_what_is_acknowledged_is_in_the_pages_that_are_durable_at_that_moment() {
    let disk = SimDisk::new(51);
    let store = open(&disk);
    let asks: [&dyn Fn(u64); 4] = [
        &|n| drop(applied(store.apply(&grant("a", &format!("g{n}"), 10)))),
        &|n| drop(applied(store.apply(&redeem("a", &format!("r{n}"), 3)))),
        &|n| {
            let k = format!("t{n}");
            drop(store.apply_atomic(&[redeem("a", &k, 1), grant("b", &k, 1)]).unwrap());
        },
        &|n| {
            let many: Vec<Command> = (0..40).map(|m| grant("c", &format!("m{n}-{m}"), 1)).collect();
            store.apply_each(&many).into_iter().for_each(|answer| drop(applied(answer)));
        },
    ];
    for n in 0..12 {
        asks[n % asks.len()](n as u64);
        // Nothing but these pages is left.
        let left = SimDisk::new(51);
        left.replace_pages(disk.durable_pages());
        let survivor = open(&left);
        held(&survivor).must_equal(&held(&store), "after a loss of all the rest");
        assert_eq!(survivor.position(), store.position());
    }
}

#[test]
fn i8_nothing_that_is_not_durable_is_seen_by_any_reader_or_answer() {
    for (step, failure) in
        [(Step::Append, Failure::After), (Step::Sync, Failure::Before), (Step::Sync, Failure::Pretend)]
    {
        let disk = SimDisk::new(52);
        let store = open(&disk);
        applied(store.apply(&grant("a", "k1", 5)));
        let (before, position) = (held(&store), store.position());
        disk.fail(step, failure);
        // In one group: an entry, its replay, its reuse, and refusals that rest on it.
        let answers = store.apply_each(&[
            grant("a", "k2", 5),
            grant("a", "k2", 5),
            grant("a", "k2", 6),
            redeem("a", "k", 11),
            grant("a", "k3", 1).expecting(1),
        ]);
        for answer in answers {
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
        }
        held(&store).must_equal(&before, "what readers see");
        assert_eq!(store.position(), position);
        assert_eq!(store.receipt(&id("a"), Operation::Grant, &key("k2")).unwrap(), None);
        // What was durable before is still answered.
        replayed(store.apply(&grant("a", "k1", 5)));
        let reused = store.apply(&grant("a", "k1", 6)).unwrap_err();
        assert_eq!(reused.kind(), ErrorKind::KeyReused);
        // What was not is not decided on.
        assert_eq!(store.apply(&grant("a", "k2", 6)).unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[test]
fn i8_reading_and_replaying_never_wait_for_a_group_that_is_under_way() {
    let gate = Gate::new();
    let store = PointStore::builder().clock(gate.clone()).open_simulated(&SimDisk::new(53)).unwrap();
    applied(store.apply(&grant("a", "k1", 5)));
    gate.shut();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| store.apply(&grant("a", "k2", 5)));
        gate.wait();
        let (done, read) = mpsc::channel();
        let reader = store.clone();
        std::thread::spawn(move || {
            let seen =
                (held(&reader).journal.len(), balance(&reader, "a"), reader.statement(&id("a")).count());
            let replay = replayed(reader.apply(&grant("a", "k1", 5)));
            let list = reader.apply_atomic(&[grant("a", "k1", 5)]).unwrap().remove(0);
            let reused = reader.apply(&grant("a", "k1", 6)).unwrap_err().kind();
            reader.verify().unwrap();
            done.send((seen, replay.receipt().clone(), list.is_replay(), reused)).unwrap();
        });
        let read = read.recv_timeout(PATIENCE);
        gate.open();
        let (seen, replay, list, reused) = read.expect("a reader waits for a writer");
        assert_eq!(seen, (1, 5, 1));
        assert_eq!((replay.number(), list, reused), (1, true, ErrorKind::KeyReused));
        applied(writer.join().unwrap());
    });
    assert_eq!(balance(&store, "a"), 10);
}

#[test]
fn i10_after_a_failure_the_store_does_not_touch_the_disk_again_until_it_is_reopened() {
    let failures = [Failure::Before, Failure::After, Failure::Pretend, Failure::Panic];
    for step in [Step::Append, Step::Sync, Step::Mark] {
        for failure in failures {
            let disk = SimDisk::new(54);
            let store = open(&disk);
            applied(store.apply(&grant("a", "k1", 5)));
            disk.fail(step, failure);
            let unknown = store.apply(&grant("a", "k2", 5)).unwrap_err();
            assert_eq!(unknown.kind(), ErrorKind::OutcomeUnknown, "{step:?} {failure:?}");

            let (moments, pages) = (disk.moments(), disk.durable_pages());
            for k in ["k2", "k3"] {
                let again = store.apply(&grant("a", k, 5)).unwrap_err();
                assert_eq!(again.kind(), ErrorKind::Closed);
                let source = std::error::Error::source(&again).map(ToString::to_string);
                assert!(source.is_some_and(|cause| cause.contains("simulated") || cause.contains("panic")));
                let list = store.apply_atomic(&[grant("a", k, 5), grant("b", k, 5)]).unwrap_err();
                assert_eq!((list.kind(), list.index()), (ErrorKind::Closed, None));
            }
            let each = store.apply_each(&[grant("a", "k1", 5), grant("a", "k4", 5)]);
            assert!(each[0].as_ref().unwrap().is_replay());
            assert_eq!(each[1].as_ref().unwrap_err().kind(), ErrorKind::Closed);
            assert_eq!(balance(&store, "a"), 5);
            store.verify().unwrap();
            store.close().unwrap_err();
            drop(store);
            assert_eq!((disk.moments(), disk.durable_pages()), (moments, pages), "{step:?} {failure:?}");

            let store = open(&disk);
            assert!(!store.opened().was_clean());
            for k in ["k2", "k3"] {
                store.apply(&grant("a", k, 5)).unwrap();
            }
            assert_eq!(balance(&store, "a"), 15);
        }
    }
}
