//! What a worker answers a caller: the store's own error, or that the command did not get to it, or back.

use std::fmt;

use crate::{ApplyError, ErrorKind, Refusal};

/// A command was not applied, or it is not known whether it was.
///
/// | | was the command attempted | then |
/// |---|---|---|
/// | [`Busy`](Self::Busy) | no | wait, then retry |
/// | [`Closed`](Self::Closed) | no | the worker is shut down: a new one is needed |
/// | [`Expired`](Self::Expired) | no | retry, if there still is time |
/// | [`OutcomeUnknown`](Self::OutcomeUnknown) | perhaps | retry with the *same* key; nothing has to be opened again |
/// | [`Apply`](Self::Apply) | the error says so | as [`ApplyError`] says |
///
/// # Examples
///
/// ```
/// use pointstore::ErrorKind;
/// use pointstore::worker::WorkerError;
///
/// let error = WorkerError::Expired;
/// assert_eq!(error.kind(), ErrorKind::NotAttempted);
/// assert!(error.is_transient() && !error.needs_reopen());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The queue is full; the command was not accepted.
    #[error("worker has no room for another command capacity={capacity}")]
    Busy {
        /// How many commands its queue holds.
        capacity: usize,
    },
    /// The worker is shut down; the command was not accepted.
    #[error("worker is shut down")]
    Closed,
    /// The time was over before the command was given to the store: the caller's limit, or that of the shutdown.
    #[error("command was not attempted, its time was over before the store got it")]
    Expired,
    /// The command was given to the store, and its answer did not come back. It may or may not be applied: retry with
    /// the same key.
    #[error("outcome is unknown, {0}, retry with the same key")]
    OutcomeUnknown(Doubt),
    /// The store's own answer.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// Why a worker does not know what became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Doubt {
    /// The caller's limit was over while the store was at it.
    Expired,
    /// The shutdown's limit was over while the store was at it.
    Stopped,
    /// A panic came between the store and the answer.
    Panicked,
    /// The answer was lost on its way, as when a test asks for it with `LostAcks` of the feature `testing`.
    Lost,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "time was over before the answer came",
            Self::Stopped => "worker was stopped before the answer came",
            Self::Panicked => "a panic came before the answer",
            Self::Lost => "the answer was lost",
        })
    }
}

impl WorkerError {
    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Busy { .. } => ErrorKind::Busy,
            Self::Closed => ErrorKind::Closed,
            Self::Expired => ErrorKind::NotAttempted,
            Self::OutcomeUnknown(_) => ErrorKind::OutcomeUnknown,
            Self::Apply(error) => error.kind(),
        }
    }

    /// Whether the same command can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }

    /// Whether the *store* takes no more commands until it is opened again; see [`ApplyError::needs_reopen`].
    ///
    /// A worker with [`on_poisoned`](super::Builder::on_poisoned) does that itself: then a retry is all there is to do.
    pub fn needs_reopen(&self) -> bool {
        match self {
            Self::Apply(error) => error.needs_reopen(),
            Self::Busy { .. } | Self::Closed | Self::Expired | Self::OutcomeUnknown(_) => false,
        }
    }

    /// The refusal, when it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Apply(error) => error.refusal(),
            Self::Busy { .. } | Self::Closed | Self::Expired | Self::OutcomeUnknown(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::StorageError;

    fn shareable<E: std::error::Error + Send + Sync + 'static>() {}

    #[test]
    fn every_error_says_what_became_of_the_command() {
        shareable::<WorkerError>();
        assert_snapshot!(WorkerError::Busy { capacity: 16 }, @"worker has no room for another command capacity=16");
        assert_snapshot!(WorkerError::Closed, @"worker is shut down");
        assert_snapshot!(WorkerError::Expired, @"command was not attempted, its time was over before the store got it");
        assert_snapshot!(WorkerError::OutcomeUnknown(Doubt::Expired), @"outcome is unknown, time was over before the answer came, retry with the same key");
        assert_snapshot!(WorkerError::OutcomeUnknown(Doubt::Stopped), @"outcome is unknown, worker was stopped before the answer came, retry with the same key");
        assert_snapshot!(WorkerError::OutcomeUnknown(Doubt::Panicked), @"outcome is unknown, a panic came before the answer, retry with the same key");
        assert_snapshot!(WorkerError::OutcomeUnknown(Doubt::Lost), @"outcome is unknown, the answer was lost, retry with the same key");
        assert_snapshot!(WorkerError::from(ApplyError::from(StorageError::Closed)), @"store is closed");
    }

    #[test]
    fn every_error_has_the_kind_that_its_caller_acts_on() {
        let refusal = Refusal::SequenceMismatch { expected: 1, actual: 2 };
        let closed = ApplyError::from(StorageError::Closed);
        for (error, kind, needs_reopen) in [
            (WorkerError::Busy { capacity: 1 }, ErrorKind::Busy, false),
            (WorkerError::Closed, ErrorKind::Closed, false),
            (WorkerError::Expired, ErrorKind::NotAttempted, false),
            (WorkerError::OutcomeUnknown(Doubt::Panicked), ErrorKind::OutcomeUnknown, false),
            (ApplyError::from(refusal.clone()).into(), ErrorKind::Rejected, false),
            (closed.into(), ErrorKind::Closed, true),
        ] {
            assert_eq!((error.kind(), error.needs_reopen()), (kind, needs_reopen), "{error}");
            assert_eq!(error.is_transient(), kind.is_transient(), "{error}");
            assert_eq!(error.refusal().is_some(), kind == ErrorKind::Rejected);
        }
        assert_eq!(WorkerError::from(ApplyError::from(refusal.clone())).refusal(), Some(&refusal));
    }
}
