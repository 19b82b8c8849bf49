//! A request to a store: data with an identity, in bounds from the moment it exists.

use serde::{Deserialize, Serialize};

use super::{AccountId, IdempotencyKey, Memo, Operation, Points};

/// A request to grant or to redeem points.
///
/// Account, operation and key are its identity: they name one business operation, which happens at most once. Points
/// and memo are its payload: asked again with the same identity they must be the same. The expectation is neither;
/// it only says when the request may be applied.
///
/// In serde it is a structure of `account`, `operation`, `key`, `points`, and optionally `memo` and `expected`. Each
/// part is checked as its constructor does, and other fields are refused, so that nothing misspelt is left out in
/// silence.
///
/// # Examples
///
/// ```
/// use pointstore::{AccountId, Command, IdempotencyKey, Memo, Operation, Points};
///
/// let account = AccountId::new("ada")?;
/// let key = IdempotencyKey::new("order-99")?;
/// let memo = Memo::new("warm socks")?;
/// let command = Command::grant(account.clone(), key.clone(), Points::new(500)?)
///     .with_memo(memo.clone())
///     .expecting(3);
///
/// assert_eq!(command.account(), &account);
/// assert_eq!(command.operation(), Operation::Grant);
/// assert_eq!(command.key(), &key);
/// assert_eq!(command.points().get(), 500);
/// assert_eq!(command.memo(), Some(&memo));
/// assert_eq!(command.expected(), Some(3));
/// # Ok::<(), pointstore::InvalidCommand>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    account: AccountId,
    operation: Operation,
    key: IdempotencyKey,
    points: Points,
    #[serde(default)]
    memo: Option<Memo>,
    #[serde(default)]
    expected: Option<u64>,
}

impl Command {
    /// The most bytes that an entry takes besides its texts.
    ///
    /// Counted for the longest varints: operation 1, lengths of tenant, name and key 1 + 1 + 3, of the memo 1,
    /// four u64 9 each, place and list length 5 each, makes 53; the rest is room.
    pub(crate) const FIXED_LEN_MAX: usize = 64;

    /// A request to add points to an account.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{AccountId, Command, IdempotencyKey, Points};
    ///
    /// let command = Command::grant(AccountId::new("ada")?, IdempotencyKey::new("k")?, Points::MIN);
    /// assert_eq!(command.points(), Points::MIN);
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn grant(account: AccountId, key: IdempotencyKey, points: Points) -> Self {
        Self::new(Operation::Grant, account, key, points)
    }

    /// A request to take points from an account.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{AccountId, Command, IdempotencyKey, Operation, Points};
    ///
    /// let command = Command::redeem(AccountId::new("ada")?, IdempotencyKey::new("k")?, Points::MIN);
    /// assert_eq!(command.operation(), Operation::Redeem);
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn redeem(account: AccountId, key: IdempotencyKey, points: Points) -> Self {
        Self::new(Operation::Redeem, account, key, points)
    }

