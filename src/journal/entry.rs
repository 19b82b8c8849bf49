//! The bytes of one entry: the balance change and its receipt, in one row (I2).
//!
//! `Row` is version 1 and frozen: a change of its fields, their order or their types is a new version beside
//! it. bincode writes it. It is read here by hand, several times faster than through bincode: opening a store
//! reads every entry. Reading borrows from the page, allocates nothing, and accepts exactly one spelling of each
//! value (I9); a test holds it against bincode's own reading.

use super::fields::{FieldError, Fields, config, varint_len};
use crate::limits::ENTRY_LEN_MAX;
use crate::types::{
    AccountId, Balance, Entry, IdempotencyKey, Memo, Operation, Points, Receipt, ReceiptParts, Timestamp,
};

/// An entry as version 1 of a page holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode)]
#[cfg_attr(test, derive(bincode::BorrowDecode))]
pub(crate) struct Row<'a> {
    /// The kind of operation, see [`Operation::code`].
    pub(crate) operation: u8,
    /// The tenant of the account, empty for none.
    pub(crate) tenant: &'a str,
    /// The name of the account.
    pub(crate) name: &'a str,
    /// The idempotency key.
    pub(crate) key: &'a str,
    /// How many points moved.
    pub(crate) points: u64,
    /// The account's balance after it.
    pub(crate) balance_after: u64,
    /// The n-th entry of its account, from 1.
    pub(crate) sequence: u64,
    /// A remark, empty for none.
    pub(crate) memo: &'a str,
    /// Its place in its atomic list, from 0.
    pub(crate) place: u32,
    /// The length of that list, 1 for a single command.
    pub(crate) list_len: u32,
    /// The number of the account's entry before this one, 0 for none.
    pub(crate) previous: u64,
}

/// Why bytes are not an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EntryError {
    /// The bytes do not decode.
    #[error("the entry does not decode")]
    Undecodable,
    /// Bytes are left over, or a number is spelled longer than it needs.
    #[error("the entry is not spelled as it would be written")]
    NotCanonical,
    /// A field is outside its bounds.
    #[error("the entry has a field out of bounds, field={0}")]
    OutOfBounds(&'static str),
}

impl From<FieldError> for EntryError {
    fn from(error: FieldError) -> Self {
        match error {
            FieldError::Undecodable => Self::Undecodable,
            FieldError::NotCanonical => Self::NotCanonical,
        }
    }
}

impl<'a> Row<'a> {
    /// The row for an entry.
    pub(crate) fn of(entry: &'a Entry) -> Self {
        let receipt = &entry.receipt;
        Self {
            operation: receipt.operation().code(),
            tenant: receipt.account().tenant().unwrap_or_default(),
            name: receipt.account().name(),
            key: receipt.key().as_str(),
            points: receipt.points().get().unsigned_abs(),
            balance_after: receipt.balance_after().get().unsigned_abs(),
            sequence: receipt.sequence(),
            memo: receipt.memo().map(Memo::as_str).unwrap_or_default(),
            place: entry.place,
            list_len: entry.list_len,
            previous: entry.previous,
        }
    }

    /// Appends the row's bytes.
    pub(crate) fn encode(&self, to: &mut Vec<u8>) -> Result<(), EntryError> {
        bincode::encode_into_std_write(self, to, config()).map_err(|_| EntryError::Undecodable)?;
        Ok(())
    }

    /// Reads a row that fills `bytes` exactly.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, EntryError> {
        let mut fields = Fields::new(bytes);
        let row = Self {
            operation: fields.byte()?,
            tenant: fields.text()?,
            name: fields.text()?,
            key: fields.text()?,
            points: fields.number()?,
            balance_after: fields.number()?,
            sequence: fields.number()?,
            memo: fields.text()?,
            place: fields.small_number()?,
            list_len: fields.small_number()?,
            previous: fields.number()?,
        };
        if fields.rest().is_empty() { Ok(row) } else { Err(EntryError::NotCanonical) }
    }

    /// The kind of operation.
    pub(crate) fn operation(&self) -> Result<Operation, EntryError> {
        Operation::from_code(self.operation).ok_or(EntryError::OutOfBounds("operation"))
    }

    /// The account, in its own memory.
    pub(crate) fn account(&self) -> Result<AccountId, EntryError> {
        AccountId::in_tenant(self.tenant, self.name).map_err(|_| EntryError::OutOfBounds("account"))
    }

    /// The points that moved.
    pub(crate) fn points(&self) -> Result<Points, EntryError> {
        Points::try_from(self.points).map_err(|_| EntryError::OutOfBounds("points"))
    }

    /// The balance after it.
    pub(crate) fn balance_after(&self) -> Result<Balance, EntryError> {
        Balance::try_from(self.balance_after).map_err(|_| EntryError::OutOfBounds("balance"))
    }

    /// Whether key and memo are in bounds, as the names of the account are once it is known.
    pub(crate) fn check_texts(&self) -> Result<(), EntryError> {
        IdempotencyKey::check(self.key).map_err(|_| EntryError::OutOfBounds("key"))?;
        match self.memo {
            "" => Ok(()),
            memo => Memo::check(memo).map_err(|_| EntryError::OutOfBounds("memo")),
        }
    }

    /// The whole entry, in its own memory: `number` and `recorded_at` are known from its page.
    pub(crate) fn to_entry(self, number: u64, recorded_at: Timestamp) -> Result<Entry, EntryError> {
        let memo = match self.memo {
            "" => None,
            memo => Some(Memo::new(memo).map_err(|_| EntryError::OutOfBounds("memo"))?),
        };
        let receipt = Receipt::try_from(ReceiptParts {
            number,
            account: self.account()?,
            operation: self.operation()?,
            key: IdempotencyKey::new(self.key).map_err(|_| EntryError::OutOfBounds("key"))?,
            points: self.points()?,
            balance_after: self.balance_after()?,
            sequence: self.sequence,
            recorded_at,
            memo,
        })
        .map_err(|_| EntryError::OutOfBounds("receipt"))?;
        Ok(Entry { receipt, place: self.place, list_len: self.list_len, previous: self.previous })
    }
}

/// The longest row there can be fits the bound that pages and lists are reckoned with.
const _: () = assert!(
    1 + (1 + AccountId::TENANT_MAX)
        + (1 + AccountId::NAME_MAX)
        + (3 + IdempotencyKey::MAX)
        + (1 + Memo::MAX)
        + 4 * varint_len(u64::MAX)
        + 2 * varint_len(u32::MAX as u64)
        + crate::limits::OFFSET_LEN
        <= ENTRY_LEN_MAX
);

#[cfg(test)]
#[allow(
    clippy::arithmetic_side_effects,
    clippy::little_endian_bytes,
    reason = "a test that overflows is to say so at once, and bincode's varints are little-endian"
)]
mod tests;
