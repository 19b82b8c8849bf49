//! What a command, alone or in an atomic list, is answered when it does not stand.

use super::{ErrorKind, ReadError, Refusal, StorageError};
use crate::types::InvalidCommand;

/// A command was not applied, or it is not known whether it was.
///
/// Only [`ErrorKind::OutcomeUnknown`] leaves that open; after every other error the store is as it was.
///
/// # Examples
///
/// ```
/// use pointstore::{ApplyError, ErrorKind, Refusal};
///
/// let error = ApplyError::from(Refusal::SequenceMismatch { expected: 3, actual: 4 });
/// assert_eq!(error.kind(), ErrorKind::Rejected);
/// assert_eq!(error.to_string(), "account is at another sequence expected=3 actual=4");
/// assert!(!error.is_transient());
/// assert!(matches!(error.refusal(), Some(Refusal::SequenceMismatch { .. })));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The input can never be accepted.
    #[error(transparent)]
    Invalid(#[from] InvalidCommand),
    /// A rule of the ledger refused the command.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The storage underneath failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ApplyError {
    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid(error) => error.kind(),
            Self::Refused(refusal) => refusal.kind(),
            Self::Storage(error) => error.kind(),
        }
    }

    /// Whether the same command can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }

    /// Whether nothing more can be written until the store is closed and opened again; see
    /// [`StorageError::needs_reopen`].
    ///
    /// # Examples
    ///
    /// A caller that carries on after a failure. The retry has the same key, so it does not matter whether the
    /// first attempt happened:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{ApplyError, Command, Outcome, PointStore, Points};
    ///
    /// /// `store` is shared; every user of it goes through here.
    /// fn apply(
    ///     store: &mut PointStore,
    ///     path: &std::path::Path,
    ///     command: &Command,
    /// ) -> Result<Outcome, Box<dyn std::error::Error>> {
    ///     match store.apply(command) {
    ///         Err(error) if error.needs_reopen() => {
    ///             // It failed before, and says so again: that is expected here. Other clones are ended with it.
    ///             let _ = store.close();
    ///             // Never a new store in the place of one that was there.
    ///             *store = PointStore::builder().create(false).open(path)?;
    ///             Ok(store.apply(command)?)
    ///         }
    ///         answer => Ok(answer?),
    ///     }
    /// }
    ///
    /// let folder = tempfile::tempdir()?;
    /// let mut store = PointStore::open(folder.path())?;
    /// store.close()?; // As good as a failure.
    /// let command = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
    /// assert!(!apply(&mut store, folder.path(), &command)?.is_replay());
    /// # Ok(()) }
    /// ```
    pub fn needs_reopen(&self) -> bool {
        match self {
            Self::Storage(error) => error.needs_reopen(),
            Self::Invalid(_) | Self::Refused(_) => false,
        }
    }

    /// The refusal, when it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Invalid(_) | Self::Storage(_) => None,
        }
    }
}

impl From<ReadError> for ApplyError {
    fn from(error: ReadError) -> Self {
        Self::Storage(StorageError::Read(error))
    }
}

/// An atomic list was not applied, or it is not known whether it was; never half of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("atomic list failed{}", at(*.index))]
pub struct AtomicError {
    index: Option<usize>,
    source: ApplyError,
}

impl AtomicError {
    /// The error of one item, or of the list as a whole when there is no index.
    pub(crate) fn new(index: Option<usize>, source: impl Into<ApplyError>) -> Self {
        let source = source.into();
        Self { index, source }
    }

    /// The place in the list, from 0, of the command that decided; `None` when it concerns the whole list.
    pub fn index(&self) -> Option<usize> {
        self.index
    }

    /// Why.
    pub fn error(&self) -> &ApplyError {
        &self.source
    }

    /// Why, by value.
    pub fn into_error(self) -> ApplyError {
        self.source
    }

    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        self.source.kind()
    }

    /// Whether the same list can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}

fn at(index: Option<usize>) -> String {
    index.map_or_else(String::new, |index| format!(" index={index}"))
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use insta::assert_snapshot;

    use super::*;
    use crate::error::Fault;

    fn refusal() -> Refusal {
        let (expected, actual) = (3, 4);
        Refusal::SequenceMismatch { expected, actual }
    }

    #[test]
    fn an_apply_error_speaks_as_what_it_holds() {
        assert_snapshot!(ApplyError::from(InvalidCommand::UnknownOperation), @"invalid operation: unknown, only grant and redeem are allowed");
        assert_snapshot!(ApplyError::from(refusal()), @"account is at another sequence expected=3 actual=4");
        assert_snapshot!(ApplyError::from(StorageError::Closed), @"store is closed");
        assert_snapshot!(ApplyError::from(ReadError::Closed), @"store is closed");
    }

    // C13
    #[test]
    fn a_kind_is_the_same_alone_and_in_a_list() {
        let unknown = StorageError::OutcomeUnknown(Fault::new("sync failed"));
        for (error, kind) in [
            (ApplyError::from(InvalidCommand::UnknownOperation), ErrorKind::Invalid),
            (refusal().into(), ErrorKind::Rejected),
            (unknown.into(), ErrorKind::OutcomeUnknown),
            (ReadError::Closed.into(), ErrorKind::Closed),
        ] {
            let in_list = AtomicError::new(Some(0), error.clone());
            assert_eq!((error.kind(), in_list.kind()), (kind, kind));
            assert_eq!(error.is_transient(), kind.is_transient());
            assert_eq!(in_list.is_transient(), kind.is_transient());
        }
    }

    #[test]
    fn only_a_refusal_is_one() {
        assert_eq!(ApplyError::from(refusal()).refusal(), Some(&refusal()));
        assert_eq!(ApplyError::from(StorageError::Closed).refusal(), None);
    }

    #[test]
    fn an_atomic_error_names_the_item_and_has_its_error_as_source() {
        let error = AtomicError::new(Some(2), refusal());
        assert_snapshot!(error, @"atomic list failed index=2");
        assert_eq!(error.index(), Some(2));
        let source = error.source().map(ToString::to_string);
        assert_eq!(source, Some(refusal().to_string()));
        assert_eq!(error.error(), &ApplyError::Refused(refusal()));
        assert_eq!(error.into_error(), ApplyError::Refused(refusal()));
    }

    #[test]
    fn an_atomic_error_of_the_whole_list_names_no_item() {
        let error = AtomicError::new(None, StorageError::Closed);
        assert_snapshot!(error, @"atomic list failed");
        assert_eq!(error.index(), None);
    }
}
