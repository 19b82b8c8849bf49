//! The bytes of one entry: the balance change and its receipt, in one row (I2).
//!
//! `Row` is version 1 and frozen: a change of its fields, their order or their types is a new version beside
//! it. bincode writes it. It is read here by hand, several times faster than through bincode: opening a store
//! reads every entry. Reading borrows from the page, allocates nothing, and accepts exactly one spelling of each
//! value (I9); a test holds it against bincode's own reading.

use bincode::config::{Config, standard};

use crate::limits::{ENTRY_LEN_MAX, PAGE_LEN_MAX};
use crate::types::{
    AccountId, Balance, Entry, IdempotencyKey, Memo, Operation, Points, Receipt, ReceiptParts, Timestamp,
};

/// The one configuration of bincode: varints, little-endian, and never more than a page.
fn config() -> impl Config {
    standard().with_limit::<PAGE_LEN_MAX>()
}

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
        let mut fields = Fields(bytes);
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
        if fields.0.is_empty() { Ok(row) } else { Err(EntryError::NotCanonical) }
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

/// Bytes of bincode's varint for `value`.
const fn varint_len(value: u64) -> usize {
    match value {
        0..=250 => 1,
        251..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

/// Reads fields as bincode writes them, from the front; a number that is spelled longer than it needs is refused.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], EntryError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(EntryError::Undecodable)?;
        self.0 = rest;
        Ok(*field)
    }

    fn byte(&mut self) -> Result<u8, EntryError> {
        self.take().map(|[byte]| byte)
    }

    #[allow(clippy::little_endian_bytes, reason = "bincode's varints are little-endian")]
    fn number(&mut self) -> Result<u64, EntryError> {
        let (number, width) = match self.byte()? {
            byte @ 0..=250 => return Ok(u64::from(byte)),
            251 => (u64::from(u16::from_le_bytes(self.take()?)), 3),
            252 => (u64::from(u32::from_le_bytes(self.take()?)), 5),
            253 => (u64::from_le_bytes(self.take()?), 9),
            _ => return Err(EntryError::Undecodable),
        };
        if varint_len(number) == width { Ok(number) } else { Err(EntryError::NotCanonical) }
    }

    fn small_number(&mut self) -> Result<u32, EntryError> {
        match self.0.first() {
            // A number of 32 bits has no such spelling.
            Some(253) => Err(EntryError::Undecodable),
            _ => u32::try_from(self.number()?).map_err(|_| EntryError::Undecodable),
        }
    }

    fn text(&mut self) -> Result<&'a str, EntryError> {
        let len = usize::try_from(self.number()?).map_err(|_| EntryError::Undecodable)?;
        if len == 0 {
            return Ok("");
        }
        let (text, rest) = self.0.split_at_checked(len).ok_or(EntryError::Undecodable)?;
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| EntryError::Undecodable)
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
    reason = "a test that overflows is to say so at once"
)]
mod tests {
    use super::*;

    const NUMBER: u64 = 41;

    fn entry() -> Entry {
        let receipt = Receipt::from_parts(ReceiptParts::sample());
        Entry { receipt, place: 2, list_len: 5, previous: 300 }
    }

    fn encoded(row: &Row<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        row.encode(&mut bytes).unwrap();
        bytes
    }

    /// A number as bincode spells it in `width` bytes, which may be more than it takes.
    fn spelled(value: u64, width: usize) -> Vec<u8> {
        let le = value.to_le_bytes();
        match width {
            1 => vec![le[0]],
            3 => [&[251], &le[..2]].concat(),
            5 => [&[252], &le[..4]].concat(),
            _ => [&[253], &le[..]].concat(),
        }
    }

