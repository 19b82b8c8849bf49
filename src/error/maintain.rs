//! What can go wrong when a store is closed or backed up.

use super::{ErrorKind, Fault, OpenError, ReadError, StorageError};

/// The store is closed, but not cleanly.
///
/// Nothing acknowledged is lost by it: every answer was durable before it was given. The next opening takes longer,
/// since it goes through everything as after a crash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("store was not closed cleanly")]
pub struct CloseError(#[source] Fault);

impl CloseError {
    pub(crate) fn new(fault: Fault) -> Self {
        Self(fault)
    }

    /// What went wrong.
    pub fn fault(&self) -> &Fault {
        &self.0
    }

    /// Always [`ErrorKind::Closed`]: the handle is finished all the same.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Closed
    }

    /// Always false: closing again changes nothing.
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}

/// A backup was not made. The store that was to be copied is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The entries could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The target could not be opened as a new store.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The entries could not be written to the target.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl BackupError {
    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read(error) => error.kind(),
            Self::Open(error) => error.kind(),
            Self::Storage(error) => error.kind(),
        }
    }

    /// Whether the same call can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}
