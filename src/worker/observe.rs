//! Who is told what a worker does; for operators and their metrics, never with a name or a key.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::error::Doubt;
use super::timer::now;
use crate::contain::contain;

/// Is told what a worker does; set with [`Builder::observer`](super::Builder::observer).
///
/// What the store behind it does is told to an [`Observer`](crate::Observer) of that store. This one is called by callers
/// and by the worker's thread, from several at once, with no lock held; whoever calls waits for it, and the worker's
/// thread with all that has queued, so be quick. What it does not care for it leaves out. If it panics, the panic goes no
/// further. It must not keep the worker itself, which then would never end; nor ask it for anything and wait
/// ([`apply_blocking`](super::Worker::apply_blocking), [`shutdown_blocking`](super::Worker::shutdown_blocking)): on the
/// worker's own thread it would wait for itself.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::time::Duration;
/// use pointstore::worker::{Worker, WorkerObserver};
/// use pointstore::{Command, PointStore, Points};
///
/// #[derive(Default)]
/// struct Given(AtomicUsize);
///
/// impl WorkerObserver for Given {
///     fn taken(&self, waits: &[Duration]) {
///         self.0.fetch_add(waits.len(), Ordering::Relaxed);
///     }
/// }
///
/// let given = Arc::new(Given::default());
/// let worker = Worker::builder(PointStore::temporary()?).observer(Arc::clone(&given)).spawn()?;
/// let command = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
/// worker.apply_blocking(command)?;
/// assert_eq!(given.0.load(Ordering::Relaxed), 1);
/// # Ok(()) }
/// ```
pub trait WorkerObserver: Send + Sync {
    /// A command is in the queue. Told by its caller, and so perhaps a moment after it was taken out again.
    fn accepted(&self) {}

    /// A command was turned away because the queue was full.
    fn busy(&self) {}

    /// A batch is out of the queue and about to be given to the store: how long each of its commands waited, from the
    /// call on, for room and in the queue, in the order in which they were accepted. Never empty.
    fn taken(&self, waits: &[Duration]) {
        let _ = waits;
    }

    /// So many accepted commands, at least one, are out of the queue and will not be given to the store: their time, or
    /// that of a shutdown, was over.
    fn expired(&self, commands: usize) {
        let _ = commands;
    }

    /// The callers of so many commands, at least one, were told [`OutcomeUnknown`](super::WorkerError::OutcomeUnknown) by
    /// the worker, and why. What a store says of itself is told to the observer of the store.
    fn in_doubt(&self, doubt: Doubt, commands: usize) {
        let _ = (doubt, commands);
    }

    /// A store that took no more commands was opened again, or that did not succeed.
    fn reopened(&self, succeeded: bool) {
        let _ = succeeded;
    }
}

impl<O: WorkerObserver + ?Sized> WorkerObserver for Arc<O> {
    fn accepted(&self) {
        (**self).accepted();
    }

    fn busy(&self) {
        (**self).busy();
    }

    fn taken(&self, waits: &[Duration]) {
        (**self).taken(waits);
    }

    fn expired(&self, commands: usize) {
        (**self).expired(commands);
    }

    fn in_doubt(&self, doubt: Doubt, commands: usize) {
        (**self).in_doubt(doubt, commands);
    }

    fn reopened(&self, succeeded: bool) {
        (**self).reopened(succeeded);
    }
}

/// The observer of a worker, if it has one. Its panics end here.
#[derive(Clone, Default)]
pub(super) struct Observers(Option<Arc<dyn WorkerObserver>>);

impl Observers {
    /// Tells this one.
    pub(super) fn new(observer: impl WorkerObserver + 'static) -> Self {
        Self(Some(Arc::new(observer)))
    }

    /// Now, for a command whose wait begins; nothing where nobody wants to know.
    pub(super) fn begin(&self) -> Option<Duration> {
        self.0.as_ref().map(|_| now())
    }

    /// Tells of a batch by when the waits of its commands began.
    pub(super) fn taken(&self, begun: &[Duration]) {
        if !begun.is_empty() {
            self.tell(|observer| {
                let now = now();
                let waits: Vec<_> = begun.iter().map(|begun| now.saturating_sub(*begun)).collect();
                observer.taken(&waits);
            });
        }
    }

    pub(super) fn accepted(&self) {
        self.tell(|observer| observer.accepted());
    }

    pub(super) fn busy(&self) {
        self.tell(|observer| observer.busy());
    }

    pub(super) fn expired(&self, commands: usize) {
        if commands > 0 {
            self.tell(|observer| observer.expired(commands));
        }
    }

    pub(super) fn in_doubt(&self, doubt: Doubt, commands: usize) {
        if commands > 0 {
            self.tell(|observer| observer.in_doubt(doubt, commands));
        }
    }

    pub(super) fn reopened(&self, succeeded: bool) {
        self.tell(|observer| observer.reopened(succeeded));
    }

    fn tell(&self, tell: impl FnOnce(&dyn WorkerObserver)) {
        if let Some(observer) = &self.0 {
            // Nothing of the worker is half done while it is told of.
            let _ = contain(|| tell(&**observer));
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observers").field(&self.0.is_some()).finish()
    }
}
