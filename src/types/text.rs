//! The one check of every name that callers give: tenant, account, key, memo.
//!
//! Keeps I9: a name that passes is short, visible and safe to print. Only the value types call it.

use super::{Field, InvalidCommand};

/// Refuses a text that is empty, longer than `max` bytes, blank, or that contains a control character.
///
/// The length is looked at first, so that no more than `max` bytes are ever read.
pub(super) fn check(field: Field, text: &str, max: usize) -> Result<(), InvalidCommand> {
    if text.is_empty() {
        return Err(InvalidCommand::Empty { field, max });
    }
    if text.len() > max {
        let len = text.len();
        return Err(InvalidCommand::TooLong { field, len, max });
    }
    // Nearly every name is of visible ASCII alone, and that is seen fast.
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    if text.chars().all(char::is_whitespace) {
        return Err(InvalidCommand::Blank { field });
    }
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, _)) => Err(InvalidCommand::ControlCharacter { field, at }),
        None => Ok(()),
    }
}

/// The conversions from a text: all of them go through `new`.
macro_rules! text_parsing {
    ($type:ident) => {
        impl std::str::FromStr for $type {
            type Err = $crate::types::InvalidCommand;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $type {
            type Error = $crate::types::InvalidCommand;

            fn try_from(text: &str) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $type {
            type Error = $crate::types::InvalidCommand;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }
    };
}

/// All that the values which are one checked text have in common, over `new` and `as_str`.
macro_rules! text_conversions {
    ($type:ident) => {
        $crate::types::text::text_parsing!($type);

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::new(text).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(super) use {text_conversions, text_parsing};

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<(), InvalidCommand> {
        check(Field::Key, text, 8)
    }

    #[test]
    fn a_text_of_one_to_max_bytes_passes() {
        for text in ["k", "12345678", "ä/€", "\u{2028}b", " a ", "a\u{200b}"] {
            assert_eq!(checked(text), Ok(()), "{text:?}");
        }
    }

    #[test]
    fn an_empty_text_is_refused() {
        let (field, max) = (Field::Key, 8);
        assert_eq!(checked(""), Err(InvalidCommand::Empty { field, max }));
    }

    #[test]
    fn length_is_counted_in_bytes_and_not_in_characters() {
        let (field, len, max) = (Field::Key, 9, 8);
        assert_eq!(checked("€€€"), Err(InvalidCommand::TooLong { field, len, max }));
    }

    #[test]
    fn white_space_of_every_kind_is_blank() {
        let field = Field::Key;
        for text in [" ", "\t\n", "\u{a0}", "\u{2028}", "\u{3000} "] {
            assert_eq!(checked(text), Err(InvalidCommand::Blank { field }), "{text:?}");
        }
    }

    #[test]
    fn the_first_control_character_is_located_in_bytes() {
        let field = Field::Key;
        for (text, at) in [("\0", 0), ("a\nb\n", 1), ("ä\u{7f}", 2), ("€\u{85}", 3), ("a\u{9f}", 1)] {
            let error = InvalidCommand::ControlCharacter { field, at };
            assert_eq!(checked(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_not_read_to_its_end() {
        let text = "\0".repeat(9);
        let (field, len, max) = (Field::Key, 9, 8);
        assert_eq!(checked(&text), Err(InvalidCommand::TooLong { field, len, max }));
    }
}
