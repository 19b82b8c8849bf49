//! What a command, alone or in an atomic list, is answered when it does not stand.

use super::{ErrorKind, ReadError, Refusal, StorageError};
use crate::types::InvalidCommand;

/// A command was not applied, or it is not known whether it was.
///
/// Only [`ErrorKind::OutcomeUnknown`] leaves that open; after every other error the store is as it was.
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
#[non_exhaustive]
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
