//! A place in the journal that a caller can remember outside of the store.
//!
//! For I11: with it even the loss or exchange of a whole directory is noticed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::amount::parse_digits;
use super::{Field, InvalidCommand};

/// A place in the journal of one store, together with a checksum of everything before it.
///
/// Kept somewhere else, and given back when the store is opened, it lets the store refuse a directory that is older
/// than what its caller has already seen. It is opaque apart from the count; it is written as the number of entries, a
/// hyphen and eight hexadecimal digits, in serde too, and reads back only in exactly that form.
///
/// # Examples
///
/// ```
/// use pointstore::Position;
///
/// let position: Position = "1234-89abcdef".parse()?;
/// assert_eq!(position.entries(), 1234);
/// assert_eq!(position.to_string(), "1234-89abcdef");
/// # Ok::<(), pointstore::InvalidCommand>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// Number of the entry that comes next, from 1.
    next: u64,
    /// The chain value before that entry.
    chain: u32,
}

impl Position {
    /// The place before entry `next`. Entries are counted from 1, so 0 means the same place as 1.
    pub(crate) fn new(next: u64, chain: u32) -> Self {
        let next = next.max(1);
        Self { next, chain }
    }

    /// How many entries lie before it; zero in a store that nothing was written to.
    ///
    /// # Examples
    ///
    /// ```
    /// let position: pointstore::Position = "0-00c0ffee".parse()?;
    /// assert_eq!(position.entries(), 0);
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn entries(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// The number of the entry that comes next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The chain value of everything before it.
    pub(crate) fn chain(&self) -> u32 {
        self.chain
    }
}

/// The number of entries, a hyphen, eight hexadecimal digits: `1234-89abcdef`.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}", self.entries(), self.chain)
    }
}

/// Reads what [`Display`](fmt::Display) writes, in exactly that form.
impl FromStr for Position {
    type Err = InvalidCommand;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.split_once('-').and_then(|(entries, chain)| {
            let next = u64::try_from(parse_digits(entries)?).ok()?.checked_add(1)?;
            let chain = u32::from_str_radix(chain, 16).ok()?;
            Some(Self::new(next, chain))
        });
        // One spelling only: no leading zeros, signs, capitals or missing digits.
        parsed.filter(|position| position.to_string() == text).ok_or(InvalidCommand::Malformed {
            field: Field::Position,
            form: "a number of entries, a hyphen and eight lowercase hexadecimal digits",
        })
    }
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fresh_store_stands_at_no_entries() {
        let position = Position::new(1, 0xc0ffee);
        assert_eq!(position.entries(), 0);
        assert_eq!(position.to_string(), "0-00c0ffee");
    }

    #[test]
    fn there_is_no_place_before_the_first_entry() {
        assert_eq!(Position::new(0, 7), Position::new(1, 7));
    }

    #[test]
    fn only_the_one_spelling_is_read() {
        for text in [
            "",
            "-",
            "12",
            "12-",
            "-89abcdef",
            "12-89abcde",
            "12-089abcdef",
            "12-89ABCDEF",
            "12-+9abcdef",
            "012-89abcdef",
            "+12-89abcdef",
            "-12-89abcdef",
            "12-89abcdef ",
            "12-89abcdef-",
            "18446744073709551615-89abcdef",
            "99999999999999999999999999999999999999999999-89abcdef",
        ] {
            assert!(text.parse::<Position>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_message_says_which_form_is_needed() {
        insta::assert_snapshot!(
            "secret".parse::<Position>().unwrap_err(),
            @"invalid position: malformed, needs a number of entries, a hyphen and eight lowercase hexadecimal digits"
        );
    }

    #[test]
    fn reading_goes_through_the_form() {
        assert!(serde_json::from_str::<Position>(r#""12-89ABCDEF""#).is_err());
        assert!(serde_json::from_str::<Position>("12").is_err());
    }

    proptest! {
        #[test]
        fn every_place_reads_back_as_it_was_written(next in 1..=u64::MAX, chain: u32) {
            let position = Position::new(next, chain);
            prop_assert_eq!((position.next(), position.chain()), (next, chain));
            prop_assert_eq!(position.to_string().parse(), Ok(position));
            let json = serde_json::to_string(&position).unwrap();
            prop_assert_eq!(serde_json::from_str::<Position>(&json).unwrap(), position);
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".*") {
            if let Ok(position) = text.parse::<Position>() {
                prop_assert_eq!(position.to_string(), text);
            }
        }
    }
}
