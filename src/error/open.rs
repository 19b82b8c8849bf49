//! Why a directory was not opened as a store, and what its operator does next.
//!
//! For I11: damage and loss are reported here, by name; nothing of the directory is repaired in silence.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{ErrorKind, Fault};

/// A store could not be opened. No stored entry was changed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another handle, in this process or another, has the store open. Use that one, or wait until it is closed.
    #[error("store is already open path={path:?}")]
    AlreadyOpen {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds something else than a store. It was left untouched: give an empty or a new one.
    #[error("directory is not empty and not a store path={path:?}")]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// A newer version of this crate wrote the store. Open it with that version, or restore an older backup.
    #[error("store has a newer format found={found} supported={supported}")]
    NewerFormat {
        /// The format of the store.
        found: u32,
        /// The newest format that this version reads.
        supported: u32,
    },
    /// The journal ends before entries that were already acknowledged, or holds others in their place: an old copy was
    /// put back, or the directory was exchanged. Keep the directory; find the newest copy or restore a backup.
    #[error(
        "journal was rolled back or exchanged: {what} expected_entries={expected} found_entries={found}"
    )]
    RolledBack {
        /// How many entries there must be at least.
        expected: u64,
        /// How many there are.
        found: u64,
        /// What was compared.
        what: Arc<str>,
    },
    /// Stored data is damaged. Keep the directory; restore a backup.
    #[error("store is damaged: {what}{}", in_file(.file.as_deref()))]
    Corrupt {
        /// What is wrong.
        what: Arc<str>,
        /// The file it was found in, when it is one alone.
        file: Option<PathBuf>,
    },
    /// The file that remembers how far the journal must reach is gone or unreadable, so that loss could not be
    /// noticed. Keep the directory; put the file back or restore a backup.
    #[error("watermark is missing or unreadable path={path:?}")]
    MissingWatermark {
        /// The file.
        path: PathBuf,
    },
    /// There is too little free space to open safely. Make room, then open again.
    #[error("not enough free space to open available_bytes={available} needed_bytes={needed}")]
    DiskFull {
        /// Free bytes on the file system.
        available: u64,
        /// Bytes that must be free.
        needed: u64,
    },
    /// The system refused an operation on the directory. Remove the cause, then open again.
    #[error("store cannot be opened")]
    Io(#[source] Fault),
    /// The store cannot give its guarantees here, as with some file systems or settings. Change what is named.
    #[error("not supported: {what}")]
    Unsupported {
        /// What is not supported.
        what: Arc<str>,
    },
}

impl OpenError {
    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::AlreadyOpen { .. } | Self::DiskFull { .. } | Self::Io(_) => {
                ErrorKind::Unavailable
            }
            Self::Foreign { .. } | Self::NewerFormat { .. } | Self::Unsupported { .. } => {
                ErrorKind::Invalid
            }
            Self::RolledBack { .. } | Self::Corrupt { .. } | Self::MissingWatermark { .. } => {
                ErrorKind::Corrupt
            }
        }
    }

    /// Whether opening can succeed later; see [`ErrorKind::is_transient`].
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}

fn in_file(file: Option<&Path>) -> String {
    file.map_or_else(String::new, |file| format!(" file={file:?}"))
}
