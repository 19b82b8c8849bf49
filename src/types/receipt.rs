//! What is kept of an applied request.
//!
//! Keeps its share of I3 and I4: a receipt is consistent in itself, and nothing changes it.

use serde::{Deserialize, Serialize};

use super::{
    AccountId, Balance, Command, Field, IdempotencyKey, InvalidCommand, Memo, Operation, Points, Timestamp,
};

/// The lasting record of one applied request.
///
/// A replay returns it exactly as it was saved: the balance in it is the balance *then*. In serde it is a structure of
/// all its parts; reading one back checks that they fit together, not that a store ever wrote it.
///
/// # Examples
///
/// ```
/// use pointstore::{Operation, Receipt};
///
/// let saved = r#"{
///     "number": 41, "account": {"name": "ada"}, "operation": "grant", "key": "order-99", "points": 500,
///     "balance_after": 700, "sequence": 3, "recorded_at": 1767225600123, "memo": "warm socks"
/// }"#;
/// let receipt: Receipt = serde_json::from_str(saved)?;
///
/// assert_eq!(receipt.number(), 41);
/// assert_eq!(receipt.account().name(), "ada");
/// assert_eq!(receipt.operation(), Operation::Grant);
/// assert_eq!(receipt.key().as_str(), "order-99");
/// assert_eq!(receipt.points().get(), 500);
/// assert_eq!(receipt.balance_after().get(), 700);
/// assert_eq!(receipt.sequence(), 3);
/// assert_eq!(receipt.recorded_at().to_string(), "1767225600.123");
/// assert_eq!(receipt.memo().map(|memo| memo.as_str()), Some("warm socks"));
///
/// let impossible = saved.replace("700", "499");
/// assert!(serde_json::from_str::<Receipt>(&impossible).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
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
            Operation::Grant | Operation::Redeem => Ok(Self::from_parts(parts)),
        }
    }
}

impl Receipt {
    /// A receipt of parts that are known to fit together; parts from outside go through [`TryFrom`].
    pub(crate) fn from_parts(parts: ReceiptParts) -> Self {
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

    /// When it was recorded, by the store's clock. It never goes backwards along the journal: after a clock was wrong
    /// and far ahead, receipts are dated as that one was, until the right time has caught up.
    pub fn recorded_at(&self) -> Timestamp {
        self.recorded_at
    }

    /// The note of the request, if it had one.
    pub fn memo(&self) -> Option<&Memo> {
        self.memo.as_ref()
    }

    /// The command that was recorded, with its key, points and memo.
    ///
    /// Applied to the store that has the receipt it is a replay; applied to another, it has its effect there.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// let first = store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
    /// let again = store.apply(&first.receipt().to_command())?;
    /// assert!(again.is_replay());
    /// assert_eq!(again.receipt(), first.receipt());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn to_command(&self) -> Command {
        let (account, key) = (self.account.clone(), self.key.clone());
        let command = match self.operation {
            Operation::Grant => Command::grant(account, key, self.points),
            Operation::Redeem => Command::redeem(account, key, self.points),
        };
        match &self.memo {
            Some(memo) => command.with_memo(memo.clone()),
            None => command,
        }
    }
}

#[cfg(test)]
impl ReceiptParts {
    /// Parts that fit together, for tests.
    pub(crate) fn sample() -> Self {
        Self {
            number: 41,
            account: AccountId::in_tenant("shop-7", "ada").unwrap(),
            operation: Operation::Grant,
            key: IdempotencyKey::new("order-99").unwrap(),
            points: Points::new(500).unwrap(),
            balance_after: Balance::new(700).unwrap(),
            sequence: 3,
            recorded_at: Timestamp::from_unix_millis(1_767_225_600_123),
            memo: Some(Memo::new("socks").unwrap()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn broken(parts: ReceiptParts) -> &'static str {
        match Receipt::try_from(parts) {
            Err(InvalidCommand::Inconsistent { field: Field::Receipt, rule }) => rule,
            other => panic!("not inconsistent: {other:?}"),
        }
    }

    #[test]
    fn a_receipt_reads_back_as_it_was_written() {
        let receipt = Receipt::from_parts(ReceiptParts::sample());
        let written = serde_json::to_value(&receipt).unwrap();
        assert_eq!(
            written,
            json!({
                "number": 41,
                "account": {"tenant": "shop-7", "name": "ada"},
                "operation": "grant",
                "key": "order-99",
                "points": 500,
                "balance_after": 700,
                "sequence": 3,
                "recorded_at": 1_767_225_600_123_u64,
                "memo": "socks",
            })
        );
        assert_eq!(serde_json::from_value::<Receipt>(written).unwrap(), receipt);
    }

    #[test]
    fn parts_that_fit_together_are_a_receipt() {
        assert_eq!(
            Receipt::try_from(ReceiptParts::sample()),
            Ok(Receipt::from_parts(ReceiptParts::sample()))
        );
    }

    #[test]
    fn numbers_and_sequences_begin_at_one() {
        let none = ReceiptParts { number: 0, ..ReceiptParts::sample() };
        insta::assert_snapshot!(broken(none), @"number must be at least 1");
        let none = ReceiptParts { sequence: 0, ..ReceiptParts::sample() };
        insta::assert_snapshot!(broken(none), @"sequence must be at least 1");
    }

    #[test]
    fn a_grant_leaves_at_least_its_points() {
        let balance_after = Balance::new(500).unwrap();
        assert!(Receipt::try_from(ReceiptParts { balance_after, ..ReceiptParts::sample() }).is_ok());
        let balance_after = Balance::new(499).unwrap();
        insta::assert_snapshot!(
            broken(ReceiptParts { balance_after, ..ReceiptParts::sample() }),
            @"balance after a grant must not be below its points"
        );
    }

    #[test]
    fn redeeming_starts_from_a_balance_that_can_exist() {
        let redeem = |balance_after: i64| ReceiptParts {
            operation: Operation::Redeem,
            balance_after: Balance::new(balance_after).unwrap(),
            ..ReceiptParts::sample()
        };
        assert!(Receipt::try_from(redeem(0)).is_ok());
        assert!(Receipt::try_from(redeem(i64::MAX - 500)).is_ok());
        insta::assert_snapshot!(
            broken(redeem(i64::MAX - 499)),
            @"balance before redeeming must not exceed the largest balance"
        );
    }

    #[test]
    fn reading_goes_through_the_checks() {
        let good = serde_json::to_value(Receipt::from_parts(ReceiptParts::sample())).unwrap();
        for (field, value) in [
            ("number", json!(0)),
            ("sequence", json!(0)),
            ("balance_after", json!(499)),
            ("balance_after", json!(-1)),
            ("points", json!(701)),
            ("key", json!("")),
            ("operation", Value::Null),
        ] {
            let mut changed = good.clone();
            changed[field] = value;
            assert!(serde_json::from_value::<Receipt>(changed.clone()).is_err(), "{changed}");
        }
    }
}
