//! What is left when no further attempt is made: why, after how many, and what is known.

use std::fmt;
use std::time::Duration;

use super::Retryable;
use crate::ErrorKind;

/// It did not succeed, and is not tried any more.
///
/// The last attempt's error is its [`source`](std::error::Error::source), and [`error`](Self::error).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use pointstore::ErrorKind;
/// use pointstore::retry::{GaveUp, RetryPolicy, Retryable};
///
/// #[derive(Debug, PartialEq)]
/// struct Answer(ErrorKind);
/// impl Retryable for Answer {
///     fn kind(&self) -> ErrorKind {
///         self.0
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = RetryPolicy::builder().first_delay(Duration::ZERO).attempts(2).build()?;
/// let mut answers = [ErrorKind::OutcomeUnknown, ErrorKind::Busy].into_iter();
/// let error = policy.run(|| Err::<(), _>(Answer(answers.next().unwrap()))).unwrap_err();
/// assert_eq!((error.attempts(), error.gave_up()), (2, GaveUp::Attempts));
/// // The last attempt was not begun, but the first may have had its effect.
/// assert_eq!(error.error(), &Answer(ErrorKind::Busy));
/// assert!(error.outcome_is_unknown());
/// assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryError<E> {
    pub(super) error: E,
    pub(super) attempts: u32,
    pub(super) elapsed: Duration,
    pub(super) outcome_is_unknown: bool,
    pub(super) gave_up: GaveUp,
}

impl<E> RetryError<E> {
    /// How many attempts were made, the first one included.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How long it took, from the call to giving up.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Whether the request may have had its effect: an attempt left that open, and none after it settled it.
    ///
    /// Ask again later with the *same* key, after opening the store again where that failed.
    pub fn outcome_is_unknown(&self) -> bool {
        self.outcome_is_unknown
    }

    /// Why no further attempt was made.
    pub fn gave_up(&self) -> GaveUp {
        self.gave_up
    }

    /// What the last attempt was answered.
    pub fn error(&self) -> &E {
        &self.error
    }

    /// What the last attempt was answered, by value. What earlier attempts left open is lost with it: look at
    /// [`outcome_is_unknown`](Self::outcome_is_unknown) first.
    pub fn into_error(self) -> E {
        self.error
    }
}

impl<E: Retryable> RetryError<E> {
    /// What the caller does now, over all attempts.
    ///
    /// [`OutcomeUnknown`](ErrorKind::OutcomeUnknown) where that is so, even if the last attempt was answered otherwise;
    /// only [`Corrupt`](ErrorKind::Corrupt) comes before it, since then nothing must be tried again. Otherwise the
    /// last error's kind.
    pub fn kind(&self) -> ErrorKind {
        match self.error.kind() {
            ErrorKind::Corrupt => ErrorKind::Corrupt,
            _ if self.outcome_is_unknown => ErrorKind::OutcomeUnknown,
            kind => kind,
        }
    }

    /// Whether the same request can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }

    /// Whether what was asked has to be closed and opened again first; see [`Retryable::needs_reopen`].
    pub fn needs_reopen(&self) -> bool {
        self.error.needs_reopen()
    }
}

impl<E> fmt::Display for RetryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempts, elapsed, outcome_is_unknown, gave_up, .. } = self;
        let elapsed_ms = elapsed.as_millis();
        write!(
            f,
            "{gave_up} attempts={attempts} elapsed_ms={elapsed_ms} outcome_is_unknown={outcome_is_unknown}"
        )
    }
}

impl<E: std::error::Error + 'static> std::error::Error for RetryError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Why no further attempt was made.
///
/// # Examples
///
/// ```
/// use pointstore::retry::GaveUp;
///
/// assert_eq!(GaveUp::Deadline.to_string(), "gave up, the deadline leaves no time for another attempt");
/// assert!(GaveUp::Deadline.is_exhausted());
/// assert!(!GaveUp::Final.is_exhausted());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GaveUp {
    /// The answer is final: another attempt would get the same.
    Final,
    /// The store has to be closed and opened again before another attempt can succeed, and that was not for the policy
    /// to do.
    NeedsReopen,
    /// As many attempts were made as there may be.
    Attempts,
    /// The wait before the next attempt would have ended after the deadline, or did.
    Deadline,
    /// The other side asked not to be called again before the deadline.
    RetryAfter,
}

impl GaveUp {
    /// Whether another attempt might have succeeded, had the policy allowed it.
    pub fn is_exhausted(self) -> bool {
        match self {
            Self::Attempts | Self::Deadline | Self::RetryAfter => true,
            Self::Final | Self::NeedsReopen => false,
        }
    }

    /// A lowercase word for logs and metrics.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::NeedsReopen => "needs_reopen",
            Self::Attempts => "attempts",
            Self::Deadline => "deadline",
            Self::RetryAfter => "retry_after",
        }
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Final => "gave up, the answer is final",
            Self::NeedsReopen => "gave up, the store has to be opened again first",
            Self::Attempts => "gave up, no attempt is left",
            Self::Deadline => "gave up, the deadline leaves no time for another attempt",
            Self::RetryAfter => "gave up, the other side asks to wait beyond the deadline",
        })
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::{ApplyError, ReadError, StorageError};

    fn gave_up(error: ApplyError, outcome_is_unknown: bool, gave_up: GaveUp) -> RetryError<ApplyError> {
        RetryError { error, attempts: 3, elapsed: Duration::from_millis(1_250), outcome_is_unknown, gave_up }
    }

    #[test]
    fn the_message_says_why_how_often_how_long_and_what_is_known() {
        let all =
            [GaveUp::Final, GaveUp::NeedsReopen, GaveUp::Attempts, GaveUp::Deadline, GaveUp::RetryAfter];
        let messages = all.map(|why| gave_up(StorageError::Closed.into(), true, why).to_string());
        assert_snapshot!(messages.join("\n"), @r"
        gave up, the answer is final attempts=3 elapsed_ms=1250 outcome_is_unknown=true
        gave up, the store has to be opened again first attempts=3 elapsed_ms=1250 outcome_is_unknown=true
        gave up, no attempt is left attempts=3 elapsed_ms=1250 outcome_is_unknown=true
        gave up, the deadline leaves no time for another attempt attempts=3 elapsed_ms=1250 outcome_is_unknown=true
        gave up, the other side asks to wait beyond the deadline attempts=3 elapsed_ms=1250 outcome_is_unknown=true
        ");
    }

    #[test]
    fn the_last_error_is_the_source() {
        let error = gave_up(StorageError::Closed.into(), false, GaveUp::NeedsReopen);
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("store is closed"));
        assert!(error.needs_reopen());
        assert_eq!(error.into_error(), ApplyError::from(StorageError::Closed));
    }

    #[test]
    fn an_unknown_outcome_is_the_kind_unless_the_store_is_damaged() {
        let full = || ApplyError::from(StorageError::DiskFull { available: 0, needed: 1 });
        assert_eq!(gave_up(full(), false, GaveUp::Attempts).kind(), ErrorKind::NotAttempted);
        assert_eq!(gave_up(full(), true, GaveUp::Attempts).kind(), ErrorKind::OutcomeUnknown);
        assert!(gave_up(StorageError::Closed.into(), true, GaveUp::Attempts).is_transient());
        let damaged = ReadError::Corrupt { entry: 1, what: "checksum differs".into() };
        let error = gave_up(damaged.into(), true, GaveUp::Final);
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.outcome_is_unknown() && !error.is_transient());
    }
}
