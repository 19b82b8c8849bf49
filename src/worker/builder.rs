//! How a worker is started: how much it holds, and what it does about a store that failed.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

use super::deliver::{Acks, Delivery, OnPoisoned};
use super::handle::Worker;
use super::observe::{Observers, WorkerObserver};
use super::shared::{Flight, Shared};
use super::stats::Counters;
use super::timer::Timer;
use crate::{ApplyError, OpenError, PointStore};

const CAPACITY: usize = 1024;

/// Of the queue, whose places are made when the worker is started, some 300 bytes each; and of a batch.
const CAPACITY_MAX: usize = 1 << 20;

/// About what one group holds.
const BATCH: usize = 512;

/// Options of a worker; [`Worker::builder`] starts one.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::PointStore;
/// use pointstore::worker::Worker;
///
/// let worker = Worker::builder(PointStore::temporary()?).capacity(64).name("points").spawn()?;
/// assert_eq!(worker.stats().capacity, 64);
/// # Ok(()) }
/// ```
pub struct Builder {
    store: PointStore,
    capacity: usize,
    batch_most: usize,
    name: String,
    on_poisoned: Option<OnPoisoned>,
    observers: Observers,
    acks: Option<Arc<dyn Acks>>,
}

impl Builder {
    pub(super) fn new(store: PointStore) -> Self {
        Self {
            store,
            capacity: CAPACITY,
            batch_most: BATCH,
            name: "pointstore-worker".to_owned(),
            on_poisoned: None,
            observers: Observers::default(),
            acks: None,
        }
    }

    /// How many commands may wait: 1,024 unless set, from 1 to 1,048,576.
    ///
    /// Those that the store is at work on, a [batch](Self::batch_at_most), come on top. Whoever comes when it is full
    /// waits, or is told *busy*; nothing is dropped, and the queue never grows.
    #[must_use]
    pub fn capacity(mut self, commands: usize) -> Self {
        self.capacity = commands.clamp(1, CAPACITY_MAX);
        self
    }

    /// How many commands are given to the store in one call: 512 unless set, from 1 to 1,048,576.
    ///
    /// Callers of one batch are answered together. What fits into one group of the store shares one sync of the disk;
    /// that is some hundreds.
    #[must_use]
    pub fn batch_at_most(mut self, commands: usize) -> Self {
        self.batch_most = commands.clamp(1, CAPACITY_MAX);
        self
    }

    /// The name of the worker's thread, as debuggers and the system show it; `pointstore-worker` unless set. A zero
    /// byte in it is left out.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into().replace('\0', "");
        self
    }

    /// What opens the store again when it takes no more commands.
    ///
    /// After a failed write a store is finished until it is opened again, see [`ApplyError::needs_reopen`]. `reopen`
    /// gets that store and the error, closes the one and gives another, with which the worker goes on: its handles and
    /// what is queued stay. It runs on the worker's thread, when a command has met the error, and again with each batch
    /// until it succeeds. A panic in it counts as a failure.
    ///
    /// Since that thread is the one that answers, a hook that asks the worker for anything and waits
    /// ([`apply_blocking`](Worker::apply_blocking), [`shutdown_blocking`](Worker::shutdown_blocking)) waits for itself. And
    /// it must not keep the worker, which then would never end. It also runs for a store that was closed on purpose.
    ///
    /// Those whom the failure concerns are told before, so that their retries wait for the store that comes: whoever
    /// was told *outcome unknown* gets the truth. Commands that came after the failure, which were answered with
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed), are given to the new store instead.
    ///
    /// Without this, the worker goes on to answer with the store's error.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::worker::Worker;
    /// use pointstore::{Command, PointStore, Points};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().to_owned();
    /// let store = PointStore::open(&path)?;
    /// let worker = Worker::builder(store.clone())
    ///     .on_poisoned(move |failed, _error| {
    ///         // It failed before, and says so again: that is expected here.
    ///         let _ = failed.close();
    ///         // Never a new store in the place of one that was there.
    ///         PointStore::builder().create(false).open(&path)
    ///     })
    ///     .spawn()?;
    ///
    /// store.close()?; // As good as a failure.
    /// let command = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
    /// assert!(!worker.apply_blocking(command)?.is_replay());
    /// assert_eq!(worker.store().balance(&"alice".parse()?).get(), 5);
    /// assert_eq!(worker.stats().reopened, 1);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn on_poisoned(
        mut self,
        reopen: impl FnMut(&PointStore, &ApplyError) -> Result<PointStore, OpenError> + Send + 'static,
    ) -> Self {
        self.on_poisoned = Some(Box::new(reopen));
        self
    }

    /// Who is told what the worker does: nobody unless set, and then it costs nothing. See [`WorkerObserver`] for an
    /// example; with the feature `metrics` a `WorkerMetrics` is one.
    #[must_use]
    pub fn observer(mut self, observer: impl WorkerObserver + 'static) -> Self {
        self.observers = Observers::new(observer);
        self
    }

    /// Has answers get lost behind the store, as [`LostAcks`](crate::testing::LostAcks) says: for tests of how a program
    /// retries.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn lose_acks(mut self, acks: &crate::testing::LostAcks) -> Self {
        self.acks = Some(Arc::new(acks.clone()));
        self
    }

    /// Starts the worker: a thread that delivers, and one that watches limits and wakes those who wait for room.
    ///
    /// # Errors
    ///
    /// What the system answers where it cannot start another thread. The store is dropped then; clones of it go on.
    pub fn spawn(self) -> io::Result<Worker> {
        let (queue, jobs) = async_channel::bounded(self.capacity);
        let (ending, ended) = async_channel::bounded(1);
        let shared = Arc::new(Shared {
            jobs,
            flight: Mutex::new(Flight::default()),
            store: Mutex::new(self.store),
            counters: Counters::default(),
            observers: self.observers,
            timer: Timer::spawn(&self.name)?,
            ended,
        });
        let delivery = Delivery {
            shared: Arc::clone(&shared),
            batch_most: self.batch_most,
            on_poisoned: self.on_poisoned,
            acks: self.acks,
            _ended: ending,
        };
        thread::Builder::new().name(self.name).spawn(move || delivery.run())?;
        Ok(Worker::new(queue, shared))
    }
}

#[cfg(any(test, feature = "testing"))]
impl Acks for crate::testing::LostAcks {
    fn loses(&self, command: &crate::Command) -> bool {
        Self::loses(self, command)
    }

    fn is_silent(&self) -> bool {
        Self::is_silent(self)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("store", &self.store)
            .field("capacity", &self.capacity)
            .field("batch_most", &self.batch_most)
            .field("name", &self.name)
            .field("on_poisoned", &self.on_poisoned.is_some())
            .field("observers", &self.observers)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // With callers that push as fast as it takes, a batch without a bound would never be full.
    #[test]
    fn a_batch_has_a_bound_whatever_is_asked_for() {
        for (asked, is) in [(0, 1), (1, 1), (600, 600), (usize::MAX, 1 << 20)] {
            let builder = Worker::builder(PointStore::temporary().unwrap()).batch_at_most(asked);
            assert_eq!(builder.batch_most, is);
        }
    }
}
