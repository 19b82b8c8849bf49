//! What can go wrong when a store is closed or backed up.

use super::{ErrorKind, Fault, OpenError, ReadError};

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
///
/// # Examples
///
/// ```
/// use pointstore::{BackupError, ErrorKind, OpenError};
///
/// let error = BackupError::from(OpenError::Foreign { path: "/srv/photos".into() });
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert!(!error.is_transient());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The entries could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The target could not be made a new store, or could not be written.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl BackupError {
    /// What the caller should do; see the table of [`ErrorKind`].
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read(error) => error.kind(),
            Self::Open(error) => error.kind(),
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

    #[test]
    fn a_close_error_is_final_and_has_its_fault_as_source() {
        let error = CloseError::new(Fault::new("sync watermark: timed out"));
        assert_snapshot!(error, @"store was not closed cleanly");
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert!(!error.is_transient());
        let source = error.source().map(ToString::to_string);
        assert_eq!(source, Some(error.fault().to_string()));
        assert_snapshot!(error.fault(), @"sync watermark: timed out");
    }

    #[test]
    fn a_backup_error_speaks_as_what_it_holds() {
        let path = "/srv/backup".into();
        let (available, needed) = (10, 20);
        for (error, message, kind) in [
            (BackupError::from(ReadError::Closed), "store is closed", ErrorKind::Closed),
            (
                OpenError::Foreign { path }.into(),
                r#"path holds something else than a store path="/srv/backup""#,
                ErrorKind::Invalid,
            ),
            (
                OpenError::DiskFull { available, needed }.into(),
                "not enough free space to open available_bytes=10 needed_bytes=20",
                ErrorKind::Unavailable,
            ),
        ] {
            assert_eq!(error.to_string(), message);
            assert_eq!(error.kind(), kind);
            assert_eq!(error.is_transient(), kind.is_transient());
        }
    }
}
