//! An embedded, transactional points ledger that makes retries safe.

#[allow(dead_code, reason = "the layers above make these errors")]
mod error;
#[allow(
    dead_code,
    reason = "the layers above use the crate-private parts of these values"
)]
mod types;

pub use error::{
    ApplyError, AtomicError, BackupError, CloseError, Difference, ErrorKind, Fault, OpenError,
    ReadError, Refusal, StorageError,
};
pub use types::{
    Account, AccountId, Balance, Clock, Command, Field, IdempotencyKey, InvalidCommand,
    ManualClock, Memo, Operation, Outcome, Points, Position, Receipt, SystemClock, Timestamp,
};
