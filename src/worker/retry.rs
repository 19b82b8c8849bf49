//! What a worker's errors say to whoever might try again, where the feature `retry` is on, too (I1, I6).

use super::WorkerError;
use crate::ErrorKind;
use crate::retry::Retryable;

/// A worker's own failures mend themselves; a store's ask for an opening where the worker does not see to it.
///
/// A refusal by a rule proves nothing here, unlike one of a store: only a reused key does. One worker gives commands to
/// its store in order, so that behind an attempt of its own it would be proof. But an error cannot say who was asked
/// before: after a limit a worker may still hold an earlier attempt, back from a store that failed or on its way to one,
/// while the next one is answered by another worker or by the store itself.
impl Retryable for WorkerError {
    fn kind(&self) -> ErrorKind {
        Self::kind(self)
    }

    fn needs_reopen(&self) -> bool {
        Self::needs_reopen(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::Doubt;
    use crate::{ApplyError, Difference, Points, Refusal, StorageError};

    #[test]
    fn only_a_reused_key_proves_that_no_attempt_has_an_effect() {
        let (saved, given) = (Points::MIN, Points::MAX);
        let reused = Refusal::KeyReused { saved, given, differs: Difference::Points };
        assert!(WorkerError::from(ApplyError::from(reused)).proves_no_effect());
        let refused = ApplyError::from(Refusal::SequenceMismatch { expected: 1, actual: 2 });
        assert!(refused.proves_no_effect(), "of a store");
        for error in [
            refused.into(),
            WorkerError::Busy { capacity: 1 },
            WorkerError::Closed,
            WorkerError::Expired,
            WorkerError::OutcomeUnknown(Doubt::Expired),
            WorkerError::Reopening(StorageError::Closed.into()),
        ] {
            assert!(!error.proves_no_effect(), "{error}");
        }
    }

    #[test]
    fn a_failed_store_has_to_be_opened_again_unless_the_worker_does_it() {
        let closed = ApplyError::from(StorageError::Closed);
        let without = WorkerError::Apply(closed.clone());
        assert!(Retryable::needs_reopen(&without) && !Retryable::is_transient(&without));
        let with = WorkerError::Reopening(closed);
        assert!(!Retryable::needs_reopen(&with) && Retryable::is_transient(&with));
        assert!(
            !Retryable::needs_reopen(&WorkerError::Closed) && !Retryable::is_transient(&WorkerError::Closed)
        );
    }
}
