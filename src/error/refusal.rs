//! The expected answers that are not success: a command that was understood and refused.

use std::fmt;

use super::ErrorKind;
use crate::types::{Balance, Points};

/// A command was refused by a rule; nothing was written.
///
/// A refusal is final for the state it was decided on. It speaks only of the command's own account. Except for
/// [`KeyReused`](Self::KeyReused) the key is not used up: once the account has changed, the same command may be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The key was already used in this account and operation, for a request that differs.
    #[error(
        "key was already used for another request differs={differs} saved={saved} given={given}"
    )]
    KeyReused {
        /// The points of the request that used the key.
        saved: Points,
        /// The points of this request.
        given: Points,
        /// What differs; the first of the possible differences.
        differs: Difference,
    },
    /// The account does not have the expected number of receipts.
    #[error("account is at another sequence expected={expected} actual={actual}")]
    SequenceMismatch {
        /// How many receipts the command expected.
        expected: u64,
        /// How many the account has.
        actual: u64,
    },
    /// The account holds fewer points than should be redeemed.
    #[error("not enough points balance={balance} requested={requested}")]
    InsufficientPoints {
        /// What the account holds.
        balance: Balance,
        /// What should be redeemed.
        requested: Points,
    },
    /// The grant would take the balance beyond [`Balance::MAX`].
    #[error(
        "balance would be too large balance={balance} requested={requested} max={}",
        Balance::MAX
    )]
    BalanceOverflow {
        /// What the account holds.
        balance: Balance,
        /// What should be granted.
        requested: Points,
    },
}

impl Refusal {
    /// [`KeyReused`](ErrorKind::KeyReused) for that variant, [`Rejected`](ErrorKind::Rejected) for every other.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::KeyReused { .. } => ErrorKind::KeyReused,
            Self::SequenceMismatch { .. }
            | Self::InsufficientPoints { .. }
            | Self::BalanceOverflow { .. } => ErrorKind::Rejected,
        }
    }

    /// Always false.
    pub fn is_transient(&self) -> bool {
        self.kind().is_transient()
    }
}

/// In what a request differs from the one that used its key before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Difference {
    /// The amounts differ.
    Points,
    /// The memos differ, or only one has one.
    Memo,
    /// The key belongs to another place in an atomic list, to another such list, or to a command of its own.
    List,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Points => "points",
            Self::Memo => "memo",
            Self::List => "list",
        })
    }
}
