//! The kinds of request: points are granted or redeemed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::InvalidCommand;

/// Which way points move.
///
/// It is part of what a key stands for: the same key may be used once to grant and once to redeem. It is written
/// `grant` or `redeem`, in serde too.
///
/// # Examples
///
/// ```
/// use pointstore::Operation;
///
/// assert_eq!(Operation::Grant.to_string(), "grant");
/// assert_eq!("redeem".parse::<Operation>()?, Operation::Redeem);
/// # Ok::<(), pointstore::InvalidCommand>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Operation {
    /// Points are added to the account.
    Grant,
    /// Points are taken from the account, which must hold at least as many.
    Redeem,
}

impl Operation {
    /// The byte that stands for it in stored data; it never changes.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Grant => 1,
            Self::Redeem => 2,
        }
    }

    /// The operation that a stored byte stands for.
    pub(crate) const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Grant),
            2 => Some(Self::Redeem),
            _ => None,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Grant => "grant",
            Self::Redeem => "redeem",
        })
    }
}

/// Reads what [`Display`](fmt::Display) writes, in exactly that spelling.
impl FromStr for Operation {
    type Err = InvalidCommand;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "grant" => Ok(Self::Grant),
            "redeem" => Ok(Self::Redeem),
            _ => Err(InvalidCommand::UnknownOperation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Operation; 2] = [Operation::Grant, Operation::Redeem];

    #[test]
    fn stored_codes_never_change() {
        assert_eq!(ALL.map(Operation::code), [1, 2]);
    }

    #[test]
    fn exactly_the_stored_codes_are_read() {
        for code in 0..=u8::MAX {
            let read = Operation::from_code(code);
            assert_eq!(read, ALL.into_iter().find(|op| op.code() == code));
        }
    }

    #[test]
    fn every_way_of_writing_reads_back() {
        for operation in ALL {
            let text = operation.to_string();
            assert_eq!(text.parse(), Ok(operation));
            let json = serde_json::to_string(&operation).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Operation>(&json).unwrap(), operation);
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in ["", "Grant", "grant ", "refund"] {
            assert_eq!(text.parse::<Operation>(), Err(InvalidCommand::UnknownOperation));
            assert!(serde_json::from_value::<Operation>(text.into()).is_err());
        }
    }
}
