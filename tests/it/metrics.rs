//! Every metric of the table is seen, described, and free of names and keys.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use metrics::Unit;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use pointstore::metrics::StoreMetrics;
use pointstore::retry::RetryPolicy;
use pointstore::testing::{Failure, LostAcks, SimDisk, Step};
use pointstore::worker::{Worker, WorkerError, WorkerMetrics, WorkerStats};
use pointstore::{ErrorKind, OpenError, PointStore};

use crate::cases::{grant, redeem};
use crate::retry::{Answer, SECOND, Time, script};
use crate::worker::{gated, held, in_time};

/// What a recorder saw: name and labels in one, with unit, description and value.
type Seen = BTreeMap<String, (Option<Unit>, bool, DebugValue)>;

/// What is recorded while something runs.
fn seen(run: impl FnOnce()) -> Seen {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, run);
    let all = snapshotter.snapshot().into_vec();
    all.into_iter()
        .map(|(key, unit, description, value)| {
            let labels: Vec<_> =
                key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            let name = format!("{} {}", key.key().name(), labels.join(" "));
            (name.trim().to_owned(), (unit, description.is_some(), value))
        })
        .collect()
}

fn count(seen: &Seen, name: &str) -> u64 {
    match seen.get(name).unwrap_or_else(|| panic!("{name} is not among {:?}", seen.keys())) {
        (Some(Unit::Count), true, DebugValue::Counter(n)) => *n,
        other => panic!("{name} is no described counter: {other:?}"),
    }
}

fn samples(seen: &Seen, name: &str, unit: Unit) -> usize {
    match &seen[name] {
        (Some(found), true, DebugValue::Histogram(values)) if *found == unit => values.len(),
        other => panic!("{name} is no described histogram: {other:?}"),
    }
}

/// Everything that a store can be asked, once at least, and a failure.
fn use_it(metrics: StoreMetrics) {
    let disk = SimDisk::new(1);
    let store = PointStore::builder().observer(metrics).open_simulated(&disk).unwrap();
    let big = i64::MAX - 1;
    store.apply(&grant("alice", "order-1", big)).unwrap();
    store.apply(&grant("alice", "order-1", big)).unwrap();
    store.apply(&grant("alice", "order-1", 5)).unwrap_err();
    store.apply(&grant("alice", "order-2", 2)).unwrap_err();
    store.apply(&redeem("bob", "gift-1", 1)).unwrap_err();
    store.apply(&grant("bob", "gift-1", 1).expecting(7)).unwrap_err();
    store.apply_atomic(&vec![grant("bob", "k", 1); pointstore::ATOMIC_LIST_LEN_MAX + 1]).unwrap_err();
    store.apply_each(&[grant("bob", "k1", 1), grant("bob", "k2", 1)]);
    disk.fill(true);
    store.apply(&grant("bob", "k3", 1)).unwrap_err();
    disk.fill(false);
    disk.fail(Step::Sync, Failure::After);
    store.apply(&grant("bob", "k4", 1)).unwrap_err();
    store.apply(&grant("bob", "k5", 1)).unwrap_err();
}

fn retry_it() {
    let time = Time::new();
    let policy = RetryPolicy::builder().attempts(3).deadline(SECOND).build().unwrap();
    let answers = [ErrorKind::Busy, ErrorKind::OutcomeUnknown];
    time.retrier(&policy).run(script(answers)).unwrap();
    time.retrier(&policy).run(script([ErrorKind::Busy; 3])).unwrap_err();
    time.retrier(&policy).run(script([Answer::hinting(SECOND * 2)])).unwrap_err();
    // Final, and so neither a retry nor an exhausted one.
    time.retrier(&policy).run(script([ErrorKind::Rejected])).unwrap_err();
}