    /// The two commands that move points from one account to another: redeem here, grant there, under one key.
    ///
    /// For [`apply_atomic`](crate::PointStore::apply_atomic): both happen, or neither.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{Command, PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// let (alice, bob) = ("alice".parse()?, "bob".parse()?);
    /// store.grant(&alice, &"order-1".parse()?, Points::new(30)?)?;
    /// let gift = Command::transfer(alice, bob, "gift-1".parse()?, Points::new(10)?);
    /// store.apply_atomic(&gift)?;
    /// assert!(store.apply_atomic(&gift)?.iter().all(|outcome| outcome.is_replay()));
    /// assert_eq!(store.balance(&"bob".parse()?).get(), 10);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn transfer(from: AccountId, to: AccountId, key: IdempotencyKey, points: Points) -> [Self; 2] {
        [Self::redeem(from, key.clone(), points), Self::grant(to, key, points)]
    }

    fn new(operation: Operation, account: AccountId, key: IdempotencyKey, points: Points) -> Self {
        Self { account, operation, key, points, memo: None, expected: None }
    }

    /// The same request with a note, which becomes part of its payload and of its receipt.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{AccountId, Command, IdempotencyKey, Memo, Points};
    ///
    /// let memo = Memo::new("birthday")?;
    /// let command = Command::grant(AccountId::new("ada")?, IdempotencyKey::new("k")?, Points::MIN)
    ///     .with_memo(memo.clone());
    /// assert_eq!(command.memo(), Some(&memo));
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    #[must_use]
    pub fn with_memo(mut self, memo: Memo) -> Self {
        self.memo = Some(memo);
        self
    }

    /// The same request, to be applied only while the account has exactly `sequence` receipts (0: none yet).
    ///
    /// With another number of receipts it is refused. A request that was already applied is a replay all the same:
    /// the key is looked up before the expectation.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{AccountId, Command, IdempotencyKey, Points};
    ///
    /// let first = Command::grant(AccountId::new("ada")?, IdempotencyKey::new("k")?, Points::MIN)
    ///     .expecting(0);
    /// assert_eq!(first.expected(), Some(0));
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    #[must_use]
    pub fn expecting(mut self, sequence: u64) -> Self {
        self.expected = Some(sequence);
        self
    }

    /// Whose points it moves.
    pub fn account(&self) -> &AccountId {
        &self.account
    }

    /// Which way it moves them.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The key that makes it happen once.
    pub fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// How many points it moves.
    pub fn points(&self) -> Points {
        self.points
    }

    /// The note, if it has one.
    pub fn memo(&self) -> Option<&Memo> {
        self.memo.as_ref()
    }

    /// How many receipts the account must have just before, if that was asked for.
    pub fn expected(&self) -> Option<u64> {
        self.expected
    }

    /// The most bytes that its entry can take when stored.
    pub(crate) fn stored_len_max(&self) -> usize {
        let memo = self.memo.as_ref().map_or(0, |memo| memo.as_str().len());
        Self::FIXED_LEN_MAX
            .saturating_add(self.account.text_len())
            .saturating_add(self.key.as_str().len())
            .saturating_add(memo)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn full() -> Command {
        let account = AccountId::in_tenant("shop-7", "ada").unwrap();
        let key = IdempotencyKey::new("order-99").unwrap();
        Command::redeem(account, key, Points::new(500).unwrap())
            .with_memo(Memo::new("socks").unwrap())
            .expecting(3)
    }

    fn full_json() -> Value {
        json!({
            "account": {"tenant": "shop-7", "name": "ada"},
            "operation": "redeem",
            "key": "order-99",
            "points": 500,
            "memo": "socks",
            "expected": 3,
        })
    }

    fn with(field: &str, value: Value) -> Value {
        let mut changed = full_json();
        changed[field] = value;
        changed
    }

    #[test]
    fn a_command_reads_back_as_it_was_written() {
        let written = serde_json::to_value(full()).unwrap();
        assert_eq!(written, full_json());
        assert_eq!(serde_json::from_value::<Command>(written).unwrap(), full());
    }

    #[test]
    fn memo_and_expectation_are_always_written() {
        let plain = Command::grant(full().account, full().key, full().points);
        let written = serde_json::to_value(&plain).unwrap();
        assert_eq!((&written["memo"], &written["expected"]), (&Value::Null, &Value::Null));
    }

    #[test]
    fn memo_and_expectation_may_be_missing() {
        let json = r#"{"account":{"name":"ada"},"operation":"grant","key":"k","points":1}"#;
        let read: Command = serde_json::from_str(json).unwrap();
        assert_eq!((read.memo(), read.expected()), (None, None));
    }

    // C02
    #[test]
    fn reading_checks_every_part() {
        for (field, value) in [
            ("account", json!({"name": ""})),
            ("operation", json!("refund")),
            ("key", json!(" ")),
            ("points", json!(0)),
            ("points", json!(-1)),
            ("points", json!(i64::MIN)),
            ("points", json!(1_u64 << 63)),
            ("memo", json!("")),
            ("memo", json!("m".repeat(129))),
            ("expected", json!(-1)),
        ] {
            let changed = with(field, value);
            assert!(serde_json::from_value::<Command>(changed.clone()).is_err(), "{changed}");
        }
    }

    #[test]
    fn a_misspelt_field_is_refused_instead_of_left_out() {
        let changed = with("expectted", json!(3));
        assert!(serde_json::from_value::<Command>(changed).is_err());
    }

    #[test]
    fn stored_length_counts_the_bytes_of_every_text() {
        let texts = "shop-7ada".len() + "order-99".len() + "socks".len();
        assert_eq!(full().stored_len_max(), texts + Command::FIXED_LEN_MAX);
    }
}
