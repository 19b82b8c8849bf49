//! Validated values: who holds points, the key, the amounts, the request, the receipt, the time.
//!
//! A value of one of these types is in bounds; there is no other way to make one. No I/O happens here.

mod account;
mod account_id;
mod amount;
mod balance;
mod command;
mod entry;
mod invalid;
mod key;
mod manual_clock;
mod memo;
mod operation;
mod outcome;
mod points;
mod position;
mod receipt;
mod text;
mod time;
mod timestamp;

pub use account::Account;
pub use account_id::AccountId;
pub use balance::Balance;
pub use command::Command;
pub(crate) use entry::Entry;
pub use invalid::{Field, InvalidCommand};
pub use key::IdempotencyKey;
pub use manual_clock::ManualClock;
pub use memo::Memo;
pub use operation::Operation;
pub use outcome::Outcome;
pub use points::Points;
pub use position::Position;
pub use receipt::Receipt;
pub(crate) use receipt::ReceiptParts;
pub use time::{Clock, SystemClock};
pub use timestamp::Timestamp;