/// Everything that can become of a command in a worker, once at least.
fn work_it(metrics: WorkerMetrics) -> WorkerStats {
    let (disk, gate, store) = gated(1);
    let (acks, clock, mut mounted) = (LostAcks::new(), gate.clone(), false);
    let reopen = move || PointStore::builder().create(false).clock(clock.clone()).open_simulated(&disk);
    let worker = Worker::builder(store.clone())
        .capacity(2)
        .lose_acks(&acks)
        .observer(metrics)
        .on_poisoned(move |_, _| match std::mem::replace(&mut mounted, true) {
            false => Err(OpenError::Missing { path: "not mounted".into() }),
            true => reopen(),
        })
        .spawn()
        .unwrap();
    let soon = Duration::from_millis(2);
    in_time(|| {
        let first = held(&gate, &worker);
        worker.apply_blocking_within(grant("alice", "late", 1), soon).unwrap_err();
        let last = worker.try_apply(grant("alice", "last", 1)).unwrap();
        worker.try_apply(grant("alice", "busy", 1)).unwrap_err();
        gate.open();
        first.wait().unwrap();
        last.wait().unwrap();

        acks.lose_next(1);
        worker.apply_blocking(grant("alice", "lost", 1)).unwrap_err();
        acks.lose_where(|command| match command.key().as_str() {
            "panics" => panic!("between the store and the answer"),
            _ => false,
        });
        worker.apply_blocking(grant("alice", "panics", 1)).unwrap_err();

        store.close().unwrap();
        worker.apply_blocking(grant("alice", "reopened", 1)).unwrap_err();
        worker.apply_blocking(grant("alice", "reopened", 1)).unwrap();

        gate.shut();
        let mut limit = soon;
        // Where the worker is slow, the limit is over before it comes to the command.
        while worker.apply_blocking_within(grant("alice", "slow", 1), limit) == Err(WorkerError::Expired) {
            limit *= 2;
        }
        gate.open();
        worker.apply_blocking(grant("alice", "slow", 1)).unwrap();

        gate.shut();
        let stopped = worker.try_apply(grant("alice", "stopped", 1)).unwrap();
        while worker.stats().delivering == 0 {
            std::thread::yield_now();
        }
        assert!(!worker.shutdown_blocking_within(soon).is_complete());
        stopped.wait().unwrap_err();
        gate.open();
        worker.shutdown_blocking();
    });
    worker.stats()
}

#[test]
fn what_a_worker_does_is_seen_and_described() {
    let mut stats = None;
    let seen = seen(|| stats = Some(work_it(WorkerMetrics::new())));
    let stats = stats.unwrap();
    for (name, n) in [
        ("pointstore_worker_busy_total", 1),
        ("pointstore_worker_expired_total", stats.expired),
        ("pointstore_worker_in_doubt_total reason=expired", 1),
        ("pointstore_worker_in_doubt_total reason=stopped", 1),
        ("pointstore_worker_in_doubt_total reason=panicked", 1),
        ("pointstore_worker_in_doubt_total reason=lost", 1),
        ("pointstore_worker_reopenings_total result=succeeded", 1),
        ("pointstore_worker_reopenings_total result=failed", 1),
    ] {
        assert_eq!(count(&seen, name), n, "{name}");
    }
    assert!(stats.expired >= 1 && stats.in_doubt == 4, "{stats:?}");
    let given = usize::try_from(stats.accepted - stats.expired).unwrap();
    assert_eq!(samples(&seen, "pointstore_worker_wait_seconds", Unit::Seconds), given);
    // Commands of a batch that is given to a store that was opened again are no further batch.
    assert_eq!(samples(&seen, "pointstore_worker_batch_commands", Unit::Count), 9);
    let queued = &seen["pointstore_worker_queued_commands"];
    assert_eq!(*queued, (Some(Unit::Count), true, DebugValue::Gauge(0.0.into())), "nothing is left in it");
}

#[test]
fn the_gauge_shows_what_queues_while_the_store_hangs() {
    let recorder = DebuggingRecorder::new();
    let metrics = metrics::with_local_recorder(&recorder, WorkerMetrics::new);
    let (_disk, gate, store) = gated(2);
    let worker = Worker::builder(store).observer(metrics).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued: Vec<_> = (0..5).map(|i| worker.try_apply(grant("a", &format!("k{i}"), 1)).unwrap()).collect();
    let all = recorder.snapshotter().snapshot().into_vec();
    let queue = all.into_iter().find(|(key, ..)| key.key().name() == "pointstore_worker_queued_commands");
    assert_eq!(queue.map(|(.., value)| value), Some(DebugValue::Gauge(5.0.into())));
    gate.open();
    in_time(|| {
        held.wait().unwrap();
        queued.into_iter().for_each(|ticket| drop(ticket.wait().unwrap()));
    });
}

