//! What can be wrong with a value that a caller gives, and in which part of it.
//!
//! The type lives beside the values so that their constructors need nothing from above; what kind of error it is,
//! is said in `error`.

use std::fmt;

/// The part of a request, a receipt or a position that was found wrong.
///
/// Its [`Display`](fmt::Display) is the lowercase name used in messages.
///
/// # Examples
///
/// ```
/// assert_eq!(pointstore::Field::Memo.to_string(), "memo");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The tenant of an account.
    Tenant,
    /// The name of an account.
    Account,
    /// The idempotency key.
    Key,
    /// The memo.
    Memo,
    /// The amount of a request.
    Points,
    /// The balance of an account.
    Balance,
    /// A receipt as a whole.
    Receipt,
    /// A position in the journal.
    Position,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tenant => "tenant",
            Self::Account => "account",
            Self::Key => "key",
            Self::Memo => "memo",
            Self::Points => "points",
            Self::Balance => "balance",
            Self::Receipt => "receipt",
            Self::Position => "position",
        })
    }
}

/// A value was refused before any of it reached a store: it can never become valid by trying again.
///
/// Each variant names the part, what was wrong with it and what is allowed. Text that was refused is never repeated
/// in the message, so that it can go into a log as it is.
///
/// # Examples
///
/// ```
/// use pointstore::{ErrorKind, Field, IdempotencyKey, InvalidCommand};
///
/// let error = IdempotencyKey::new("").unwrap_err();
/// assert_eq!(error, InvalidCommand::Empty { field: Field::Key, max: 255 });
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert!(!error.is_transient());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCommand {
    /// A text has no bytes, and may not be left empty.
    #[error("invalid {field}: empty, at least one byte is needed max_len={max}")]
    Empty {
        /// The part that is empty.
        field: Field,
        /// The most bytes of UTF-8 it may have.
        max: usize,
    },
    /// A text has more bytes than allowed.
    #[error("invalid {field}: too many bytes len={len} max_len={max}")]
    TooLong {
        /// The part that is too long.
        field: Field,
        /// Its length in bytes of UTF-8.
        len: usize,
        /// The most bytes of UTF-8 it may have.
        max: usize,
    },
    /// A text consists of white space alone.
    #[error("invalid {field}: blank, a character that is not white space is needed")]
    Blank {
        /// The part that is blank.
        field: Field,
    },
    /// A text contains a control character (Unicode category `Cc`).
    #[error("invalid {field}: control characters are not allowed at_byte={at}")]
    ControlCharacter {
        /// The part that contains it.
        field: Field,
        /// Where the first one begins, in bytes from the start of the text.
        at: usize,
    },
    /// A number lies outside its bounds.
    #[error("invalid {field}: out of range given={given} min={min} max={max}")]
    OutOfRange {
        /// The part that is out of range.
        field: Field,
        /// The number that was given; one beyond `i128` is shown as the nearest that fits.
        given: i128,
        /// The smallest allowed.
        min: i64,
        /// The largest allowed.
        max: i64,
    },
    /// A text that should be a number has something else than digits in it, or nothing at all.
    #[error("invalid {field}: not a whole decimal number, only digits are allowed")]
    NotANumber {
        /// The part that should be a number.
        field: Field,
    },
    /// A text does not have the form that its kind of value is written in.
    #[error("invalid {field}: malformed, needs {form}")]
    Malformed {
        /// The part that is malformed.
        field: Field,
        /// The form it should have, in words.
        form: &'static str,
    },
    /// The parts of a value are each in bounds, yet cannot belong together.
    #[error("invalid {field}: {rule}")]
    Inconsistent {
        /// The value whose parts contradict each other.
        field: Field,
        /// The rule that is broken, in words.
        rule: &'static str,
    },
    /// The name of an operation is not one that this version knows.
    #[error("invalid operation: unknown, only grant and redeem are allowed")]
    UnknownOperation,
    /// An atomic list holds more commands than one group can.
    #[error("invalid list: too many commands len={len} max_len={max}")]
    ListTooLong {
        /// How many commands were given.
        len: usize,
        /// The most that one atomic list may hold.
        max: usize,
    },
    /// An atomic list would take more bytes than one group can.
    #[error("invalid list: too many bytes when stored bytes={bytes} max_bytes={max}")]
    ListTooLarge {
        /// The most bytes the list could take when stored.
        bytes: usize,
        /// The most bytes that one atomic list may take.
        max: usize,
    },
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn messages_about_texts_say_what_was_wrong_and_what_is_allowed() {
        let (field, max) = (Field::Key, 255);
        assert_snapshot!(InvalidCommand::Empty { field, max }, @"invalid key: empty, at least one byte is needed max_len=255");
        assert_snapshot!(InvalidCommand::TooLong { field, len: 300, max }, @"invalid key: too many bytes len=300 max_len=255");
        assert_snapshot!(InvalidCommand::Blank { field }, @"invalid key: blank, a character that is not white space is needed");
        assert_snapshot!(InvalidCommand::ControlCharacter { field, at: 3 }, @"invalid key: control characters are not allowed at_byte=3");
    }

    #[test]
    fn messages_about_numbers_say_what_was_wrong_and_what_is_allowed() {
        let field = Field::Points;
        let (given, min, max) = (i128::MIN, 1, i64::MAX);
        assert_snapshot!(
            InvalidCommand::OutOfRange { field, given, min, max },
            @"invalid points: out of range given=-170141183460469231731687303715884105728 min=1 max=9223372036854775807"
        );
        assert_snapshot!(InvalidCommand::NotANumber { field }, @"invalid points: not a whole decimal number, only digits are allowed");
    }

    #[test]
    fn messages_about_lists_say_what_was_wrong_and_what_is_allowed() {
        assert_snapshot!(InvalidCommand::ListTooLong { len: 900, max: 800 }, @"invalid list: too many commands len=900 max_len=800");
        assert_snapshot!(
            InvalidCommand::ListTooLarge { bytes: 40_000, max: 30_000 },
            @"invalid list: too many bytes when stored bytes=40000 max_bytes=30000"
        );
    }

    #[test]
    fn messages_about_forms_say_what_was_wrong_and_what_is_allowed() {
        assert_snapshot!(InvalidCommand::UnknownOperation, @"invalid operation: unknown, only grant and redeem are allowed");
        let (field, form) = (Field::Position, "a number");
        assert_snapshot!(InvalidCommand::Malformed { field, form }, @"invalid position: malformed, needs a number");
        let (field, rule) = (Field::Receipt, "number must be at least 1");
        assert_snapshot!(InvalidCommand::Inconsistent { field, rule }, @"invalid receipt: number must be at least 1");
    }

    #[test]
    fn every_part_has_its_lowercase_name() {
        let parts = [
            Field::Tenant,
            Field::Account,
            Field::Key,
            Field::Memo,
            Field::Points,
            Field::Balance,
            Field::Receipt,
            Field::Position,
        ];
        let names = parts.map(|part| part.to_string()).join(" ");
        assert_snapshot!(names, @"tenant account key memo points balance receipt position");
    }
}
