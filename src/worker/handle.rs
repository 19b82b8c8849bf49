//! The handle that callers hold: applying in all its forms, shutting down, counts.

use std::sync::Arc;
use std::time::Duration;

use async_channel::{Sender, TrySendError};

use super::block::block_on;
use super::builder::Builder;
use super::calm::calm;
use super::error::{Doubt, WorkerError};
use super::job::Job;
use super::shared::Shared;
use super::stats::WorkerStats;
use super::ticket::Ticket;
use super::timer::deadline_in;
use crate::{Command, Outcome, PointStore};

/// A bounded queue in front of a store, and a thread that works it off.
///
/// Cloning is cheap, and all clones are the same worker. Commands are given to the store in the order in which they
/// were accepted, all that have queued in one call, so that async callers share syncs of the disk as threads do.
///
/// Without a limit, an accepted command is always applied or refused by the store, whether or not somebody waits for
/// it, unless a [shutdown](Self::shutdown_within) runs out of time. When the last handle is dropped, what was accepted
/// is worked off, and nobody waits for that; a program that is about to end calls [`shutdown`](Self::shutdown).
///
/// It takes single commands. An atomic list, such as a [transfer](Command::transfer), goes to the [store](Self::store)
/// itself with [`apply_atomic`](PointStore::apply_atomic), on a thread that may wait for the disk: from async code with
/// the runtime's `spawn_blocking`. It does not wait for what is queued here.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::worker::Worker;
/// use pointstore::{Command, PointStore, Points};
///
/// let worker = Worker::builder(PointStore::temporary()?).spawn()?;
/// let command = Command::grant("alice".parse()?, "order-99".parse()?, Points::new(100)?);
/// # smol::block_on(async {
/// let first = worker.apply(command.clone()).await?;
/// let again = worker.apply(command).await?;
/// assert!(!first.is_replay() && again.is_replay());
/// worker.shutdown().await;
/// # Ok::<(), pointstore::worker::WorkerError>(()) })?;
/// assert_eq!(worker.store().balance(&"alice".parse()?).get(), 100);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Worker {
    queue: Sender<Job>,
    shared: Arc<Shared>,
}

/// How a shutdown with a limit went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// Accepted commands that the store was not given any more, at least: one that the worker's thread had in hand, on
    /// its way out of the queue, is not counted. Their callers were told so.
    pub not_attempted: usize,
    /// Commands that the store was at work on when the time was over, at least: one whose answer was on its way back is
    /// not counted. Their callers, if they still waited, were told *outcome unknown*.
    pub in_doubt: usize,
    in_time: bool,
}

impl Stopped {
    /// Whether everything accepted was worked off in time, as far as this call goes: what another one with a shorter limit
    /// turned away is in the result of that. That both counts are zero does not say so.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.in_time
    }
}

impl Worker {
    /// Options for starting a worker on a store. The store may go on to be used directly, too.
    #[must_use]
    pub fn builder(store: PointStore) -> Builder {
        Builder::new(store)
    }

    pub(super) fn new(queue: Sender<Job>, shared: Arc<Shared>) -> Self {
        Self { queue, shared }
    }

    /// Applies a command: waits for room, then for the answer. See [`Worker`] for an example.
    ///
    /// Dropped while it waits for room, it has no effect. Dropped later, it has its effect all the same; ask again
    /// with the same key to learn of it.
    ///
    /// Poll it or drop it: room that gets free is offered to the one who has waited longest, and goes on to the next only
    /// when that one has taken it or is dropped. A future that waits for room and is kept without being polled, such as
    /// one that a `select!` by reference has left, holds up those behind it for as long as it is there, also threads in
    /// [`apply_blocking`](Self::apply_blocking).
    ///
    /// # Errors
    ///
    /// [`WorkerError::Apply`] with what the store answered; [`WorkerError::Closed`] after a shutdown, and then nothing
    /// was attempted; [`WorkerError::OutcomeUnknown`] where the answer did not come back.
    pub async fn apply(&self, command: Command) -> Result<Outcome, WorkerError> {
        self.submit(command).await?.await
    }

