//! An embedded, transactional points ledger that makes retries safe.

mod commit;
mod engine;
mod error;
mod index;
mod journal;
mod limits;
mod rules;
mod store;
mod types;

pub use error::{
    ApplyError, AtomicError, BackupError, CloseError, Difference, ErrorKind, Fault, OpenError, ReadError,
    Refusal, StorageError,
};
pub use limits::{ATOMIC_LIST_BYTES_MAX, ATOMIC_LIST_LEN_MAX};
pub use store::{
    Accounts, BackupReport, Builder, Journal, OpenReport, PointStore, Progress, Statement, Stats,
    VerifyReport,
};
pub use types::{
    Account, AccountId, Balance, Clock, Command, Field, IdempotencyKey, InvalidCommand, ManualClock, Memo,
    Operation, Outcome, Points, Position, Receipt, SystemClock, Timestamp,
};

/// For tests of programs that use this crate: a disk in memory that fails on cue.
///
/// Behind the feature `testing`.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    pub use crate::engine::sim::{Failure, SimDisk, Step, Unsynced};
}
