//! Runs an operation under a policy, blocking or async, on a clock and a sleeper of one's choice.

use std::future::Future;
use std::sync::Arc;

use super::attempts::{Attempts, Reopening};
use super::{AsyncSleeper, RetryError, RetryPolicy, Retryable, Sleeper, Timer};
use crate::{Clock, SystemClock};

/// A policy with the clock and the sleeper that it runs on; [`RetryPolicy::retrier`] makes one.
///
/// # Examples
///
/// A test that waits for nothing: the sleeper moves the clock.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use pointstore::{Clock, ManualClock, StorageError, Timestamp};
/// use pointstore::retry::RetryPolicy;
///
/// let clock = ManualClock::at(Timestamp::from_unix_millis(0));
/// let moved = clock.clone();
/// let policy = RetryPolicy::builder().attempts(4).build()?;
/// let retrier = policy.retrier().clock(clock.clone()).sleeper(move |delay: Duration| moved.advance(delay));
///
/// let mut full = 3;
/// let answer = retrier.run(|| {
///     full -= 1;
///     if full > 0 { Err(StorageError::DiskFull { available: 0, needed: 1 }) } else { Ok("written") }
/// })?;
/// assert_eq!(answer, "written");
/// assert!(clock.monotonic() <= Duration::from_millis(50 + 100));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[must_use = "it does nothing until something is run"]
pub struct Retrier<S = Timer> {
    policy: RetryPolicy,
    clock: Arc<dyn Clock>,
    sleeper: S,
    seed: Option<u64>,
}

impl RetryPolicy {
    /// The policy on the system's clock and a [`Timer`], which can be exchanged. See [`Retrier`] for an example.
    pub fn retrier(&self) -> Retrier {
        Retrier { policy: *self, clock: Arc::new(SystemClock), sleeper: Timer, seed: None }
    }

    /// Runs an operation until it succeeds, is answered for good, or the policy gives up; blocks while it waits.
    ///
    /// The operation must ask for the same thing each time, with the same key.
    ///
    /// # Errors
    ///
    /// [`RetryError`] has the last attempt's error, why there was no further one, and what is known.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::PointStore;
    /// use pointstore::retry::RetryPolicy;
    ///
    /// let folder = tempfile::tempdir()?;
    /// // Another process may still have it open, for a moment.
    /// let store = RetryPolicy::default().run(|| PointStore::open(folder.path()))?;
    /// assert!(store.opened().created());
    /// # Ok(()) }
    /// ```
    pub fn run<T, E: Retryable>(&self, operation: impl FnMut() -> Result<T, E>) -> Result<T, RetryError<E>> {
        self.retrier().run(operation)
    }

    /// The same as [`run`](Self::run) for an async operation, on any runtime or none.
    ///
    /// Dropped between two attempts, it makes no further one; dropped during an attempt, it leaves that where the
    /// operation leaves it, and the same key may be asked for again.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::cell::Cell;
    /// use std::time::Duration;
    /// use pointstore::ErrorKind;
    /// use pointstore::retry::{RetryPolicy, Retryable};
    ///
    /// #[derive(Debug, thiserror::Error)]
    /// #[error("no room")]
    /// struct NoRoom;
    /// impl Retryable for NoRoom {
    ///     fn kind(&self) -> ErrorKind {
    ///         ErrorKind::Busy
    ///     }
    /// }
    ///
    /// let policy = RetryPolicy::builder().first_delay(Duration::from_millis(1)).build()?;
    /// let attempts = Cell::new(0);
    /// let ask = async || {
    ///     attempts.set(attempts.get() + 1);
    ///     if attempts.get() < 3 { Err(NoRoom) } else { Ok("done") }
    /// };
    /// assert_eq!(pollster::block_on(policy.run_async(ask))?, "done");
    /// assert_eq!(attempts.get(), 3);
    /// # Ok(()) }
    /// ```
    pub async fn run_async<T, E, F, A>(&self, operation: F) -> Result<T, RetryError<E>>
    where
        E: Retryable,
        F: FnMut() -> A,
        A: Future<Output = Result<T, E>>,
    {
        self.retrier().run_async(operation).await
    }
}

impl<S> Retrier<S> {
    /// Measures time by another clock: the deadline by its monotonic side, a date of the other side by its wall clock.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Waits by another [`Sleeper`] or [`AsyncSleeper`], such as `tokio::time::sleep`.
    pub fn sleeper<T>(self, sleeper: T) -> Retrier<T> {
        let Self { policy, clock, seed, .. } = self;
        Retrier { policy, clock, sleeper, seed }
    }

    /// Draws the same waits in each call, for tests.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::cell::RefCell;
    /// use std::time::Duration;
    /// use pointstore::StorageError;
    /// use pointstore::retry::RetryPolicy;
    ///
    /// let waits = RefCell::new(Vec::new());
    /// let retrier = RetryPolicy::default().retrier().seed(7).sleeper(|delay: Duration| waits.borrow_mut().push(delay));
    /// let full = || Err::<(), _>(StorageError::DiskFull { available: 0, needed: 1 });
    /// assert_eq!(retrier.run(full).unwrap_err().attempts(), 8);
    /// let first = waits.take();
    /// assert_eq!(first.len(), 7);
    /// retrier.run(full).unwrap_err();
    /// assert_eq!(waits.take(), first);
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Begins a call.
    pub(super) fn begin(&self, reopening: Reopening) -> Attempts {
        Attempts::new(self.policy, Arc::clone(&self.clock), self.seed, reopening)
    }

    /// How it waits.
    pub(super) fn sleeps(&self) -> &S {
        &self.sleeper
    }
}

impl<S: Sleeper> Retrier<S> {
    /// As [`RetryPolicy::run`].
    ///
    /// # Errors
    ///
    /// As [`RetryPolicy::run`].
    pub fn run<T, E: Retryable>(
        &self,
        mut operation: impl FnMut() -> Result<T, E>,
    ) -> Result<T, RetryError<E>> {
        let mut attempts = self.begin(Reopening::No);
        loop {
            match operation() {
                Ok(answer) => {
                    attempts.succeeded();
                    return Ok(answer);
                }
                Err(error) => {
                    let wait = attempts.failed(error)?;
                    self.sleeper.sleep(wait.delay);
                    attempts.waited(wait)?;
                }
            }
        }
    }
}

impl<S: AsyncSleeper> Retrier<S> {
    /// As [`RetryPolicy::run_async`].
    ///
    /// # Errors
    ///
    /// As [`RetryPolicy::run`].
    pub async fn run_async<T, E, F, A>(&self, mut operation: F) -> Result<T, RetryError<E>>
    where
        E: Retryable,
        F: FnMut() -> A,
        A: Future<Output = Result<T, E>>,
    {
        let mut attempts = self.begin(Reopening::No);
        loop {
            match operation().await {
                Ok(answer) => {
                    attempts.succeeded();
                    return Ok(answer);
                }
                Err(error) => {
                    let wait = attempts.failed(error)?;
                    self.sleeper.sleep(wait.delay).await;
                    attempts.waited(wait)?;
                }
            }
        }
    }
}
