//! What went wrong underneath: an I/O error or a failure of the engine, in a form that can be handed to many callers.

use std::io;
use std::sync::Arc;

/// The cause of a storage error.
///
/// When one write fails, everyone who waited for it gets the same cause, so it can be cloned. Its message says what was
/// being done and what the system answered. It is the [`source`](std::error::Error::source) of the errors that have one.
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
        Self { io: Some(error.kind()), detail: format!("{context}: {error}").into() }
    }

    /// The kind of I/O error, when it was one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.io
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_error_keeps_its_kind_and_says_what_was_being_done() {
        let full = io::Error::new(io::ErrorKind::StorageFull, "no space left");
        let fault = Fault::io("append page", &full);
        assert_eq!(fault.io_kind(), Some(io::ErrorKind::StorageFull));
        insta::assert_snapshot!(fault, @"append page: no space left");
    }

    #[test]
    fn another_fault_has_no_kind_of_io_error() {
        let fault = Fault::new("leader panicked");
        assert_eq!(fault.io_kind(), None);
        insta::assert_snapshot!(fault, @"leader panicked");
    }
}
