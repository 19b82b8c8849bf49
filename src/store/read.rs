//! Reading: balances from memory, receipts and statements from pages (I4, I8).
//!
//! Nothing here waits for a write, a flush or a sync, and no lock is held while a caller has an item in hand.

use std::vec;

use super::PointStore;
use crate::commit::{Places, entry_in, read_page};
use crate::error::ReadError;
use crate::journal::Page;
use crate::rules::AccountState;
use crate::types::{Account, AccountId, Balance, IdempotencyKey, Operation, Receipt};

/// Accounts that are taken from memory at once.
const ACCOUNTS_CHUNK: usize = 256;

impl PointStore {
    /// The balance of an account; zero for one that has no receipts.
    ///
    /// Every acknowledged command is in it, and nothing that could still be lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{Balance, PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// assert_eq!(store.balance(&"alice".parse()?), Balance::ZERO);
    /// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
    /// assert_eq!(store.balance(&"alice".parse()?).get(), 5);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn balance(&self, account: &AccountId) -> Balance {
        self.state(account).balance
    }

    /// Where an account stands; `None` for one that has no receipts.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{Command, PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// let alice = "alice".parse()?;
    /// assert_eq!(store.account(&alice), None);
    /// store.grant(&alice, &"order-1".parse()?, Points::new(5)?)?;
    ///
    /// // Acting on what was read, and only if it still holds:
    /// let account = store.account(&alice).ok_or("no such account")?;
    /// assert_eq!((account.balance().get(), account.sequence()), (5, 1));
    /// let all = Points::try_from(account.balance().get())?;
    /// store.apply(&Command::redeem(alice, "gift-1".parse()?, all).expecting(account.sequence()))?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn account(&self, account: &AccountId) -> Option<Account> {
        let state = self.state(account);
        (state.sequence > 0).then(|| account_of(account, state))
    }

    fn state(&self, account: &AccountId) -> AccountState {
        let index = self.inner.committer.published();
        index.accounts.state(index.hasher().account(account), account)
    }

    /// The receipt saved under a key; `None` if the key was not used.
    ///
    /// # Errors
    ///
    /// [`ReadError`] where the receipt is there and cannot be read. That says nothing about whether it exists.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{Operation, PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// let (alice, order) = ("alice".parse()?, "order-1".parse()?);
    /// store.grant(&alice, &order, Points::new(5)?)?;
    /// let receipt = store.receipt(&alice, Operation::Grant, &order)?.ok_or("no such receipt")?;
    /// assert_eq!(receipt.points().get(), 5);
    /// // The same key for another kind of operation is another operation.
    /// assert_eq!(store.receipt(&alice, Operation::Redeem, &order)?, None);
    /// # Ok(()) }
    /// ```
    pub fn receipt(
        &self,
        account: &AccountId,
        operation: Operation,
        key: &IdempotencyKey,
    ) -> Result<Option<Receipt>, ReadError> {
        let committer = &self.inner.committer;
        self.check_open()?;
        let places = {
            let index = committer.published();
            let hasher = index.hasher();
            Places::of(&index, hasher.receipt(hasher.account(account), operation, key.as_str()))
        };
        let entry = self.closed_or(places.read(committer.engine(), account, operation, key))?;
        Ok(entry.map(|entry| entry.receipt))
    }

    /// The receipts of an account, the newest first, as of now.
    ///
    /// Receipts that are added later are not in it. Other calls of the store work inside the loop.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// let alice = "alice".parse()?;
    /// store.grant(&alice, &"order-1".parse()?, Points::new(5)?)?;
    /// store.redeem(&alice, &"gift-1".parse()?, Points::new(2)?)?;
    /// let balances: Vec<i64> = store
    ///     .statement(&alice)
    ///     .map(|receipt| Ok(receipt?.balance_after().get()))
    ///     .collect::<Result<_, pointstore::ReadError>>()?;
    /// assert_eq!(balances, [3, 5]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn statement(&self, account: &AccountId) -> Statement {
        let next = self.state(account).last;
        Statement { store: self.clone(), account: account.clone(), next, batch: Vec::new().into_iter() }
    }

    /// All accounts with a receipt, in the order of their first receipts, as many as there are now.
    ///
    /// Each is given as it stands when it is reached. Other calls of the store work inside the loop.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// for name in ["bob", "alice"] {
    ///     store.grant(&name.parse()?, &"welcome".parse()?, Points::new(5)?)?;
    /// }
    /// let names: Vec<String> = store.accounts().map(|account| account.id().to_string()).collect();
    /// assert_eq!(names, ["bob", "alice"]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn accounts(&self) -> Accounts {
        let end = self.inner.committer.published().accounts.len();
        Accounts { store: self.clone(), next: 0, end, batch: Vec::new().into_iter() }
    }

    /// All receipts by rising number, from a number on, up to the newest there is now.
    ///
    /// Receipts are numbered from 1 without a gap; 0 and 1 both begin at the first. Other calls of the store
    /// work inside the loop.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// for key in ["order-1", "order-2", "order-3"] {
    ///     store.grant(&"alice".parse()?, &key.parse()?, Points::new(5)?)?;
    /// }
    /// let mut numbers = Vec::new();
    /// for receipt in store.journal(2) {
    ///     numbers.push(receipt?.number());
    /// }
    /// assert_eq!(numbers, [2, 3]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn journal(&self, from: u64) -> Journal {
        let end = self.inner.committer.published().tail.next;
        Journal { store: self.clone(), next: from.max(1), end, batch: Vec::new().into_iter() }
    }

    pub(super) fn check_open(&self) -> Result<(), ReadError> {
        if self.inner.committer.is_closed() { Err(ReadError::Closed) } else { Ok(()) }
    }

    /// A read that failed while the store was being closed failed because of that.
    pub(super) fn closed_or<T>(&self, read: Result<T, ReadError>) -> Result<T, ReadError> {
        self.inner.committer.closed_or(read)
    }

    /// Reads the page that holds an entry.
    fn page_holding<T>(
        &self,
        number: u64,
        take: impl FnOnce(&Page<'_>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.check_open()?;
        let committer = &self.inner.committer;
        let first = committer.published().pages.page_of(number);
        let first = first.ok_or_else(|| ReadError::corrupt(number, "no page holds the entry"))?;
        self.closed_or(read_page(committer.engine(), first, number, take))
    }
}

