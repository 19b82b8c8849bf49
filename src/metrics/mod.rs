//! Metrics for the `metrics` facade: what a store did, how long it took, how retries went, and what queues at a worker.
//!
//! Install a recorder first, such as that of `metrics-exporter-prometheus`; then give a [`StoreMetrics`] to
//! [`Builder::observer`](crate::Builder::observer). Retries need nothing but both features. A
//! worker (feature `worker`) is given a `WorkerMetrics`, from its own module, in the same way.
//!
//! | name | kind | unit | labels | counts or measures |
//! |---|---|---|---|---|
//! | `pointstore_commands_applied_total` | counter | count | `store` | commands that had their effect |
//! | `pointstore_commands_replayed_total` | counter | count | `store` | commands that had had their effect before: retries and duplicates |
//! | `pointstore_commands_key_reused_total` | counter | count | `store` | commands whose key had been used for something else: a fault of a caller |
//! | `pointstore_commands_refused_total` | counter | count | `store`, `reason` | commands that a rule refused: `insufficient_points`, `balance_overflow`, `sequence_mismatch`, `invalid` |
//! | `pointstore_commands_failed_total` | counter | count | `store`, `kind` | commands that the store could not answer: `not_attempted`, `outcome_unknown`, `unavailable`, `corrupt`, `closed` |
//! | `pointstore_group_entries` | histogram | count | `store` | entries of each group that was written |
//! | `pointstore_commit_seconds` | histogram | seconds | `store` | from handing a group to the engine until it is durable and marked |
//! | `pointstore_sync_seconds` | histogram | seconds | `store` | the part of it that is the sync |
//! | `pointstore_poisonings_total` | counter | count | `store` | failures after which a store took no more commands |
//! | `pointstore_retries_total` | counter | count | `kind` | waits begun before a further attempt, by the error's kind (feature `retry`) |
//! | `pointstore_retries_exhausted_total` | counter | count | `reason` | calls given up though another attempt might have succeeded: `attempts`, `deadline`, `retry_after` (feature `retry`) |
//! | `pointstore_worker_queued_commands` | gauge | count | `worker` | commands in the queue now |
//! | `pointstore_worker_wait_seconds` | histogram | seconds | `worker` | how long each command waited, from the call until it was taken for the store: for room, and in the queue |
//! | `pointstore_worker_batch_commands` | histogram | count | `worker` | commands of each batch that was given to the store |
//! | `pointstore_worker_busy_total` | counter | count | `worker` | commands that were turned away because the queue was full |
//! | `pointstore_worker_expired_total` | counter | count | `worker` | accepted commands whose time was over before they were given to the store: definitely not attempted |
//! | `pointstore_worker_in_doubt_total` | counter | count | `worker`, `reason` | commands whose callers the worker told that their outcome is unknown: `expired`, `stopped`, `panicked`, `lost` |
//! | `pointstore_worker_reopenings_total` | counter | count | `worker`, `result` | how often a store that took no more commands was opened again, or was not: `succeeded`, `failed` |
//!
//! Commands of an atomic list count each; a list that is refused or fails counts once. The label `store` is there where
//! the program named the store, see [`StoreMetrics::named`], and `worker` likewise. The gauge can be off, for a moment, by
//! callers who are just coming. No account, tenant, key or memo is ever in a label.

mod names;
mod store;

pub use self::names::describe;
#[cfg(feature = "worker")]
pub(crate) use self::names::{
    Name, WORKER_BATCH, WORKER_BUSY, WORKER_EXPIRED, WORKER_IN_DOUBT, WORKER_QUEUED, WORKER_REOPENINGS,
    WORKER_WAIT,
};
#[cfg(feature = "retry")]
pub(crate) use self::names::{RETRIES, RETRIES_EXHAUSTED};
pub use self::store::StoreMetrics;
