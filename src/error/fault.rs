//! What went wrong underneath: an I/O error or a failure of the engine, in a form that can be handed to many callers.

use std::io;
use std::sync::Arc;

/// The cause of a storage error.
///
/// When one write fails, everyone who waited for it gets the same cause, so it can be cloned. Its message says what was
/// being done and what the system answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Fault {
    io: Option<io::ErrorKind>,
    detail: Arc<str>,
}

impl Fault {
    /// A fault that is not an I/O error.
    pub(crate) fn new(detail: impl Into<Arc<str>>) -> Self {
        let detail = detail.into();
        Self { io: None, detail }
    }

    /// An I/O error, and what was being done.
    pub(crate) fn io(context: &str, error: &io::Error) -> Self {
        Self {
            io: Some(error.kind()),
            detail: format!("{context}: {error}").into(),
        }
    }

    /// The kind of I/O error, when it was one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.io
    }
}
