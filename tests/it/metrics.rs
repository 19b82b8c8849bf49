//! Every metric of the table is seen, described, and free of names and keys.

use std::collections::{BTreeMap, BTreeSet};

use metrics::Unit;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use pointstore::metrics::StoreMetrics;
use pointstore::retry::RetryPolicy;
use pointstore::testing::{Failure, SimDisk, Step};
use pointstore::{ErrorKind, PointStore};

use crate::cases::{grant, redeem};
use crate::retry::{Answer, SECOND, Time, script};

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

#[test]
fn every_metric_of_the_table_is_seen_and_described() {
    let seen = seen(|| {
        use_it(StoreMetrics::new());
        retry_it();
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
    reason=insufficient_points
    reason=invalid
    reason=retry_after
    reason=sequence_mismatch
    store=loyalty
    ");
    let of_store = |key: &&String| !key.contains("retries");
    assert!(seen.keys().filter(of_store).all(|key| key.contains("store=loyalty")));
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
