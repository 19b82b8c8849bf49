//! Every name with its kind, unit and description, once.

use metrics::Unit;

/// What kind of metric a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric of this crate.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) name: &'static str,
    kind: Kind,
    unit: Unit,
    text: &'static str,
}

impl Name {
    const fn counter(name: &'static str, text: &'static str) -> Self {
        Self { name, kind: Kind::Counter, unit: Unit::Count, text }
    }

    const fn gauge(name: &'static str, text: &'static str) -> Self {
        Self { name, kind: Kind::Gauge, unit: Unit::Count, text }
    }

    const fn histogram(name: &'static str, unit: Unit, text: &'static str) -> Self {
        Self { name, kind: Kind::Histogram, unit, text }
    }

    fn describe(&self) {
        match self.kind {
            Kind::Counter => metrics::describe_counter!(self.name, self.unit, self.text),
            Kind::Gauge => metrics::describe_gauge!(self.name, self.unit, self.text),
            Kind::Histogram => metrics::describe_histogram!(self.name, self.unit, self.text),
        }
    }
}

pub(super) const APPLIED: Name =
    Name::counter("pointstore_commands_applied_total", "commands that had their effect");
pub(super) const REPLAYED: Name = Name::counter(
    "pointstore_commands_replayed_total",
    "commands that had had their effect before: retries and duplicates",
);
pub(super) const KEY_REUSED: Name = Name::counter(
    "pointstore_commands_key_reused_total",
    "commands whose key had been used for something else: a fault of a caller",
);
pub(super) const REFUSED: Name =
    Name::counter("pointstore_commands_refused_total", "commands that a rule refused");
pub(super) const FAILED: Name =
    Name::counter("pointstore_commands_failed_total", "commands that the store could not answer");
pub(super) const GROUP_ENTRIES: Name =
    Name::histogram("pointstore_group_entries", Unit::Count, "entries of each group that was written");
pub(super) const COMMIT: Name = Name::histogram(
    "pointstore_commit_seconds",
    Unit::Seconds,
    "from handing a group to the engine until it is durable and marked",
);
pub(super) const SYNC: Name =
    Name::histogram("pointstore_sync_seconds", Unit::Seconds, "the part of it that is the sync");
pub(super) const POISONINGS: Name =
    Name::counter("pointstore_poisonings_total", "failures after which a store took no more commands");
pub(crate) const RETRIES: Name =
    Name::counter("pointstore_retries_total", "waits begun before a further attempt, by the error's kind");
pub(crate) const RETRIES_EXHAUSTED: Name = Name::counter(
    "pointstore_retries_exhausted_total",
    "calls given up though another attempt might have succeeded",
);

pub(crate) const WORKER_QUEUED: Name =
    Name::gauge("pointstore_worker_queued_commands", "commands in the queue now");
pub(crate) const WORKER_WAIT: Name = Name::histogram(
    "pointstore_worker_wait_seconds",
    Unit::Seconds,
    "how long each command waited, from the call until it was taken for the store",
);
pub(crate) const WORKER_BATCH: Name = Name::histogram(
    "pointstore_worker_batch_commands",
    Unit::Count,
    "commands of each batch that was given to the store",
);
pub(crate) const WORKER_BUSY: Name = Name::counter(
    "pointstore_worker_busy_total",
    "commands that were turned away because the queue was full",
);
pub(crate) const WORKER_EXPIRED: Name = Name::counter(
    "pointstore_worker_expired_total",
    "accepted commands whose time was over before they were given to the store",
);
pub(crate) const WORKER_IN_DOUBT: Name = Name::counter(
    "pointstore_worker_in_doubt_total",
    "commands whose callers the worker told that their outcome is unknown",
);
pub(crate) const WORKER_REOPENINGS: Name = Name::counter(
    "pointstore_worker_reopenings_total",
    "how often a store that took no more commands was opened again, or was not",
);

const ALL: [Name; 18] = [
    APPLIED,
    REPLAYED,
    KEY_REUSED,
    REFUSED,
    FAILED,
    GROUP_ENTRIES,
    COMMIT,
    SYNC,
    POISONINGS,
    RETRIES,
    RETRIES_EXHAUSTED,
    WORKER_QUEUED,
    WORKER_WAIT,
    WORKER_BATCH,
    WORKER_BUSY,
    WORKER_EXPIRED,
    WORKER_IN_DOUBT,
    WORKER_REOPENINGS,
];

/// Gives the installed recorder the unit and the description of every name in the table of the
/// [module](crate::metrics).
///
/// [`StoreMetrics`](crate::metrics::StoreMetrics), and that of a worker, do it too; call it where only retries are counted.
///
/// # Examples
///
/// ```
/// use metrics_util::debugging::DebuggingRecorder;
///
/// let recorder = DebuggingRecorder::new();
/// let seen = recorder.snapshotter();
/// metrics::with_local_recorder(&recorder, || {
///     pointstore::metrics::describe();
///     metrics::counter!("pointstore_retries_total", "kind" => "busy").increment(1);
/// });
/// let (_, unit, description, _) = seen.snapshot().into_vec().remove(0);
/// assert_eq!(unit, Some(metrics::Unit::Count));
/// assert!(description.is_some());
/// ```
pub fn describe() {
    for name in &ALL {
        name.describe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_module_says_what_is_described() {
        let text = include_str!("mod.rs");
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter_map(|line| line.strip_prefix("//! | `"))
            .map(|row| row.split('|').map(|cell| cell.trim().trim_matches('`')).collect())
            .collect();
        assert_eq!(rows.len(), ALL.len());
        for (row, name) in rows.iter().zip(&ALL) {
            let kind = match name.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            assert_eq!(row[..3], [name.name, kind, name.unit.as_str()]);
            assert!(row[4].starts_with(name.text), "{}: {}", name.name, name.text);
            assert_eq!(name.name.ends_with("_total"), name.kind == Kind::Counter, "{}", name.name);
            assert_eq!(name.name.ends_with("_seconds"), name.unit == Unit::Seconds, "{}", name.name);
        }
    }
}