    /// Waits for room, and gives a ticket for the answer.
    ///
    /// For a caller who has more to do than to wait, or who wants many commands in order. While it waits for room, poll
    /// it or drop it, as for [`apply`](Self::apply); the ticket may be left alone.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Closed`] after a shutdown: nothing was accepted.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::worker::Worker;
    /// use pointstore::{Command, PointStore, Points};
    ///
    /// let worker = Worker::builder(PointStore::temporary()?).spawn()?;
    /// let grant = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
    /// # smol::block_on(async {
    /// let first = worker.submit(grant.clone()).await?;
    /// let second = worker.submit(grant).await?;
    /// assert!(second.await?.is_replay());
    /// assert!(!first.await?.is_replay());
    /// # Ok::<(), pointstore::worker::WorkerError>(()) })?;
    /// # Ok(()) }
    /// ```
    pub async fn submit(&self, command: Command) -> Result<Ticket, WorkerError> {
        let (job, answers) = Job::new(command, self.shared.observers.begin());
        self.enqueue(job).await?;
        self.shared.accepted();
        Ok(Ticket::new(answers))
    }

    /// Waits for room.
    async fn enqueue(&self, job: Job) -> Result<(), WorkerError> {
        match self.queue.try_send(job) {
            Ok(()) => Ok(()),
            // Whoever makes room has it woken: the worker's thread, a shutdown, or one that waited, too, and goes away.
            Err(TrySendError::Full(job)) => {
                calm(&self.shared.timer, self.queue.send(job)).await.map_err(|_| WorkerError::Closed)
            }
            Err(TrySendError::Closed(_)) => Err(WorkerError::Closed),
        }
    }

    /// Accepts a command if there is room at once. See [`Ticket`] for an example.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Busy`] if the queue is full, [`WorkerError::Closed`] after a shutdown: nothing was accepted.
    pub fn try_apply(&self, command: Command) -> Result<Ticket, WorkerError> {
        let (job, answers) = Job::new(command, self.shared.observers.begin());
        match self.queue.try_send(job) {
            Ok(()) => {
                self.shared.accepted();
                Ok(Ticket::new(answers))
            }
            Err(TrySendError::Full(_)) => {
                self.shared.busy();
                Err(WorkerError::Busy { capacity: self.queue.capacity().unwrap_or(usize::MAX) })
            }
            Err(TrySendError::Closed(_)) => Err(WorkerError::Closed),
        }
    }

    /// Applies a command within a limit that begins now, or says what is known when the limit is over.
    ///
    /// The limit is for all of it: for room, for the queue, for the store. It says until when the command may be given
    /// to the store; from then on it cannot be taken back. So, when the limit is over:
    ///
    /// - Before the store was given it, it never will be: [`WorkerError::Expired`].
    /// - After that, its outcome is unknown, and it may still happen: [`WorkerError::OutcomeUnknown`]. Ask again with
    ///   the same key.
    ///
    /// A limit of zero is over at once; one of [`Duration::MAX`] never is.
    ///
    /// While it waits for room, poll it or drop it, as for [`apply`](Self::apply): its limit ends that wait only when it
    /// is polled. Dropping it then is enough to withdraw the command. Later it is not: the command may be given to the
    /// store until its limit is over, as if somebody still waited.
    ///
    /// # Errors
    ///
    /// These two, and those of [`apply`](Self::apply).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::worker::{Worker, WorkerError};
    /// use pointstore::{Command, PointStore, Points};
    /// use std::time::Duration;
    ///
    /// let worker = Worker::builder(PointStore::temporary()?).spawn()?;
    /// let grant = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
    /// # smol::block_on(async {
    /// let late = worker.apply_within(grant.clone(), Duration::ZERO).await;
    /// assert_eq!(late.unwrap_err(), WorkerError::Expired);
    /// // It was not attempted: this is the first attempt.
    /// assert!(!worker.apply_within(grant, Duration::from_secs(60)).await?.is_replay());
    /// # Ok::<(), WorkerError>(()) })?;
    /// # Ok(()) }
    /// ```
    pub async fn apply_within(&self, command: Command, limit: Duration) -> Result<Outcome, WorkerError> {
        if self.queue.is_closed() {
            return Err(WorkerError::Closed);
        }
        if limit.is_zero() {
            return Err(WorkerError::Expired);
        }
        let (deadline, timer) = (deadline_in(limit), &self.shared.timer);
        let (job, answers, claim) = Job::until(command, self.shared.observers.begin(), deadline);
        timer.before(deadline, self.enqueue(job)).await.unwrap_or(Err(WorkerError::Expired))?;
        self.shared.accepted();
        let mut ticket = Ticket::new(answers);
        if let Some(answer) = timer.before(deadline, &mut ticket).await {
            return answer;
        }
        if claim.withdraw() {
            return Err(WorkerError::Expired);
        }
        // It may have come in the meantime.
        ticket.answered().unwrap_or_else(|| {
            self.shared.in_doubt(1, Doubt::Expired);
            Err(WorkerError::OutcomeUnknown(Doubt::Expired))
        })
    }

