//! Validated values: who holds points, the key, the amounts, the request, the receipt, the time.
//!
//! A value of one of these types is in bounds; there is no other way to make one. No I/O happens here.

mod account;
mod amount;
mod balance;
mod command;
mod entry;
mod invalid;
mod key;
mod memo;
mod operation;
mod points;
mod position;
mod receipt;
mod text;
mod time;
mod timestamp;

pub use account::{Account, AccountId};
pub use balance::Balance;
pub use command::Command;
#[allow(unused_imports, reason = "named by the layers above")]
pub(crate) use entry::Entry;
pub use invalid::{Field, InvalidCommand};
pub use key::IdempotencyKey;
pub use memo::Memo;
pub use operation::Operation;
pub use points::Points;
pub use position::Position;
#[allow(unused_imports, reason = "named by the layers above")]
pub(crate) use receipt::ReceiptParts;
pub use receipt::{Outcome, Receipt};
pub use time::{Clock, ManualClock, SystemClock};
pub use timestamp::Timestamp;
