//! Every public error: one type for each thing that can be asked of a store.
//!
//! Each has a [`kind`](ErrorKind) that says what the caller should do; a wrapper shows its inner error's message as its
//! own, or names that error as its source, never both.

mod apply;
mod fault;
mod kind;
mod maintain;
mod open;
mod refusal;
mod storage;

pub use apply::{ApplyError, AtomicError};
pub use fault::Fault;
pub use kind::ErrorKind;
pub use maintain::{BackupError, CloseError};
pub use open::OpenError;
pub use refusal::{Difference, Refusal};
pub use storage::{ReadError, StorageError};

use crate::types::InvalidCommand;

impl InvalidCommand {
    /// Always [`ErrorKind::Invalid`].
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }

    /// Always false: the same value is refused every time.
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shareable<E: std::error::Error + Send + Sync + 'static>() {}

    #[test]
    fn every_error_can_be_sent_shared_and_boxed() {
        shareable::<InvalidCommand>();
        shareable::<Fault>();
        shareable::<Refusal>();
        shareable::<StorageError>();
        shareable::<ReadError>();
        shareable::<ApplyError>();
        shareable::<AtomicError>();
        shareable::<OpenError>();
        shareable::<CloseError>();
        shareable::<BackupError>();
    }

    #[test]
    fn invalid_input_is_final() {
        let error = InvalidCommand::UnknownOperation;
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(!error.is_transient());
    }
}