    /// The sample's bytes, each of its parts by itself: texts as length and content.
    fn parts() -> Vec<Vec<u8>> {
        let text = |text: &str| [&spelled(text.len() as u64, 1), text.as_bytes()].concat();
        vec![
            vec![1],
            text("shop-7"),
            text("ada"),
            text("order-99"),
            spelled(500, 3),
            spelled(700, 3),
            spelled(3, 1),
            text("socks"),
            spelled(2, 1),
            spelled(5, 1),
            spelled(300, 3),
        ]
    }

    #[test]
    fn an_entry_is_written_as_it_always_was() {
        let bytes = encoded(&Row::of(&entry()));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "010673686f702d3703616461086f726465722d3939fbf401fbbc020305736f636b730205fb2c01");
        assert_eq!(bytes, parts().concat());
    }

    #[test]
    fn an_entry_reads_back_as_it_was_written() {
        let entry = entry();
        let bytes = encoded(&Row::of(&entry));
        let row = Row::decode(&bytes).unwrap();
        assert_eq!(row.to_entry(NUMBER, entry.receipt.recorded_at()), Ok(entry));
    }

    #[test]
    fn the_longest_entry_has_the_length_that_pages_are_reckoned_with() {
        let (tenant, name) = ("t".repeat(AccountId::TENANT_MAX), "n".repeat(AccountId::NAME_MAX));
        let (key, memo) = ("k".repeat(IdempotencyKey::MAX), "m".repeat(Memo::MAX));
        let (points, big) = (i64::MAX.unsigned_abs(), u64::MAX);
        let row = Row {
            operation: 1,
            tenant: &tenant,
            name: &name,
            key: &key,
            points,
            balance_after: points,
            sequence: big,
            memo: &memo,
            place: u32::MAX,
            list_len: u32::MAX,
            previous: big,
        };
        let bytes = encoded(&row);
        assert!(bytes.len() + crate::limits::OFFSET_LEN <= ENTRY_LEN_MAX);
        assert_eq!(Row::decode(&bytes), Ok(row));
    }

    #[test]
    fn a_row_is_read_as_bincode_reads_it() {
        let numbers = [0, 1, 250, 251, 255, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
        let texts = ["", "a", "ada", "ä/€", &"k".repeat(250), &"k".repeat(251)];
        for (at, number) in numbers.into_iter().enumerate() {
            for (text, small) in texts.into_iter().zip([0, 1, 250, 251, 0x1_0000, u32::MAX]) {
                let row = Row {
                    operation: u8::try_from(at).unwrap(),
                    tenant: text,
                    name: "n",
                    key: text,
                    points: number,
                    balance_after: numbers[numbers.len() - 1 - at],
                    sequence: number,
                    memo: text,
                    place: small,
                    list_len: u32::MAX - small,
                    previous: number,
                };
                let bytes = encoded(&row);
                assert_eq!(Row::decode(&bytes), Ok(row));
                let theirs: (Row<'_>, usize) = bincode::borrow_decode_from_slice(&bytes, config()).unwrap();
                assert_eq!(theirs, (row, bytes.len()));
            }
        }
    }

    // I9
    #[test]
    fn a_shortened_or_lengthened_entry_is_refused() {
        let bytes = encoded(&Row::of(&entry()));
        for len in 0..bytes.len() {
            assert_eq!(Row::decode(&bytes[..len]), Err(EntryError::Undecodable), "len={len}");
        }
        for more in [&[0][..], &[0; 5000], &bytes.clone()] {
            let longer = [&bytes, more].concat();
            assert_eq!(Row::decode(&longer), Err(EntryError::NotCanonical), "more={}", more.len());
        }
    }

    // I9: one spelling for each value, or two entries with one meaning would have two checksums.
    #[test]
    fn a_number_that_is_spelled_longer_than_it_needs_is_refused() {
        let numbers = [(4, 500), (5, 700), (6, 3), (8, 2), (9, 5), (10, 300)];
        for (place, value) in numbers {
            for width in [3, 5, 9].into_iter().filter(|width| *width > parts()[place].len()) {
                let mut parts = parts();
                parts[place] = spelled(value, width);
                let refused = Row::decode(&parts.concat()).map(|_| ());
                // The fields of 32 bits have no spelling of nine bytes at all.
                let expected = match (place, width) {
                    (8 | 9, 9) => EntryError::Undecodable,
                    _ => EntryError::NotCanonical,
                };
                assert_eq!(refused, Err(expected), "part={place} width={width}");
            }
        }
        for (place, text) in [(1, "shop-7"), (2, "ada"), (3, "order-99"), (7, "socks")] {
            for width in [3, 5, 9] {
                let mut parts = parts();
                parts[place] = [&spelled(text.len() as u64, width), text.as_bytes()].concat();
                assert_eq!(Row::decode(&parts.concat()), Err(EntryError::NotCanonical), "part={place}");
            }
        }
    }

    // I9: a decoder that trusted such a length would end the whole process for want of memory.
    #[test]
    fn an_impossible_length_is_refused_without_making_room_for_it() {
        for place in [1, 2, 3, 7] {
            for len in [4097_u64, 1 << 31, 1 << 40, u64::MAX / 2, u64::MAX] {
                let mut parts = parts();
                // As short as the length can be spelled, so that the length itself is what is refused.
                let width = if len <= 0xffff {
                    3
                } else if len <= 0xffff_ffff {
                    5
                } else {
                    9
                };
                parts[place] = [&spelled(len, width), &b"text"[..]].concat();
                assert_eq!(
                    Row::decode(&parts.concat()),
                    Err(EntryError::Undecodable),
                    "part={place} len={len}"
                );
                parts.truncate(place + 1);
                assert_eq!(
                    Row::decode(&parts.concat()),
                    Err(EntryError::Undecodable),
                    "part={place} len={len}"
                );
            }
        }
    }

    #[test]
    fn a_text_that_is_not_utf_8_is_refused() {
        for place in [1, 2, 3, 7] {
            let mut parts = parts();
            *parts[place].last_mut().unwrap() = 0xff;
            assert_eq!(Row::decode(&parts.concat()), Err(EntryError::Undecodable), "part={place}");
        }
    }

    // I9
    #[test]
    fn a_field_out_of_bounds_is_refused_by_name() {
        let entry = entry();
        let good = Row::of(&entry);
        let long = "x".repeat(256);
        let big = u64::MAX;
        for (row, field) in [
            (Row { operation: 0, ..good }, "operation"),
            (Row { operation: 3, ..good }, "operation"),
            (Row { tenant: &long, ..good }, "account"),
            (Row { tenant: "\u{7}", ..good }, "account"),
            (Row { name: "", ..good }, "account"),
            (Row { name: &long, ..good }, "account"),
            (Row { key: "", ..good }, "key"),
            (Row { key: " ", ..good }, "key"),
            (Row { key: &long, ..good }, "key"),
            (Row { points: 0, ..good }, "points"),
            (Row { points: i64::MAX.unsigned_abs() + 1, ..good }, "points"),
            (Row { balance_after: big, ..good }, "balance"),
            (Row { memo: "\u{1b}", ..good }, "memo"),
            (Row { memo: &long, ..good }, "memo"),
            (Row { sequence: 0, ..good }, "receipt"),
            (Row { balance_after: 499, ..good }, "receipt"),
        ] {
            let refused = row.to_entry(NUMBER, Timestamp::default()).map(|_| ());
            assert_eq!(refused, Err(EntryError::OutOfBounds(field)));
            let text = matches!(field, "key" | "memo").then_some(Err(EntryError::OutOfBounds(field)));
            assert_eq!(row.check_texts(), text.unwrap_or(Ok(())));
        }
    }

    #[test]
    fn varints_are_as_long_as_bincode_makes_them() {
        for value in [0, 1, 250, 251, 255, 256, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            let len = bincode::encode_to_vec(value, config()).unwrap().len();
            assert_eq!(varint_len(value), len, "value={value}");
        }
    }
}
