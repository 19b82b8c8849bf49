//! What an error says of itself to whoever might try again.

use super::RetryAfter;
use crate::{ApplyError, AtomicError, ErrorKind, OpenError, ReadError, StorageError};

/// An error that knows whether the same request may be made again.
///
/// Implemented for the errors of this crate. For an error of your own, `kind` is enough; the rest follows from it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use pointstore::ErrorKind;
/// use pointstore::retry::{RetryAfter, Retryable};
///
/// /// What a service answers.
/// struct Status(u16, Option<RetryAfter>);
///
/// impl Retryable for Status {
///     fn kind(&self) -> ErrorKind {
///         match self.0 {
///             503 | 429 => ErrorKind::Busy,
///             504 => ErrorKind::OutcomeUnknown,
///             409 | 422 => ErrorKind::KeyReused,
///             _ => ErrorKind::Rejected,
///         }
///     }
///     fn retry_after(&self) -> Option<RetryAfter> {
///         self.1
///     }
/// }
///
/// assert!(Status(503, Some(Duration::from_secs(2).into())).is_transient());
/// assert!(!Status(404, None).is_transient());
/// ```
pub trait Retryable {
    /// What became of the request, and what the caller does about it.
    fn kind(&self) -> ErrorKind;

    /// Whether the same request can succeed later without a change; as the kind says, unless implemented.
    fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }

    /// Whether what was asked can only answer again after it was closed and opened; false, unless implemented.
    ///
    /// It is false for what mends itself, such as a queue in front of a store that opens it again.
    fn needs_reopen(&self) -> bool {
        false
    }

    /// When the other side wants to be asked again; it says nothing of that, unless implemented.
    fn retry_after(&self) -> Option<RetryAfter> {
        None
    }

    /// Whether this answer proves that the request has had no effect, and that no earlier attempt of it can have one
    /// any more; for a reused key alone, unless implemented.
    ///
    /// A reused key proves it, because a key has one effect for ever and that is another's. A rule that refused
    /// (not enough points, say) does not by itself: keys are looked at before rules, so no attempt had had its effect,
    /// but one that is still under way might yet, once the balance has changed. It does for a store's own errors:
    /// after an unknown outcome only a store that was opened again can refuse, and by then no attempt is under way.
    fn proves_no_effect(&self) -> bool {
        self.kind() == ErrorKind::KeyReused
    }
}

/// Of a store's own errors a refusal of any kind proves that there was no effect.
fn is_refusal(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::KeyReused | ErrorKind::Rejected)
}

impl Retryable for ApplyError {
    fn kind(&self) -> ErrorKind {
        Self::kind(self)
    }

    fn needs_reopen(&self) -> bool {
        Self::needs_reopen(self)
    }

    fn proves_no_effect(&self) -> bool {
        is_refusal(self.kind())
    }
}

impl Retryable for AtomicError {
    fn kind(&self) -> ErrorKind {
        Self::kind(self)
    }

    fn needs_reopen(&self) -> bool {
        self.error().needs_reopen()
    }

    fn proves_no_effect(&self) -> bool {
        is_refusal(self.kind())
    }
}

impl Retryable for StorageError {
    fn kind(&self) -> ErrorKind {
        Self::kind(self)
    }

    fn needs_reopen(&self) -> bool {
        Self::needs_reopen(self)
    }
}

impl Retryable for ReadError {
    fn kind(&self) -> ErrorKind {
        Self::kind(self)
    }

    fn needs_reopen(&self) -> bool {
        matches!(self, Self::Closed)
    }
}

impl Retryable for OpenError {
    fn kind(&self) -> ErrorKind {
        Self::kind(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;

    fn refusal() -> ApplyError {
        Refusal::SequenceMismatch { expected: 3, actual: 4 }.into()
    }

    #[test]
    fn a_refusal_of_a_store_proves_that_there_was_no_effect_and_nothing_else_does() {
        assert!(refusal().proves_no_effect());
        assert!(!ApplyError::from(StorageError::Closed).proves_no_effect());
        assert!(!ApplyError::from(StorageError::DiskFull { available: 0, needed: 1 }).proves_no_effect());
    }

    #[test]
    fn an_error_with_only_a_kind_is_proof_for_a_reused_key_alone() {
        struct Plain(ErrorKind);
        impl Retryable for Plain {
            fn kind(&self) -> ErrorKind {
                self.0
            }
        }
        assert!(Plain(ErrorKind::KeyReused).proves_no_effect());
        for kind in [ErrorKind::Rejected, ErrorKind::Invalid, ErrorKind::NotAttempted, ErrorKind::Busy] {
            assert!(!Plain(kind).proves_no_effect(), "{kind}");
        }
    }

    #[test]
    fn a_closed_store_needs_to_be_opened_whatever_was_asked_of_it() {
        assert!(Retryable::needs_reopen(&ApplyError::from(StorageError::Closed)));
        assert!(Retryable::needs_reopen(&StorageError::Closed));
        assert!(Retryable::needs_reopen(&ReadError::Closed));
        assert!(!Retryable::needs_reopen(&OpenError::AlreadyOpen { path: "points".into() }));
    }
}
