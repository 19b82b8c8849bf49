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
/// | [`Reopening`](Self::Reopening) | the [kind](Self::kind) says so | retry: the worker opens the store again itself |
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
    /// The store has failed or was closed, with this error, and the worker opens it again: it has
    /// [`on_poisoned`](super::Builder::on_poisoned). Retry with the same key; nothing else is to be done.
    #[error("{}, the worker opens the store again, retry with the same key", became(.0))]
    Reopening(#[source] ApplyError),
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

/// What became of a command that met a store which has to be opened again.
fn became(error: &ApplyError) -> &'static str {
    match error.kind() {
        ErrorKind::OutcomeUnknown => "outcome is unknown",
        _ => "command was not attempted",
    }
}

impl WorkerError {
    /// What a store answered, by a worker that opens one that failed again, or does not.
    pub(super) fn of_store(error: ApplyError, reopens: bool) -> Self {
        if reopens && error.needs_reopen() { Self::Reopening(error) } else { Self::Apply(error) }
    }

    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Busy { .. } => ErrorKind::Busy,
            Self::Closed => ErrorKind::Closed,
            Self::Expired => ErrorKind::NotAttempted,
            Self::OutcomeUnknown(_) => ErrorKind::OutcomeUnknown,
            Self::Reopening(error) => match error.kind() {
                // That store is finished, but not what the caller holds.
                ErrorKind::Closed => ErrorKind::NotAttempted,
                kind => kind,
            },
            Self::Apply(error) => error.kind(),
        }
    }

    /// Whether the same command can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }

    /// Whether the *store* takes no more commands until somebody opens it again; see [`ApplyError::needs_reopen`].
    ///
    /// A worker with [`on_poisoned`](super::Builder::on_poisoned) does that itself and says
    /// [`Reopening`](Self::Reopening): then this is false, and a retry is all there is to do. Without it, a store that is
    /// opened again needs a new worker.
    pub fn needs_reopen(&self) -> bool {
        match self {
            Self::Apply(error) => error.needs_reopen(),
            Self::Busy { .. }
            | Self::Closed
            | Self::Expired
            | Self::OutcomeUnknown(_)
            | Self::Reopening(_) => false,
        }
    }

    /// The refusal, when it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Apply(error) => error.refusal(),
            Self::Busy { .. }
            | Self::Closed
            | Self::Expired
            | Self::OutcomeUnknown(_)
            | Self::Reopening(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::{Fault, StorageError};

    fn shareable<E: std::error::Error + Send + Sync + 'static>() {}

    fn fault() -> Fault {
        Fault::new("sync")
    }

    fn reopening(error: StorageError) -> WorkerError {
        WorkerError::of_store(error.into(), true)
    }

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
        assert_snapshot!(reopening(StorageError::Closed), @"command was not attempted, the worker opens the store again, retry with the same key");
        assert_snapshot!(reopening(StorageError::OutcomeUnknown(fault())), @"outcome is unknown, the worker opens the store again, retry with the same key");
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
            (reopening(StorageError::Closed), ErrorKind::NotAttempted, false),
            (reopening(StorageError::Poisoned(fault())), ErrorKind::NotAttempted, false),
            (reopening(StorageError::NotAttempted(fault())), ErrorKind::NotAttempted, false),
            (reopening(StorageError::OutcomeUnknown(fault())), ErrorKind::OutcomeUnknown, false),
        ] {
            assert_eq!((error.kind(), error.needs_reopen()), (kind, needs_reopen), "{error}");
            assert_eq!(error.is_transient(), kind.is_transient(), "{error}");
            assert_eq!(error.refusal().is_some(), kind == ErrorKind::Rejected);
        }
        assert_eq!(WorkerError::from(ApplyError::from(refusal.clone())).refusal(), Some(&refusal));
    }

    #[test]
    fn a_worker_opens_again_only_what_has_failed_and_only_if_it_can() {
        let full = ApplyError::from(StorageError::DiskFull { available: 0, needed: 1 });
        assert_eq!(WorkerError::of_store(full.clone(), true), WorkerError::Apply(full));
        let closed = ApplyError::from(StorageError::Closed);
        assert_eq!(WorkerError::of_store(closed.clone(), false), WorkerError::Apply(closed.clone()));
        let error = WorkerError::of_store(closed.clone(), true);
        assert_eq!(std::error::Error::source(&error).map(ToString::to_string), Some(closed.to_string()));
    }
}
