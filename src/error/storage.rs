//! What can go wrong between a decided command and the disk, and between the disk and a reader.
//!
//! Keeps I6 apart: only one variant here leaves it open whether the command was applied.

use std::sync::Arc;

use super::{ErrorKind, Fault};

/// A command met a failure of the storage underneath, not a rule of the ledger.
///
/// # Examples
///
/// ```
/// use pointstore::{ErrorKind, StorageError};
///
/// let full = StorageError::DiskFull { available: 4_096, needed: 1_048_576 };
/// assert_eq!(full.kind(), ErrorKind::NotAttempted);
/// assert!(full.is_transient());
/// assert!(!StorageError::Closed.is_transient());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Nothing of the command was written. Retry the same command, after opening the store again if it is closed.
    #[error("command was not attempted, nothing was written")]
    NotAttempted(#[source] Fault),
    /// There is too little free space to append safely; nothing was written. Make room, then retry the same command.
    #[error("not enough free space, nothing was written available_bytes={available} needed_bytes={needed}")]
    DiskFull {
        /// Free bytes on the file system.
        available: u64,
        /// Bytes that must be free.
        needed: u64,
    },
    /// Writing or syncing failed on the way: the command may or may not be applied. Close the store, open it again, then retry
    /// with the same key.
    #[error("outcome is unknown, close the store, open it again and retry with the same key")]
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

    /// Whether nothing more can be written until the store is closed and opened again.
    ///
    /// True after a failure that ended writing, and for a handle that is closed; false for a full disk, where the
    /// same handle goes on once there is room, and for a read that failed.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::StorageError;
    ///
    /// assert!(StorageError::Closed.needs_reopen());
    /// assert!(!StorageError::DiskFull { available: 0, needed: 1 }.needs_reopen());
    /// ```
    pub fn needs_reopen(&self) -> bool {
        match self {
            Self::NotAttempted(_) | Self::OutcomeUnknown(_) | Self::Closed | Self::Poisoned(_) => true,
            Self::DiskFull { .. } => false,
            Self::Read(error) => matches!(error, ReadError::Closed),
        }
    }

    /// Whether the same command can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}

/// Stored entries could not be read. Nothing is changed by that, and nothing is taken for absent because of it.
///
/// # Examples
///
/// ```
/// use pointstore::{ErrorKind, ReadError};
///
/// let damaged = ReadError::Corrupt { entry: 41, what: "checksum differs".into() };
/// assert_eq!(damaged.to_string(), "stored entries are damaged: checksum differs entry=41");
/// assert_eq!(damaged.kind(), ErrorKind::Corrupt);
/// assert!(!damaged.is_transient());
/// ```
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
    /// Damage that shows at an entry.
    pub(crate) fn corrupt(entry: u64, what: &str) -> Self {
        Self::Corrupt { entry, what: what.into() }
    }

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

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use insta::assert_snapshot;

    use super::*;

    fn fault() -> Fault {
        Fault::new("sync failed")
    }

    fn corrupt() -> ReadError {
        let what = "checksum differs".into();
        ReadError::Corrupt { entry: 41, what }
    }

    #[test]
    fn storage_errors_say_what_became_of_the_command() {
        assert_snapshot!(StorageError::NotAttempted(fault()), @"command was not attempted, nothing was written");
        let (available, needed) = (10, 20);
        assert_snapshot!(
            StorageError::DiskFull { available, needed },
            @"not enough free space, nothing was written available_bytes=10 needed_bytes=20"
        );
        assert_snapshot!(StorageError::OutcomeUnknown(fault()), @"outcome is unknown, close the store, open it again and retry with the same key");
        assert_snapshot!(StorageError::Closed, @"store is closed");
        assert_snapshot!(StorageError::Poisoned(fault()), @"store is closed after an earlier failure");
        assert_snapshot!(StorageError::Read(corrupt()), @"stored entries are damaged: checksum differs entry=41");
    }

    #[test]
    fn storage_errors_have_the_kind_that_their_caller_acts_on() {
        let (available, needed) = (10, 20);
        for (error, kind) in [
            (StorageError::NotAttempted(fault()), ErrorKind::NotAttempted),
            (StorageError::DiskFull { available, needed }, ErrorKind::NotAttempted),
            (StorageError::OutcomeUnknown(fault()), ErrorKind::OutcomeUnknown),
            (StorageError::Closed, ErrorKind::Closed),
            (StorageError::Poisoned(fault()), ErrorKind::Closed),
            (ReadError::Io(fault()).into(), ErrorKind::Unavailable),
            (corrupt().into(), ErrorKind::Corrupt),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
            assert_eq!(error.is_transient(), kind.is_transient(), "{error}");
        }
    }

    #[test]
    fn read_errors_say_what_was_found() {
        assert_snapshot!(ReadError::Io(fault()), @"stored entries cannot be read");
        assert_snapshot!(corrupt(), @"stored entries are damaged: checksum differs entry=41");
        assert_snapshot!(ReadError::Closed, @"store is closed");
        assert_eq!(ReadError::Closed.kind(), ErrorKind::Closed);
    }

    #[test]
    fn a_fault_is_the_source_and_not_part_of_the_message() {
        for error in [
            StorageError::NotAttempted(fault()),
            StorageError::OutcomeUnknown(fault()),
            StorageError::Poisoned(fault()),
            StorageError::Read(ReadError::Io(fault())),
        ] {
            let source = error.source().map(ToString::to_string);
            assert_eq!(source.as_deref(), Some("sync failed"));
            assert!(!error.to_string().contains("sync failed"));
        }
    }
}
