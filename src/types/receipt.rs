//! What is kept of an applied request, and the answer that carries it.
//!
//! Keeps its share of I3 and I4: a receipt is consistent in itself, and nothing changes it.

use serde::{Deserialize, Serialize};

use super::{
    AccountId, Balance, Field, IdempotencyKey, InvalidCommand, Memo, Operation, Points, Timestamp,
};

/// The lasting record of one applied request.
///
/// A replay returns it exactly as it was saved: the balance in it is the balance *then*. In serde it is a structure of
/// all its parts; reading one back checks that they fit together, not that a store ever wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "ReceiptParts")]
pub struct Receipt {
    number: u64,
    account: AccountId,
    operation: Operation,
    key: IdempotencyKey,
    points: Points,
    balance_after: Balance,
    sequence: u64,
    recorded_at: Timestamp,
    memo: Option<Memo>,
}

/// The parts of a receipt before they are checked against each other.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename = "Receipt")]
pub(crate) struct ReceiptParts {
    pub(crate) number: u64,
    pub(crate) account: AccountId,
    pub(crate) operation: Operation,
    pub(crate) key: IdempotencyKey,
    pub(crate) points: Points,
    pub(crate) balance_after: Balance,
    pub(crate) sequence: u64,
    pub(crate) recorded_at: Timestamp,
    #[serde(default)]
    pub(crate) memo: Option<Memo>,
}

impl TryFrom<ReceiptParts> for Receipt {
    type Error = InvalidCommand;

    fn try_from(parts: ReceiptParts) -> Result<Self, Self::Error> {
        let broken = |rule| {
            let field = Field::Receipt;
            Err(InvalidCommand::Inconsistent { field, rule })
        };
        if parts.number == 0 {
            return broken("number must be at least 1");
        }
        if parts.sequence == 0 {
            return broken("sequence must be at least 1");
        }
        // The balance before must have been a balance, too.
        match parts.operation {
            Operation::Grant if parts.balance_after < Balance::from(parts.points) => {
                broken("balance after a grant must not be below its points")
            }
            Operation::Redeem if parts.balance_after.checked_add(parts.points).is_none() => {
                broken("balance before redeeming must not exceed the largest balance")
            }
            Operation::Grant | Operation::Redeem => Ok(Self::new(parts)),
        }
    }
}

impl Receipt {
    /// A receipt of parts that are known to fit together; parts from outside go through [`TryFrom`].
    pub(crate) fn new(parts: ReceiptParts) -> Self {
        Self {
            number: parts.number,
            account: parts.account,
            operation: parts.operation,
            key: parts.key,
            points: parts.points,
            balance_after: parts.balance_after,
            sequence: parts.sequence,
            recorded_at: parts.recorded_at,
            memo: parts.memo,
        }
    }

    /// Its place in the journal, counted over all accounts from 1 without a gap.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whose points were moved.
    pub fn account(&self) -> &AccountId {
        &self.account
    }

    /// Which way they were moved.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The key that was used up.
    pub fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// How many points were moved.
    pub fn points(&self) -> Points {
        self.points
    }

    /// The balance of the account directly after this request, not now.
    pub fn balance_after(&self) -> Balance {
        self.balance_after
    }

    /// Which of the account's receipts it is, from 1 without a gap.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// When it was recorded, by the store's clock. It never goes backwards along the journal.
    pub fn recorded_at(&self) -> Timestamp {
        self.recorded_at
    }

    /// The note of the request, if it had one.
    pub fn memo(&self) -> Option<&Memo> {
        self.memo.as_ref()
    }
}

/// The answer to a request that stands: now, or already before.
///
/// Both carry the one receipt of the request, and both mean success; most callers need not tell them apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// This attempt had the effect.
    Applied(Receipt),
    /// An earlier attempt had it; nothing was changed, and the receipt is the one saved then.
    Replayed(Receipt),
}

impl Outcome {
    /// The receipt, whichever attempt it comes from.
    pub fn receipt(&self) -> &Receipt {
        match self {
            Self::Applied(receipt) | Self::Replayed(receipt) => receipt,
        }
    }

    /// The receipt by value, whichever attempt it comes from.
    pub fn into_receipt(self) -> Receipt {
        match self {
            Self::Applied(receipt) | Self::Replayed(receipt) => receipt,
        }
    }

    /// Whether an earlier attempt had the effect.
    pub fn is_replay(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }
}
