//! A worker's queue, batches and failures as metrics, where the feature `metrics` is on, too.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Label, counter, gauge, histogram};

use super::error::Doubt;
use super::observe::WorkerObserver;
use crate::metrics::{
    Name, WORKER_BATCH, WORKER_BUSY, WORKER_EXPIRED, WORKER_IN_DOUBT, WORKER_QUEUED, WORKER_REOPENINGS,
    WORKER_WAIT, describe,
};

/// Counts and measures what a worker does, for [`Builder::observer`](super::Builder::observer).
///
/// It belongs to the recorder that is installed when it is made: with none, it counts nothing. The table of names is
/// that of the [module `metrics`](crate::metrics). Workers that share one, or have the same name, are added up. The store
/// behind a worker has metrics of its own, [`StoreMetrics`](crate::metrics::StoreMetrics).
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use metrics_util::debugging::{DebugValue, DebuggingRecorder};
/// use pointstore::worker::{Worker, WorkerMetrics};
/// use pointstore::{Command, PointStore, Points};
///
/// let recorder = DebuggingRecorder::new();
/// let seen = recorder.snapshotter();
/// // A program installs its recorder for good: `recorder.install()?`.
/// let metrics = metrics::with_local_recorder(&recorder, WorkerMetrics::new);
/// let worker = Worker::builder(PointStore::temporary()?).observer(metrics).spawn()?;
/// worker.apply_blocking(Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?))?;
///
/// let batches = seen.snapshot().into_vec().into_iter().find_map(|(key, _, _, value)| {
///     (key.key().name() == "pointstore_worker_batch_commands").then_some(value)
/// });
/// assert_eq!(batches, Some(DebugValue::Histogram(vec![1.0.into()])));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct WorkerMetrics {
    queued: Gauge,
    wait: Histogram,
    batch: Histogram,
    busy: Counter,
    expired: Counter,
    doubt_expired: Counter,
    doubt_stopped: Counter,
    doubt_panicked: Counter,
    doubt_lost: Counter,
    reopened: Counter,
    not_reopened: Counter,
}

impl WorkerMetrics {
    /// Metrics without the label `worker`, for a program with one worker.
    #[must_use]
    pub fn new() -> Self {
        Self::labelled(Vec::new())
    }

    /// Metrics with the label `worker`, for a program with several.
    ///
    /// The name is one of the program's own choice, from a small fixed set; never that of an account, a tenant or a key.
    ///
    /// # Examples
    ///
    /// ```
    /// use metrics_util::debugging::DebuggingRecorder;
    /// use pointstore::worker::WorkerMetrics;
    ///
    /// let recorder = DebuggingRecorder::new();
    /// let seen = recorder.snapshotter();
    /// let metrics = metrics::with_local_recorder(&recorder, || WorkerMetrics::named("rewards"));
    /// for (key, _, _, _) in seen.snapshot().into_vec() {
    ///     assert!(key.key().labels().any(|label| (label.key(), label.value()) == ("worker", "rewards")));
    /// }
    /// # drop(metrics);
    /// ```
    #[must_use]
    pub fn named(worker: impl Into<String>) -> Self {
        Self::labelled(vec![Label::new("worker", worker.into())])
    }

    fn labelled(worker: Vec<Label>) -> Self {
        describe();
        let with = |more: Option<(&'static str, &'static str)>| {
            let mut labels = worker.clone();
            labels.extend(more.map(|(key, value)| Label::new(key, value)));
            labels
        };
        let plain = |name: &Name| counter!(name.name, with(None));
        let doubt = |reason| counter!(WORKER_IN_DOUBT.name, with(Some(("reason", reason))));
        let reopenings = |result| counter!(WORKER_REOPENINGS.name, with(Some(("result", result))));
        Self {
            queued: gauge!(WORKER_QUEUED.name, with(None)),
            wait: histogram!(WORKER_WAIT.name, with(None)),
            batch: histogram!(WORKER_BATCH.name, with(None)),
            busy: plain(&WORKER_BUSY),
            expired: plain(&WORKER_EXPIRED),
            doubt_expired: doubt("expired"),
            doubt_stopped: doubt("stopped"),
            doubt_panicked: doubt("panicked"),
            doubt_lost: doubt("lost"),
            reopened: reopenings("succeeded"),
            not_reopened: reopenings("failed"),
        }
    }
}

impl Default for WorkerMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl WorkerObserver for WorkerMetrics {
    fn accepted(&self) {
        self.queued.increment(1);
    }

    fn busy(&self) {
        self.busy.increment(1);
    }

    fn taken(&self, waits: &[Duration]) {
        let batch = small(waits.len());
        self.queued.decrement(batch);
        self.batch.record(batch);
        waits.iter().for_each(|wait| self.wait.record(*wait));
    }

    fn expired(&self, commands: usize) {
        self.queued.decrement(small(commands));
        self.expired.increment(commands as u64);
    }

    fn in_doubt(&self, doubt: Doubt, commands: usize) {
        let counter = match doubt {
            Doubt::Expired => &self.doubt_expired,
            Doubt::Stopped => &self.doubt_stopped,
            Doubt::Panicked => &self.doubt_panicked,
            Doubt::Lost => &self.doubt_lost,
        };
        counter.increment(commands as u64);
    }

    fn reopened(&self, succeeded: bool) {
        if succeeded { self.reopened.increment(1) } else { self.not_reopened.increment(1) }
    }
}

/// A number of commands; a queue holds a million at most.
fn small(commands: usize) -> u32 {
    u32::try_from(commands).unwrap_or(u32::MAX)
}