    /// [`apply`](Self::apply), for a thread that may wait: not one that drives async tasks.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::worker::Worker;
    /// use pointstore::{Command, ErrorKind, PointStore, Points};
    ///
    /// let worker = Worker::builder(PointStore::temporary()?).spawn()?;
    /// let gift = Command::redeem("alice".parse()?, "gift-1".parse()?, Points::new(5)?);
    /// let error = worker.apply_blocking(gift).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Rejected);
    /// # Ok(()) }
    /// ```
    pub fn apply_blocking(&self, command: Command) -> Result<Outcome, WorkerError> {
        block_on(self.apply(command))
    }

    /// [`apply_within`](Self::apply_within), for a thread that may wait: not one that drives async tasks.
    ///
    /// # Errors
    ///
    /// As [`apply_within`](Self::apply_within).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::worker::Worker;
    /// use pointstore::{Command, PointStore, Points};
    /// use std::time::Duration;
    ///
    /// let worker = Worker::builder(PointStore::temporary()?).spawn()?;
    /// let grant = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
    /// let outcome = worker.apply_blocking_within(grant, Duration::from_secs(60))?;
    /// assert_eq!(outcome.receipt().points().get(), 5);
    /// # Ok(()) }
    /// ```
    pub fn apply_blocking_within(&self, command: Command, limit: Duration) -> Result<Outcome, WorkerError> {
        block_on(self.apply_within(command, limit))
    }

    /// Accepts nothing more, from any handle, and waits until everything accepted is answered.
    ///
    /// Those who wait for room are told [`WorkerError::Closed`], as is everyone who comes later. It takes as long as the
    /// store does, and without end where the disk hangs: use [`shutdown_within`](Self::shutdown_within) there. The store
    /// stays open, for whoever closes it. Dropped before it is done, the worker still ends. See [`Worker`] for an example.
    pub async fn shutdown(&self) {
        self.queue.close();
        // Nothing is ever sent: it ends with the thread.
        let _ = calm(&self.shared.timer, self.shared.ended.recv()).await;
    }

    /// [`shutdown`](Self::shutdown), with a limit: when that is over, whoever still waits is answered with what is known.
    ///
    /// What is queued then is not attempted any more, [`WorkerError::Expired`]; what the store is at work on may still
    /// happen, [`WorkerError::OutcomeUnknown`]. The thread ends when the store lets go of it.
    ///
    /// Dropped before it is done, it goes on as [`shutdown`](Self::shutdown) would, without the limit. Where several
    /// shut one worker down, the limit that is over first is the end for all of them, and each result tells of its own
    /// call alone.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::worker::{Worker, WorkerError};
    /// use pointstore::{Command, PointStore, Points};
    /// use std::time::Duration;
    ///
    /// let worker = Worker::builder(PointStore::temporary()?).spawn()?;
    /// # smol::block_on(async {
    /// assert!(worker.shutdown_within(Duration::from_secs(60)).await.is_complete());
    /// # });
    /// let grant = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
    /// assert_eq!(worker.apply_blocking(grant).unwrap_err(), WorkerError::Closed);
    /// # Ok(()) }
    /// ```
    pub async fn shutdown_within(&self, limit: Duration) -> Stopped {
        match self.shared.timer.before(deadline_in(limit), self.shutdown()).await {
            Some(()) => Stopped { not_attempted: 0, in_doubt: 0, in_time: true },
            None => {
                let (not_attempted, in_doubt) = self.shared.stop();
                Stopped { not_attempted, in_doubt, in_time: false }
            }
        }
    }

    /// [`shutdown`](Self::shutdown), for a thread that may wait: not one that drives async tasks.
    pub fn shutdown_blocking(&self) {
        block_on(self.shutdown());
    }

    /// [`shutdown_within`](Self::shutdown_within), for a thread that may wait: not one that drives async tasks.
    pub fn shutdown_blocking_within(&self, limit: Duration) -> Stopped {
        block_on(self.shutdown_within(limit))
    }

    /// The store that commands are given to now, for reading and for closing it behind a shutdown.
    ///
    /// After a failure it is another one, see [`Builder::on_poisoned`]: ask again rather than keep it.
    #[must_use]
    pub fn store(&self) -> PointStore {
        self.shared.store.lock().clone()
    }

    /// What the worker has done, and what is in it. See [`WorkerStats`] for an example.
    #[must_use]
    pub fn stats(&self) -> WorkerStats {
        self.shared.stats()
    }
}
