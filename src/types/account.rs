//! What a store knows of one account at one moment.

use serde::Serialize;

use super::{AccountId, Balance};

/// The state of an account that has at least one receipt.
///
/// All of it belongs to one moment: the balance is the sum of exactly the account's first `sequence` receipts, and
/// `last` is the number of the newest of these. It is what a store answers, so it can be serialised (`id`, `balance`,
/// `sequence`, `last`) but neither made nor read back.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Account {
    id: AccountId,
    balance: Balance,
    sequence: u64,
    last: u64,
}

impl Account {
    /// The state that the index holds; the caller has read all of it at one moment.
    pub(crate) fn new(id: AccountId, balance: Balance, sequence: u64, last: u64) -> Self {
        Self { id, balance, sequence, last }
    }

    /// Whose account it is.
    pub fn id(&self) -> &AccountId {
        &self.id
    }

    /// The points the account holds.
    pub fn balance(&self) -> Balance {
        self.balance
    }

    /// How many receipts the account has, at least 1.
    ///
    /// Given to [`Command::expecting`](crate::Command::expecting) it means *if nothing has happened since*.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The number of its newest receipt: that one's place in the journal, from 1.
    pub fn last(&self) -> u64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> Account {
        let id = AccountId::in_tenant("shop-7", "ada").unwrap();
        Account::new(id, Balance::new(500).unwrap(), 3, 41)
    }

    #[test]
    fn each_accessor_answers_its_own_part() {
        let account = ada();
        assert_eq!(account.id().name(), "ada");
        assert_eq!(account.balance().get(), 500);
        assert_eq!(account.sequence(), 3);
        assert_eq!(account.last(), 41);
    }

    #[test]
    fn an_account_serialises_as_plain_numbers() {
        insta::assert_snapshot!(
            serde_json::to_string(&ada()).unwrap(),
            @r#"{"id":{"tenant":"shop-7","name":"ada"},"balance":500,"sequence":3,"last":41}"#
        );
    }
}
