//! What can go wrong between a decided command and the disk, and between the disk and a reader.
//!
//! Keeps I6 apart: only one variant here leaves it open whether the command was applied.

use std::sync::Arc;

use super::{ErrorKind, Fault};

/// A command met a failure of the storage underneath, not a rule of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Nothing of the command was written. Retry the same command, after opening the store again if it is closed.
    #[error("command was not attempted, nothing was written")]
    NotAttempted(#[source] Fault),
    /// There is too little free space to append safely; nothing was written. Make room, then retry the same command.
    #[error(
        "not enough free space, nothing was written available_bytes={available} needed_bytes={needed}"
    )]
    DiskFull {
        /// Free bytes on the file system.
        available: u64,
        /// Bytes that must be free.
        needed: u64,
    },
    /// Writing or syncing failed on the way: the command may or may not be applied. Open the store again, then retry
    /// with the same key.
    #[error("outcome is unknown, open the store again and retry with the same key")]
    OutcomeUnknown(#[source] Fault),
    /// The store was closed. Open it again, then retry with the same key.
    #[error("store is closed")]
    Closed,
    /// An earlier failure closed the store for writing; its cause is the source. Open it again, then retry with the
    /// same key.
    #[error("store is closed after an earlier failure")]
    Poisoned(#[source] Fault),
    /// What the command needed to know could not be read; nothing was written.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl StorageError {
    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NotAttempted(_) | Self::DiskFull { .. } => ErrorKind::NotAttempted,
            Self::OutcomeUnknown(_) => ErrorKind::OutcomeUnknown,
            Self::Closed | Self::Poisoned(_) => ErrorKind::Closed,
            Self::Read(error) => error.kind(),
        }
    }

    /// Whether the same command can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}

/// Stored entries could not be read. Nothing is changed by that, and nothing is taken for absent because of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system refused to read. Trying again may succeed.
    #[error("stored entries cannot be read")]
    Io(#[source] Fault),
    /// What was read is not what was written. Stop, keep the directory, restore a backup.
    #[error("stored entries are damaged: {what} entry={entry}")]
    Corrupt {
        /// The number of the entry, or of the first one of the page, that is damaged.
        entry: u64,
        /// What is wrong with it.
        what: Arc<str>,
    },
    /// The store was closed. Open it again.
    #[error("store is closed")]
    Closed,
}

impl ReadError {
    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io(_) => ErrorKind::Unavailable,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Closed => ErrorKind::Closed,
        }
    }

    /// Whether the same call can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}