/// The receipts of an account, newest first; made by [`PointStore::statement`].
///
/// An error ends it.
#[derive(Debug)]
pub struct Statement {
    store: PointStore,
    account: AccountId,
    /// The number of the next receipt to read, 0 at the end.
    next: u64,
    batch: vec::IntoIter<Receipt>,
}

impl Iterator for Statement {
    type Item = Result<Receipt, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(receipt) = self.batch.next() {
            return Some(Ok(receipt));
        }
        let from = std::mem::take(&mut self.next);
        if from == 0 {
            return None;
        }
        match self.store.page_holding(from, |page| statement_batch(page, &self.account, from)) {
            Ok((batch, next)) => {
                self.next = next;
                self.batch = batch.into_iter();
                self.batch.next().map(Ok)
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// The account's receipts in a page, from one backwards, and the number of the one before them.
fn statement_batch(
    page: &Page<'_>,
    account: &AccountId,
    from: u64,
) -> Result<(Vec<Receipt>, u64), ReadError> {
    let mut batch = Vec::new();
    let mut number = from;
    while number >= page.first() {
        let entry = entry_in(page, number)?;
        if entry.receipt.account() != account || entry.previous >= number {
            return Err(ReadError::corrupt(number, "the account's entries are not in sequence"));
        }
        number = entry.previous;
        batch.push(entry.receipt);
        if number == 0 {
            break;
        }
    }
    Ok((batch, number))
}

/// Receipts by rising number; made by [`PointStore::journal`].
///
/// An error ends it.
#[derive(Debug)]
pub struct Journal {
    store: PointStore,
    next: u64,
    end: u64,
    batch: vec::IntoIter<Receipt>,
}

impl Iterator for Journal {
    type Item = Result<Receipt, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(receipt) = self.batch.next() {
            return Some(Ok(receipt));
        }
        if self.next >= self.end {
            return None;
        }
        let from = std::mem::replace(&mut self.next, self.end);
        let end = self.end;
        match self.store.page_holding(from, |page| journal_batch(page, from, end)) {
            Ok((batch, next)) => {
                self.next = next;
                self.batch = batch.into_iter();
                self.batch.next().map(Ok)
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// The receipts of a page from one on, before `end`, and the number behind them.
fn journal_batch(page: &Page<'_>, from: u64, end: u64) -> Result<(Vec<Receipt>, u64), ReadError> {
    let behind = page.end().unwrap_or(u64::MAX).min(end);
    if behind <= from {
        return Err(ReadError::corrupt(from, "the page ends before the entry"));
    }
    let mut batch = Vec::with_capacity(page.len());
    for number in from..behind {
        let entry = entry_in(page, number)?;
        batch.push(entry.receipt);
    }
    Ok((batch, behind))
}

/// All accounts; made by [`PointStore::accounts`].
#[derive(Debug)]
pub struct Accounts {
    store: PointStore,
    next: usize,
    end: usize,
    batch: vec::IntoIter<Account>,
}

impl Iterator for Accounts {
    type Item = Account;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(account) = self.batch.next() {
            return Some(account);
        }
        let from = self.next;
        self.next = from.saturating_add(ACCOUNTS_CHUNK).min(self.end);
        let index = self.store.inner.committer.published();
        let batch: Vec<Account> = (from..self.next)
            .filter_map(|place| index.accounts.at(place))
            .map(|(id, state)| account_of(id, state))
            .collect();
        drop(index);
        self.batch = batch.into_iter();
        self.batch.next()
    }
}

fn account_of(id: &AccountId, state: AccountState) -> Account {
    Account::new(id.clone(), state.balance, state.sequence, state.last)
}
