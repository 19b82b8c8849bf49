//! A store's answers, groups and failures as metrics.

use metrics::{Counter, Histogram, Label, counter, histogram};

use super::names::{self, Name};
use crate::{Answers, Fault, Observer, WrittenGroup};

/// Counts and measures what a store does, for [`Builder::observer`](crate::Builder::observer).
///
/// It belongs to the recorder that is installed when it is made: with none, it counts nothing. The table of names is
/// that of the [module](crate::metrics). Stores that share one, or have the same name, are added up.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use metrics_util::debugging::{DebugValue, DebuggingRecorder};
/// use pointstore::metrics::StoreMetrics;
/// use pointstore::{PointStore, Points};
///
/// let recorder = DebuggingRecorder::new();
/// let seen = recorder.snapshotter();
/// let folder = tempfile::tempdir()?;
/// // A program installs its recorder for good: `recorder.install()?`.
/// let metrics = metrics::with_local_recorder(&recorder, StoreMetrics::new);
/// let store = PointStore::builder().observer(metrics).open(folder.path())?;
/// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
///
/// let applied = seen.snapshot().into_vec().into_iter().find_map(|(key, _, _, value)| {
///     (key.key().name() == "pointstore_commands_applied_total").then_some(value)
/// });
/// assert_eq!(applied, Some(DebugValue::Counter(1)));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct StoreMetrics {
    applied: Counter,
    replayed: Counter,
    key_reused: Counter,
    insufficient_points: Counter,
    balance_overflow: Counter,
    sequence_mismatch: Counter,
    invalid: Counter,
    not_attempted: Counter,
    outcome_unknown: Counter,
    unavailable: Counter,
    corrupt: Counter,
    closed: Counter,
    group_entries: Histogram,
    commit: Histogram,
    sync: Histogram,
    poisonings: Counter,
}

impl StoreMetrics {
    /// Metrics without the label `store`, for a program with one store.
    #[must_use]
    pub fn new() -> Self {
        Self::labelled(Vec::new())
    }

    /// Metrics with the label `store`, for a program with several.
    ///
    /// The name is one of the program's own choice, from a small fixed set; never that of an account, a tenant or a key.
    ///
    /// # Examples
    ///
    /// ```
    /// use metrics_util::debugging::DebuggingRecorder;
    /// use pointstore::metrics::StoreMetrics;
    ///
    /// let recorder = DebuggingRecorder::new();
    /// let seen = recorder.snapshotter();
    /// let metrics = metrics::with_local_recorder(&recorder, || StoreMetrics::named("loyalty"));
    /// for (key, _, _, _) in seen.snapshot().into_vec() {
    ///     assert!(key.key().labels().any(|label| (label.key(), label.value()) == ("store", "loyalty")));
    /// }
    /// # drop(metrics);
    /// ```
    #[must_use]
    pub fn named(store: impl Into<String>) -> Self {
        Self::labelled(vec![Label::new("store", store.into())])
    }

    fn labelled(store: Vec<Label>) -> Self {
        names::describe();
        let with = |more: Option<(&'static str, &'static str)>| {
            let mut labels = store.clone();
            labels.extend(more.map(|(key, value)| Label::new(key, value)));
            labels
        };
        let plain = |name: &Name| counter!(name.name, with(None));
        let refused = |reason| counter!(names::REFUSED.name, with(Some(("reason", reason))));
        let failed = |kind| counter!(names::FAILED.name, with(Some(("kind", kind))));
        Self {
            applied: plain(&names::APPLIED),
            replayed: plain(&names::REPLAYED),
            key_reused: plain(&names::KEY_REUSED),
            insufficient_points: refused("insufficient_points"),
            balance_overflow: refused("balance_overflow"),
            sequence_mismatch: refused("sequence_mismatch"),
            invalid: refused("invalid"),
            not_attempted: failed("not_attempted"),
            outcome_unknown: failed("outcome_unknown"),
            unavailable: failed("unavailable"),
            corrupt: failed("corrupt"),
            closed: failed("closed"),
            group_entries: histogram!(names::GROUP_ENTRIES.name, with(None)),
            commit: histogram!(names::COMMIT.name, with(None)),
            sync: histogram!(names::SYNC.name, with(None)),
            poisonings: plain(&names::POISONINGS),
        }
    }
}

impl Default for StoreMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for StoreMetrics {
    fn answered(&self, answers: &Answers) {
        let Answers {
            applied,
            replayed,
            key_reused,
            sequence_mismatch,
            insufficient_points,
            balance_overflow,
            invalid,
            not_attempted,
            outcome_unknown,
            unavailable,
            corrupt,
            closed,
        } = *answers;
        for (counter, by) in [
            (&self.applied, applied),
            (&self.replayed, replayed),
            (&self.key_reused, key_reused),
            (&self.sequence_mismatch, sequence_mismatch),
            (&self.insufficient_points, insufficient_points),
            (&self.balance_overflow, balance_overflow),
            (&self.invalid, invalid),
            (&self.not_attempted, not_attempted),
            (&self.outcome_unknown, outcome_unknown),
            (&self.unavailable, unavailable),
            (&self.corrupt, corrupt),
            (&self.closed, closed),
        ] {
            if by > 0 {
                counter.increment(by);
            }
        }
    }

    fn group_written(&self, group: &WrittenGroup) {
        // A group has some hundreds of entries at most.
        self.group_entries.record(u32::try_from(group.entries).unwrap_or(u32::MAX));
        self.commit.record(group.committing());
        self.sync.record(group.syncing);
    }

    fn poisoned(&self, _: &Fault) {
        self.poisonings.increment(1);
    }
}
