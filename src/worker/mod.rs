//! A bounded worker in front of a store: for async callers on any runtime, and for threads that must not wait for the
//! disk (I1, I6, I7).
//!
//! Callers put commands into a queue of fixed size; one thread takes what has queued and gives it to
//! [`PointStore::apply_each`](crate::PointStore::apply_each), which is one sync of the disk for all of it. What is
//! promised at each step:
//!
//! | the command | its caller is told, if it ends there | and it |
//! |---|---|---|
//! | waits for room | *closed*, or *not attempted* when its limit is over; dropping the future is enough | has no effect |
//! | is turned away by [`try_apply`](Worker::try_apply) | *busy* | has no effect |
//! | is queued | *not attempted* when its limit, or that of a shutdown, is over | has no effect |
//! | is with the store | *outcome unknown* when a limit is over, or after a panic | may have its effect; the same key tells |
//! | is answered by the store | what the store says | as the store says |
//!
//! Dropping a future or a [`Ticket`] of an accepted command neither stops it nor takes anything back. No failure of a
//! delivery ends the worker.
//!
//! A limit is the only thing that ends a wait for a disk that hangs: the worker's thread writes for all its callers, and
//! whoever writes comes back when the system answers it. So where a disk can hang, use
//! [`apply_within`](Worker::apply_within) and [`shutdown_within`](Worker::shutdown_within).

mod block;
mod builder;
mod calm;
mod deliver;
mod error;
mod handle;
mod job;
#[cfg(feature = "metrics")]
mod metrics;
mod observe;
#[cfg(feature = "retry")]
mod retry;
mod shared;
mod stats;
mod ticket;
mod timer;

pub use self::builder::Builder;
pub use self::error::{Doubt, WorkerError};
pub use self::handle::{Stopped, Worker};
#[cfg(feature = "metrics")]
pub use self::metrics::WorkerMetrics;
pub use self::observe::WorkerObserver;
pub use self::stats::WorkerStats;
pub use self::ticket::Ticket;
