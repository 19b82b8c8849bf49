//! An embedded, transactional points ledger that makes retries safe.
//!
//! A background job grants 100 points; the acknowledgement is lost; the job is submitted again; the customer
//! has 200 points. A longer time-out does not help: the caller cannot know whether the first attempt happened.
//!
//! Here the caller names the business operation with a key, and keeps that key through every retry. One sled
//! transaction writes one entry that is both the balance change and the receipt, found and kept unique by
//! (account, operation, key). A retry gets the saved receipt, with the balance of *then*; the same key with
//! another amount is refused. All of it holds across crashes, power cuts and restarts, and with any number of
//! duplicates at once.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use pointstore::{AccountId, ErrorKind, IdempotencyKey, PointStore, Points};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("points");
//! let store = PointStore::open(&path)?;
//! let alice = AccountId::in_tenant("shop-1", "alice")?;
//! let order = IdempotencyKey::new("order-99")?;
//!
//! let first = store.grant(&alice, &order, Points::new(100)?)?;
//! let again = store.grant(&alice, &order, Points::new(100)?)?;
//! assert!(again.is_replay());
//! assert_eq!(again.receipt(), first.receipt());
//!
//! let error = store.grant(&alice, &order, Points::new(200)?).unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::KeyReused);
//! assert_eq!(store.balance(&alice).get(), 100);
//! store.close()?;
//! # Ok(()) }
//! ```
//!
//! # What is promised
//!
//! - `Ok` means that the effect is on the disk: it survives a kill at any instant, and a power cut as far as the
//!   device honours fdatasync.
//! - For each (tenant, account, operation, key) there is at most one effect.
//! - An error leaves the store as it was. The one exception is [`ErrorKind::OutcomeUnknown`], which says so: open
//!   the store again and ask with the **same key**.
//! - A balance is never below zero and never above [`i64::MAX`]; nothing wraps.
//! - Damage and loss of stored data are reported when the store is opened, and never served.
//!
//! What a caller does about an error is decided by its [`ErrorKind`], whose documentation has the table.
//!
//! A key is **not** a permission. Whoever may choose the account may grant to it: take the tenant and the account
//! from the authenticated caller, never from what a request says of itself.
//!
//! # What it costs
//!
//! The index of keys and balances is in memory: about 36 bytes for a receipt, about 90 for an account with a short
//! name.
//! Opening reads and checks everything. A call that writes waits for one sync of the disk, which all callers of
//! that moment share.
//!
//! # Where it runs
//!
//! The durability argument is made for Linux and a local file system, ext4 and xfs above all. Other systems build,
//! and keep everything but the promises about power cuts. No network file systems; no more than one process for a
//! directory. With `panic = "abort"` a damaged store can end the process instead of being refused.
//!
//! # Finding your way
//!
//! | to | see |
//! |---|---|
//! | open a store | [`PointStore::open`], [`Builder`], [`OpenReport`], [`OpenError`] |
//! | grant and redeem | [`PointStore::grant`], [`redeem`](PointStore::redeem), [`apply`](PointStore::apply), [`Command`] |
//! | write many | [`PointStore::apply_each`]; as a whole: [`apply_atomic`](PointStore::apply_atomic) |
//! | understand an answer | [`Outcome`], [`Receipt`], [`ApplyError`], [`Refusal`], [`ErrorKind`] |
//! | read | [`PointStore::balance`], [`receipt`](PointStore::receipt), [`statement`](PointStore::statement), [`accounts`](PointStore::accounts), [`journal`](PointStore::journal) |
//! | get out of damage | [`PointStore::salvage`], [`SalvageReport`] |
//! | operate it | [`PointStore::stats`], [`Observer`], [`verify`](PointStore::verify), [`backup`](PointStore::backup), [`position`](PointStore::position), [`close`](PointStore::close) |
//!
//! # Features
//!
//! - `testing`: a disk in memory that fails, crashes and loses power on cue, for tests of programs that use this
//!   crate. Off by default, and nothing for production.
//! - `metrics`: what a store does, how retries go and what queues at a worker, as metrics of the `metrics` facade; the module has the table.
//! - `retry`: retries that ask an error whether they are safe, with growing and jittered waits, hints of the other side,
//!   a bound on attempts and a deadline; blocking, and async on any runtime.
//! - `worker`: a bounded queue and a thread of its own in front of a store, for async callers on any runtime and for
//!   threads that must not wait for the disk. It brings `async-channel` and `futures-channel`.

mod commit;
mod contain;
mod engine;
mod error;
mod index;
mod journal;
mod limits;
#[cfg(feature = "metrics")]
pub mod metrics;
mod observe;
#[cfg(feature = "retry")]
pub mod retry;
mod rules;
mod store;
mod sync;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod types;
#[cfg(feature = "worker")]
pub mod worker;

/// The program in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use error::{
    ApplyError, AtomicError, BackupError, CloseError, Difference, ErrorKind, Fault, OpenError, ReadError,
    Refusal, StorageError,
};
pub use limits::{ATOMIC_LIST_BYTES_MAX, ATOMIC_LIST_LEN_MAX};
pub use observe::{Answers, Observer, WrittenGroup};
pub use store::{
    Accounts, BackupReport, Builder, Journal, OpenReport, PointStore, Progress, SalvageReport, Statement,
    Stats, VerifyReport,
};
pub use types::{
    Account, AccountId, Balance, Clock, Command, Field, IdempotencyKey, InvalidCommand, ManualClock, Memo,
    Operation, Outcome, Points, Position, Receipt, SystemClock, Timestamp,
};
