//! The expected answers that are not success: a command that was understood and refused.

use std::fmt;

use super::ErrorKind;
use crate::types::{Balance, Points};

/// A command was refused by a rule; nothing was written.
///
/// A refusal is final for the state it was decided on. It speaks only of the command's own account. Except for
/// [`KeyReused`](Self::KeyReused) the key is not used up: once the account has changed, the same command may be applied.
///
/// # Examples
///
/// ```
/// use pointstore::{Balance, ErrorKind, Points, Refusal};
///
/// let refusal = Refusal::InsufficientPoints { balance: Balance::new(50)?, requested: Points::new(100)? };
/// assert_eq!(refusal.to_string(), "not enough points balance=50 requested=100");
/// assert_eq!(refusal.kind(), ErrorKind::Rejected);
/// assert!(!refusal.is_transient());
/// # Ok::<(), pointstore::InvalidCommand>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The key was already used in this account and operation, for a request that differs.
    #[error("key was already used for another request differs={differs} saved={saved} given={given}")]
    KeyReused {
        /// The points of the request that used the key.
        saved: Points,
        /// The points of this request.
        given: Points,
        /// What differs.
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
    #[error("balance would be too large balance={balance} requested={requested} max={}", Balance::MAX)]
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
///
/// When several differ, the first in the order given here is named.
///
/// # Examples
///
/// ```
/// assert_eq!(pointstore::Difference::Memo.to_string(), "memo");
/// ```
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

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn points(n: i64) -> Points {
        Points::new(n).unwrap()
    }

    fn balance(n: i64) -> Balance {
        Balance::new(n).unwrap()
    }

    // C05
    #[test]
    fn a_reused_key_names_both_amounts_and_nothing_else() {
        let reused = |given, differs| {
            let (saved, given) = (points(100), points(given));
            Refusal::KeyReused { saved, given, differs }
        };
        assert_snapshot!(reused(200, Difference::Points), @"key was already used for another request differs=points saved=100 given=200");
        assert_snapshot!(reused(100, Difference::Memo), @"key was already used for another request differs=memo saved=100 given=100");
        assert_snapshot!(reused(100, Difference::List), @"key was already used for another request differs=list saved=100 given=100");
        assert_eq!(reused(200, Difference::Points).kind(), ErrorKind::KeyReused);
    }

    #[test]
    fn every_other_refusal_is_a_rejection_with_its_numbers() {
        let (expected, actual) = (3, 4);
        let moved = Refusal::SequenceMismatch { expected, actual };
        assert_snapshot!(moved, @"account is at another sequence expected=3 actual=4");
        let (balance_now, requested) = (balance(50), points(100));
        let short = Refusal::InsufficientPoints { balance: balance_now, requested };
        assert_snapshot!(short, @"not enough points balance=50 requested=100");
        let (balance_now, requested) = (Balance::MAX, Points::MIN);
        let over = Refusal::BalanceOverflow { balance: balance_now, requested };
        assert_snapshot!(over, @"balance would be too large balance=9223372036854775807 requested=1 max=9223372036854775807");
        for refusal in [moved, short, over] {
            assert_eq!(refusal.kind(), ErrorKind::Rejected);
        }
    }
}
