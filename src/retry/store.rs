//! Retrying commands on a store, and opening it again where only that helps (I1, I6, I10).

use super::attempts::Reopening;
use super::{Retrier, RetryAfter, RetryError, RetryPolicy, Retryable, Sleeper};
use crate::{ApplyError, AtomicError, Command, ErrorKind, OpenError, Outcome, PointStore};

impl RetryPolicy {
    /// Applies a command, again where that helps: always the same command, so that it has its effect once.
    ///
    /// It blocks while it waits. A store that fails, so that outcomes are unknown, takes no more commands until it is
    /// opened again, which this does not do: it gives up at once, with [`GaveUp::NeedsReopen`](crate::retry::GaveUp).
    /// See [`apply_reopening`](Self::apply_reopening).
    ///
    /// # Errors
    ///
    /// [`RetryError`] has the last attempt's error, why there was no further one, and what is known.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{Command, ErrorKind, PointStore, Points};
    /// use pointstore::retry::{GaveUp, RetryPolicy};
    ///
    /// let store = PointStore::temporary()?;
    /// let policy = RetryPolicy::default();
    /// let grant = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
    /// assert!(!policy.apply(&store, &grant)?.is_replay());
    ///
    /// // A refusal is not tried again.
    /// let redeem = Command::redeem("alice".parse()?, "gift-1".parse()?, Points::new(9)?);
    /// let error = policy.apply(&store, &redeem).unwrap_err();
    /// assert_eq!((error.kind(), error.attempts()), (ErrorKind::Rejected, 1));
    /// assert_eq!(error.gave_up(), GaveUp::Final);
    /// # Ok(()) }
    /// ```
    pub fn apply(&self, store: &PointStore, command: &Command) -> Result<Outcome, RetryError<ApplyError>> {
        self.retrier().apply(store, command)
    }

    /// Applies a list as a whole, again where that helps; otherwise as [`apply`](Self::apply).
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{Command, PointStore, Points};
    /// use pointstore::retry::RetryPolicy;
    ///
    /// let store = PointStore::temporary()?;
    /// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(30)?)?;
    /// let gift = Command::transfer("alice".parse()?, "bob".parse()?, "gift-1".parse()?, Points::new(30)?);
    /// RetryPolicy::default().apply_atomic(&store, &gift)?;
    /// assert_eq!(store.balance(&"bob".parse()?).get(), 30);
    /// # Ok(()) }
    /// ```
    pub fn apply_atomic(
        &self,
        store: &PointStore,
        commands: &[Command],
    ) -> Result<Vec<Outcome>, RetryError<AtomicError>> {
        self.retrier().apply_atomic(store, commands)
    }

    /// Applies a command, and where the store has failed, closes it, has it opened again and goes on.
    ///
    /// `reopen` opens the same directory with the same options; never let it make a new store there:
    /// [`create(false)`](crate::Builder::create). An opening that fails counts as an attempt. The new store replaces
    /// `store`; all clones of the old one are ended, so that everybody has to come through here. That is also so
    /// where the store was closed on purpose: let `reopen` refuse, if that can be.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply), with [`ReopenError::Open`] where the last thing that failed was to open the store.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use pointstore::{Command, PointStore, Points};
    /// use pointstore::retry::RetryPolicy;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let mut store = PointStore::open(folder.path())?;
    /// store.close()?; // As good as a failure.
    ///
    /// let policy = RetryPolicy::builder().first_delay(Duration::from_millis(1)).build()?;
    /// let command = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
    /// let reopen = || PointStore::builder().create(false).open(folder.path());
    /// let outcome = policy.apply_reopening(&mut store, &command, reopen)?;
    /// assert!(!outcome.is_replay());
    /// assert_eq!(store.balance(&"alice".parse()?).get(), 5);
    /// # Ok(()) }
    /// ```
    pub fn apply_reopening(
        &self,
        store: &mut PointStore,
        command: &Command,
        reopen: impl FnMut() -> Result<PointStore, OpenError>,
    ) -> Result<Outcome, RetryError<ReopenError>> {
        self.retrier().apply_reopening(store, command, reopen)
    }
}

impl<S: Sleeper> Retrier<S> {
    /// As [`RetryPolicy::apply`].
    ///
    /// # Errors
    ///
    /// As [`RetryPolicy::apply`].
    pub fn apply(&self, store: &PointStore, command: &Command) -> Result<Outcome, RetryError<ApplyError>> {
        self.run(|| store.apply(command))
    }

    /// As [`RetryPolicy::apply_atomic`].
    ///
    /// # Errors
    ///
    /// As [`RetryPolicy::apply`].
    pub fn apply_atomic(
        &self,
        store: &PointStore,
        commands: &[Command],
    ) -> Result<Vec<Outcome>, RetryError<AtomicError>> {
        self.run(|| store.apply_atomic(commands))
    }

    /// As [`RetryPolicy::apply_reopening`].
    ///
    /// # Errors
    ///
    /// As [`RetryPolicy::apply_reopening`].
    pub fn apply_reopening(
        &self,
        store: &mut PointStore,
        command: &Command,
        mut reopen: impl FnMut() -> Result<PointStore, OpenError>,
    ) -> Result<Outcome, RetryError<ReopenError>> {
        let mut attempts = self.begin(Reopening::Yes);
        let mut ended = false;
        loop {
            let answer = if ended { replace(store, &mut reopen) } else { Ok(()) };
            ended = answer.is_err();
            let answer = answer.and_then(|()| Ok(store.apply(command)?));
            match answer {
                Ok(outcome) => {
                    attempts.succeeded();
                    return Ok(outcome);
                }
                Err(error) => {
                    ended |= error.needs_reopen();
                    let wait = attempts.failed(error)?;
                    self.sleeps().sleep(wait.delay);
                    attempts.waited(wait)?;
                }
            }
        }
    }
}

/// Puts a store that was opened anew in the place of one that has failed.
fn replace(
    store: &mut PointStore,
    reopen: &mut impl FnMut() -> Result<PointStore, OpenError>,
) -> Result<(), ReopenError> {
    // It failed before, and says so again. If it is still at work on a group, opening says that it is in use.
    let _ = store.close();
    *store = reopen()?;
    Ok(())
}

/// What failed last while a command was applied to a store that is opened again where it has to be.
///
/// # Examples
///
/// ```
/// use pointstore::{ErrorKind, OpenError};
/// use pointstore::retry::ReopenError;
///
/// let error = ReopenError::from(OpenError::AlreadyOpen { path: "points".into() });
/// assert_eq!(error.kind(), ErrorKind::Unavailable);
/// assert_eq!(error.to_string(), r#"store is already open path="points""#);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReopenError {
    /// Applying the command.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// Opening the store.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl ReopenError {
    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Apply(error) => error.kind(),
            Self::Open(error) => error.kind(),
        }
    }

    /// Whether the same command can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}

impl Retryable for ReopenError {
    fn kind(&self) -> ErrorKind {
        Self::kind(self)
    }

    fn needs_reopen(&self) -> bool {
        match self {
            Self::Apply(error) => Retryable::needs_reopen(error),
            Self::Open(error) => Retryable::needs_reopen(error),
        }
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Apply(error) => error.retry_after(),
            Self::Open(error) => error.retry_after(),
        }
    }

    fn proves_no_effect(&self) -> bool {
        match self {
            Self::Apply(error) => error.proves_no_effect(),
            Self::Open(error) => error.proves_no_effect(),
        }
    }
}
