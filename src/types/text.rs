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
    if text.chars().all(char::is_whitespace) {
        return Err(InvalidCommand::Blank { field });
    }
    match text.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, _)) => Err(InvalidCommand::ControlCharacter { field, at }),
        None => Ok(()),
    }
}

/// The conversions shared by the values that are one checked text: they all go through `new`.
macro_rules! text_conversions {
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

pub(super) use text_conversions;
