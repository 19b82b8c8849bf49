//! Why a directory was not opened as a store, and what its operator does next.
//!
//! For I11: damage and loss are reported here, by name; nothing of the directory is repaired in silence.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{ErrorKind, Fault};

/// A store could not be opened. Whatever the directory held is still there, as evidence.
///
/// # Examples
///
/// ```
/// use pointstore::{ErrorKind, OpenError};
///
/// let error = OpenError::Foreign { path: "/srv/photos".into() };
/// assert_eq!(error.to_string(), r#"path holds something else than a store path="/srv/photos""#);
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert!(OpenError::AlreadyOpen { path: "/srv/points".into() }.is_transient());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another handle, in this process or another, has the store open. Use that one, or wait until it is closed.
    ///
    /// A handle that failed still has it open: close it, or drop every clone of it.
    #[error("store is already open path={path:?}")]
    AlreadyOpen {
        /// The directory.
        path: PathBuf,
    },
    /// There is no store, and none was to be made: the path is wrong, or a volume is not mounted. Nothing was made.
    #[error("no store is there path={path:?}")]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// There is something else than a store. It was left untouched: give an empty or a new directory. In a fresh volume
    /// with `lost+found`, that is a folder below its root.
    #[error("path holds something else than a store path={path:?}")]
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
    #[error("journal was rolled back or exchanged: {what} expected_entries={expected} found_entries={found}")]
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
    /// What was asked for cannot be done there, as a backup into a store that exists. Change what is named.
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
            Self::AlreadyOpen { .. } | Self::DiskFull { .. } | Self::Io(_) => ErrorKind::Unavailable,
            Self::Missing { .. }
            | Self::Foreign { .. }
            | Self::NewerFormat { .. }
            | Self::Unsupported { .. } => ErrorKind::Invalid,
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

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use insta::assert_snapshot;

    use super::*;

    fn all() -> Vec<(OpenError, ErrorKind)> {
        let path = PathBuf::from("/srv/points");
        let what: Arc<str> = "checksum differs".into();
        let rolled_back =
            OpenError::RolledBack { expected: 9, found: 7, what: "journal is behind its watermark".into() };
        let (available, needed) = (10, 20);
        let (found, supported) = (2, 1);
        vec![
            (OpenError::AlreadyOpen { path: path.clone() }, ErrorKind::Unavailable),
            (OpenError::Foreign { path: path.clone() }, ErrorKind::Invalid),
            (OpenError::NewerFormat { found, supported }, ErrorKind::Invalid),
            (rolled_back, ErrorKind::Corrupt),
            (OpenError::Corrupt { what: what.clone(), file: None }, ErrorKind::Corrupt),
            (OpenError::Corrupt { what, file: Some(path.join("db")) }, ErrorKind::Corrupt),
            (OpenError::MissingWatermark { path: path.join("WATERMARK") }, ErrorKind::Corrupt),
            (OpenError::DiskFull { available, needed }, ErrorKind::Unavailable),
            (OpenError::Io(Fault::new("read db: timed out")), ErrorKind::Unavailable),
            (OpenError::Unsupported { what: "network file system".into() }, ErrorKind::Invalid),
        ]
    }

    #[test]
    fn each_error_says_what_was_found_and_where() {
        let messages: Vec<_> = all().iter().map(|(error, _)| error.to_string()).collect();
        assert_snapshot!(messages.join("\n"), @r#"
        store is already open path="/srv/points"
        path holds something else than a store path="/srv/points"
        store has a newer format found=2 supported=1
        journal was rolled back or exchanged: journal is behind its watermark expected_entries=9 found_entries=7
        store is damaged: checksum differs
        store is damaged: checksum differs file="/srv/points/db"
        watermark is missing or unreadable path="/srv/points/WATERMARK"
        not enough free space to open available_bytes=10 needed_bytes=20
        store cannot be opened
        not supported: network file system
        "#);
    }

    #[test]
    fn each_error_has_the_kind_that_its_operator_acts_on() {
        for (error, kind) in all() {
            assert_eq!(error.kind(), kind, "{error}");
            assert_eq!(error.is_transient(), kind.is_transient(), "{error}");
        }
    }

    #[test]
    fn a_path_with_a_line_break_stays_on_its_line() {
        let path = PathBuf::from("/srv/a\nb");
        assert_snapshot!(OpenError::Foreign { path }, @r#"path holds something else than a store path="/srv/a\nb""#);
    }

    #[test]
    fn a_fault_is_the_source_and_not_part_of_the_message() {
        let error = OpenError::Io(Fault::new("read db: timed out"));
        let source = error.source().map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("read db: timed out"));
    }
}
