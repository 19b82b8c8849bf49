//! Where each account stands, in the order of their first receipts.

use super::KeyHasher;
use super::chunked::Chunked;
use super::sharded::Sharded;
use crate::rules::AccountState;
use crate::types::AccountId;

/// Bytes that the allocation of a name has beside the name: two counters, and rounding.
const NAME_OVERHEAD: usize = 24;

/// All accounts with at least one receipt.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    rows: Chunked<Row>,
    by_name: Sharded<usize>,
    name_bytes: u64,
}

#[derive(Debug)]
struct Row {
    id: AccountId,
    state: AccountState,
}

impl Accounts {
    /// How many accounts there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The place of an account among all, from its names.
    pub(crate) fn place(&self, hash: u64, tenant: &str, name: &str) -> Option<usize> {
        self.by_name.candidates(hash).copied().find(|place| {
            self.rows
                .get(*place)
                .is_some_and(|row| row.id.name() == name && row.id.tenant().unwrap_or_default() == tenant)
        })
    }

    /// Where an account stands; one without receipts is the default.
    pub(crate) fn state(&self, hash: u64, id: &AccountId) -> AccountState {
        self.place(hash, id.tenant().unwrap_or_default(), id.name())
            .and_then(|place| self.at(place))
            .map(|(_, state)| state)
            .unwrap_or_default()
    }

    /// The account at a place.
    pub(crate) fn at(&self, place: usize) -> Option<(&AccountId, AccountState)> {
        self.rows.get(place).map(|row| (&row.id, row.state))
    }

    /// Sets where the account at a place stands.
    pub(crate) fn set_at(&mut self, place: usize, state: AccountState) {
        if let Some(row) = self.rows.get_mut(place) {
            row.state = state;
        }
    }

    /// Adds an account that is not there yet.
    pub(crate) fn insert(&mut self, hasher: &KeyHasher, hash: u64, id: AccountId, state: AccountState) {
        let name_len = id.name().len().saturating_add(id.tenant().map_or(0, str::len));
        self.name_bytes = self.name_bytes.saturating_add(name_len.saturating_add(NAME_OVERHEAD) as u64);
        let place = self.rows.push(Row { id, state });
        let rows = &self.rows;
        self.by_name.insert(hash, place, |place| rows.get(*place).map_or(0, |row| hasher.account(&row.id)));
    }

    /// Sets where an account stands, new or not.
    pub(crate) fn set(&mut self, hasher: &KeyHasher, hash: u64, id: &AccountId, state: AccountState) {
        match self.place(hash, id.tenant().unwrap_or_default(), id.name()) {
            Some(place) => self.set_at(place, state),
            None => self.insert(hasher, hash, id.clone(), state),
        }
    }

    /// Bytes of memory it takes, names included.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.rows.memory_bytes().saturating_add(self.by_name.memory_bytes()).saturating_add(self.name_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(last: u64) -> AccountState {
        AccountState { sequence: 1, last, ..AccountState::default() }
    }

    #[test]
    fn accounts_with_one_hash_are_told_apart_by_their_names() {
        let (mut accounts, hasher) = (Accounts::default(), KeyHasher::default());
        let named = |tenant, name| AccountId::in_tenant(tenant, name).unwrap();
        // Few enough for a table that was not rehashed yet, which would see what their hashes really are.
        let ids = [AccountId::new("a").unwrap(), named("t", "a"), named("a", "t")];
        // C09
        for (last, id) in (1..).zip(&ids) {
            accounts.set(&hasher, 7, id, state(last));
        }
        for (last, id) in (1..).zip(&ids) {
            assert_eq!(accounts.state(7, id), state(last));
        }
        accounts.set(&hasher, 7, &ids[2], state(9));
        assert_eq!((accounts.len(), accounts.state(7, &ids[2])), (3, state(9)));
        assert_eq!(accounts.at(2), Some((&ids[2], state(9))));
    }

    #[test]
    fn many_accounts_are_found_and_keep_their_order() {
        let (mut accounts, hasher) = (Accounts::default(), KeyHasher::default());
        let ids: Vec<AccountId> = (0..5_000).map(|i| AccountId::new(format!("a{i}")).unwrap()).collect();
        for (last, id) in (1..).zip(&ids) {
            accounts.set(&hasher, hasher.account(id), id, state(last));
        }
        for (last, id) in (1..).zip(&ids) {
            assert_eq!(accounts.state(hasher.account(id), id), state(last));
        }
        assert!(ids.iter().enumerate().all(|(place, id)| accounts.at(place).is_some_and(|(at, _)| at == id)));
        assert_eq!(accounts.at(ids.len()), None);
    }
}