#[test]
fn every_metric_of_the_table_is_seen_and_described() {
    let seen = seen(|| {
        use_it(StoreMetrics::new());
        retry_it();
        work_it(WorkerMetrics::new());
    });
    for (name, n) in [
        ("pointstore_commands_applied_total", 3),
        ("pointstore_commands_replayed_total", 1),
        ("pointstore_commands_key_reused_total", 1),
        ("pointstore_commands_refused_total reason=insufficient_points", 1),
        ("pointstore_commands_refused_total reason=balance_overflow", 1),
        ("pointstore_commands_refused_total reason=sequence_mismatch", 1),
        ("pointstore_commands_refused_total reason=invalid", 1),
        ("pointstore_commands_failed_total kind=not_attempted", 1),
        ("pointstore_commands_failed_total kind=outcome_unknown", 1),
        ("pointstore_commands_failed_total kind=closed", 1),
        // Nothing was unreadable or damaged, and that is shown as zero.
        ("pointstore_commands_failed_total kind=unavailable", 0),
        ("pointstore_commands_failed_total kind=corrupt", 0),
        ("pointstore_poisonings_total", 1),
        ("pointstore_retries_total kind=busy", 3),
        ("pointstore_retries_total kind=outcome_unknown", 1),
        ("pointstore_retries_exhausted_total reason=attempts", 1),
        ("pointstore_retries_exhausted_total reason=retry_after", 1),
    ] {
        assert_eq!(count(&seen, name), n, "{name}");
    }
    // Two groups were written; the one that failed was not.
    assert_eq!(samples(&seen, "pointstore_group_entries", Unit::Count), 2);
    assert_eq!(samples(&seen, "pointstore_commit_seconds", Unit::Seconds), 2);
    assert_eq!(samples(&seen, "pointstore_sync_seconds", Unit::Seconds), 2);

    // What was seen is what the table has, and the other way round.
    let names: BTreeSet<_> = seen.keys().map(|key| key.split(' ').next().unwrap()).collect();
    let text = include_str!("../../src/metrics/mod.rs");
    let table: BTreeSet<_> =
        text.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('`').next()).collect();
    assert_eq!(names, table);
}

#[test]
fn labels_are_those_of_the_table_and_never_an_account_or_a_key() {
    let seen = seen(|| {
        use_it(StoreMetrics::named("loyalty"));
        retry_it();
        work_it(WorkerMetrics::named("rewards"));
    });
    let labels: BTreeSet<_> = seen.keys().flat_map(|key| key.split(' ').skip(1)).collect();
    insta::assert_snapshot!(labels.into_iter().collect::<Vec<_>>().join("\n"), @r"
    kind=busy
    kind=closed
    kind=corrupt
    kind=not_attempted
    kind=outcome_unknown
    kind=unavailable
    reason=attempts
    reason=balance_overflow
    reason=expired
    reason=insufficient_points
    reason=invalid
    reason=lost
    reason=panicked
    reason=retry_after
    reason=sequence_mismatch
    reason=stopped
    result=failed
    result=succeeded
    store=loyalty
    worker=rewards
    ");
    for key in seen.keys() {
        assert_eq!(key.contains("worker=rewards"), key.contains("_worker_"), "{key}");
        let of_store = !key.contains("_worker_") && !key.contains("retries");
        assert_eq!(key.contains("store=loyalty"), of_store, "{key}");
    }
}

#[test]
fn a_deadline_that_runs_out_is_an_exhausted_retry() {
    let seen = seen(|| {
        let policy = RetryPolicy::builder().deadline(SECOND).build().unwrap();
        let time = Time::oversleeping(SECOND * 2);
        time.retrier(&policy).run(script([ErrorKind::Busy, ErrorKind::Busy])).unwrap_err();
    });
    let value = &seen["pointstore_retries_exhausted_total reason=deadline"].2;
    assert_eq!(value, &DebugValue::Counter(1));
}
