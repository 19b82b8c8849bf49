//! The rules of the ledger, pure: what is known and a command give an entry, a replay or a refusal.
//!
//! Keeps I1, I3, I4 and I5, and the order of answers: key already used, then the expected sequence, then
//! points and limits. No I/O, no clock, no locks, no bytes: what is saved under a command's key and where its
//! account stands come in as values, so whoever keeps them fetches them as it likes. `commit` runs the rules
//! over what is published and what its group has decided so far; `store` checks the journal against them.

use std::collections::HashMap;

use crate::error::{Difference, Refusal};
use crate::types::{Balance, Command, Entry, Memo, Operation, Points, Receipt, ReceiptParts, Timestamp};

/// Where an account stands after some of its receipts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccountState {
    /// The sum of its receipts.
    pub(crate) balance: Balance,
    /// How many receipts it has.
    pub(crate) sequence: u64,
    /// The number of the newest one, 0 for none.
    pub(crate) last: u64,
}

impl AccountState {
    /// The balance after moving points, or why they cannot be moved.
    pub(crate) fn balance_after(&self, operation: Operation, points: Points) -> Result<Balance, Refusal> {
        let (balance, requested) = (self.balance, points);
        match operation {
            Operation::Grant => {
                balance.checked_add(points).ok_or(Refusal::BalanceOverflow { balance, requested })
            }
            Operation::Redeem => {
                balance.checked_sub(points).ok_or(Refusal::InsufficientPoints { balance, requested })
            }
        }
    }

    /// Where the account stands after an entry of its own.
    pub(crate) fn after(entry: &Entry) -> Self {
        let receipt = &entry.receipt;
        Self { balance: receipt.balance_after(), sequence: receipt.sequence(), last: receipt.number() }
    }
}

/// Where a new entry would go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Its number in the journal.
    pub(crate) number: u64,
    /// The time of its group.
    pub(crate) time: Timestamp,
    /// Its place in its atomic list.
    pub(crate) place: u32,
    /// The length of that list, 1 for a single command.
    pub(crate) list_len: u32,
}

/// What the key of one command says before the command is looked at.
#[derive(Debug)]
pub(crate) enum Known {
    /// It is not used.
    New,
    /// The same command had its effect before: this receipt.
    Replay(Receipt),
    /// It was used for something else.
    Reused(Refusal),
}

/// Resolves the key of one command, given what is saved under it.
pub(crate) fn resolve(saved: Option<Entry>, command: &Command) -> Known {
    let Some(saved) = saved else { return Known::New };
    match payload_differs(payload(&saved), command) {
        None => Known::Replay(saved.receipt),
        Some(differs) => Known::Reused(key_reused(saved.receipt.points(), command, differs)),
    }
}

/// What the keys of an atomic list say before its commands are looked at.
#[derive(Debug)]
pub(crate) enum ListKeys {
    /// None of them is used.
    New,
    /// All of them are, by this same list: its receipts.
    Replay(Vec<Receipt>),
    /// Some item's key was used otherwise.
    Reused(usize, Refusal),
}

/// Resolves the keys of an atomic list: all new, or a replay of the same list, or refused.
///
/// Each command comes with what is saved under its key.
pub(crate) fn resolve_list<'a>(
    list: impl ExactSizeIterator<Item = (&'a Command, Option<Entry>)>,
) -> ListKeys {
    let len = list.len();
    let mut seen = HashMap::with_capacity(len);
    let mut replayed: Vec<Entry> = Vec::new();
    let mut first_used = None;
    for (index, (command, saved)) in list.enumerate() {
        let identity = (command.account(), command.operation(), command.key());
        if let Some(earlier) = seen.insert(identity, command) {
            let saved = (earlier.points(), earlier.memo());
            let differs = payload_differs(saved, command).unwrap_or(Difference::List);
            return ListKeys::Reused(index, key_reused(saved.0, command, differs));
        }
        let Some(saved) = saved else { continue };
        let same_list = usize::try_from(saved.place) == Ok(index)
            && usize::try_from(saved.list_len) == Ok(len)
            && replayed.last().is_none_or(|earlier| earlier.list_start() == saved.list_start());
        let points = saved.receipt.points();
        let differs = payload_differs(payload(&saved), command).or((!same_list).then_some(Difference::List));
        if let Some(differs) = differs {
            return ListKeys::Reused(index, key_reused(points, command, differs));
        }
        first_used.get_or_insert((index, points, command));
        replayed.push(saved);
    }
    match first_used {
        None => ListKeys::New,
        Some(_) if replayed.len() == len => {
            ListKeys::Replay(replayed.into_iter().map(|entry| entry.receipt).collect())
        }
        // Some are new: a list that shares keys with another is not that other's retry.
        Some((index, points, command)) => {
            ListKeys::Reused(index, key_reused(points, command, Difference::List))
        }
    }
}

/// The entry a command with an unused key makes, or why it has no effect.
pub(crate) fn effect(state: AccountState, command: &Command, slot: Slot) -> Result<Entry, Refusal> {
    if let Some(expected) = command.expected()
        && expected != state.sequence
    {
        return Err(Refusal::SequenceMismatch { expected, actual: state.sequence });
    }
    let balance_after = state.balance_after(command.operation(), command.points())?;
    let receipt = Receipt::from_parts(ReceiptParts {
        number: slot.number,
        account: command.account().clone(),
        operation: command.operation(),
        key: command.key().clone(),
        points: command.points(),
        balance_after,
        sequence: state.sequence.saturating_add(1),
        recorded_at: slot.time,
        memo: command.memo().cloned(),
    });
    Ok(Entry { receipt, place: slot.place, list_len: slot.list_len, previous: state.last })
}

/// What a later command under the same key must not differ in.
fn payload(saved: &Entry) -> (Points, Option<&Memo>) {
    (saved.receipt.points(), saved.receipt.memo())
}

/// In what a command differs from what was saved under its key (I5).
fn payload_differs((points, memo): (Points, Option<&Memo>), command: &Command) -> Option<Difference> {
    if points != command.points() {
        Some(Difference::Points)
    } else if memo != command.memo() {
        Some(Difference::Memo)
    } else {
        None
    }
}

fn key_reused(saved: Points, command: &Command, differs: Difference) -> Refusal {
    Refusal::KeyReused { saved, given: command.points(), differs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{AccountId, IdempotencyKey};

    fn points(points: i64) -> Points {
        Points::new(points).unwrap()
    }

    fn balance(points: i64) -> Balance {
        Balance::new(points).unwrap()
    }

    fn grant(key: &str, amount: i64) -> Command {
        Command::grant(AccountId::new("ada").unwrap(), IdempotencyKey::new(key).unwrap(), points(amount))
    }

    fn redeem(key: &str, amount: i64) -> Command {
        Command::redeem(AccountId::new("ada").unwrap(), IdempotencyKey::new(key).unwrap(), points(amount))
    }

    fn memo() -> Memo {
        Memo::new("socks").unwrap()
    }

    const SLOT: Slot = Slot { number: 41, time: Timestamp::from_unix_millis(5), place: 0, list_len: 1 };

    fn state(points: i64, sequence: u64) -> AccountState {
        AccountState { balance: balance(points), sequence, last: 40 }
    }

    /// The entry that a command makes as the n-th of a list of so many, in a journal that it finds room in.
    fn saved(command: &Command, place: u32, list_len: u32, number: u64) -> Option<Entry> {
        Some(effect(state(500, 3), command, Slot { number, place, list_len, ..SLOT }).unwrap())
    }

    fn reused(saved: i64, given: i64, differs: Difference) -> Refusal {
        Refusal::KeyReused { saved: points(saved), given: points(given), differs }
    }

    // I1, I4: the key first, whatever else there is to say.
    #[test]
    fn a_used_key_decides_before_expectation_and_rules() {
        let command = redeem("k", 100);
        let entry = saved(&command, 0, 1, 41);
        // Neither the expectation nor the balance is looked at: the retry is a replay.
        match resolve(entry.clone(), &command.clone().expecting(99)) {
            Known::Replay(receipt) => assert_eq!(receipt, entry.clone().unwrap().receipt),
            other => panic!("{other:?}"),
        }
        assert!(matches!(resolve(None, &command), Known::New));
        for (other, differs) in [
            (redeem("k", 200), Difference::Points),
            (redeem("k", 200).with_memo(memo()), Difference::Points),
            (redeem("k", 100).with_memo(memo()), Difference::Memo),
        ] {
            match resolve(entry.clone(), &other) {
                Known::Reused(refusal) => {
                    assert_eq!(refusal, reused(100, other.points().get(), differs), "I5");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_expectation_decides_before_points_and_limits() {
        let mismatch = Refusal::SequenceMismatch { expected: 2, actual: 3 };
        let (much, many) = (redeem("k", 501), grant("k", i64::MAX));
        for command in [&much, &many] {
            let refused = effect(state(500, 3), &command.clone().expecting(2), SLOT);
            assert_eq!(refused, Err(mismatch.clone()));
        }
        let (held, requested) = (balance(500), much.points());
        let insufficient = Err(Refusal::InsufficientPoints { balance: held, requested });
        assert_eq!(effect(state(500, 3), &much.clone().expecting(3), SLOT), insufficient);
        assert_eq!(effect(state(500, 3), &much, SLOT), insufficient);
        let requested = many.points();
        let overflow = Err(Refusal::BalanceOverflow { balance: held, requested });
        assert_eq!(effect(state(500, 3), &many, SLOT), overflow);
    }

    // I3
    #[test]
    fn an_entry_follows_from_the_account_and_leads_to_where_it_then_stands() {
        let entry = effect(state(500, 3), &redeem("k", 500).with_memo(memo()), SLOT).unwrap();
        let receipt = &entry.receipt;
        assert_eq!((receipt.number(), receipt.sequence(), entry.previous), (41, 4, 40));
        assert_eq!((receipt.balance_after(), receipt.memo()), (Balance::ZERO, Some(&memo())));
        assert_eq!(receipt.recorded_at(), SLOT.time);
        let after = AccountState { balance: Balance::ZERO, sequence: 4, last: 41 };
        assert_eq!(AccountState::after(&entry), after);
        let first = effect(AccountState::default(), &grant("k", i64::MAX).expecting(0), SLOT).unwrap();
        assert_eq!((first.receipt.sequence(), first.previous), (1, 0));
        assert_eq!(first.receipt.balance_after(), Balance::MAX);
    }

    fn keys(list: &[(&Command, Option<Entry>)]) -> ListKeys {
        resolve_list(list.iter().cloned())
    }

    fn assert_reused(keys: ListKeys, at: usize, refusal: &Refusal) {
        match keys {
            ListKeys::Reused(index, why) => assert_eq!((index, &why), (at, refusal)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_list_is_all_new_or_all_a_replay_of_itself() {
        let (a, b) = (grant("a", 1), grant("b", 2));
        assert!(matches!(keys(&[]), ListKeys::New));
        assert!(matches!(keys(&[(&a, None), (&b, None)]), ListKeys::New));
        match keys(&[(&a, saved(&a, 0, 2, 41)), (&b, saved(&b, 1, 2, 42))]) {
            ListKeys::Replay(receipts) => {
                assert_eq!(receipts.iter().map(Receipt::number).collect::<Vec<_>>(), [41, 42]);
            }
            other => panic!("{other:?}"),
        }
    }

    // C16 and its kind: anything that is not the same list from end to end is refused, naming the item.
    #[test]
    fn a_list_that_shares_keys_with_another_is_refused() {
        let (a, b) = (grant("a", 1), grant("b", 2));
        let list = |points| reused(points, points, Difference::List);
        let one = |command, place, len, number| (command, saved(command, place, len, number));
        // Some are new.
        assert_reused(keys(&[one(&a, 0, 2, 41), (&b, None)]), 0, &list(1));
        assert_reused(keys(&[(&a, None), one(&b, 1, 2, 42)]), 1, &list(2));
        // They were singles, or a list of one.
        assert_reused(keys(&[one(&a, 0, 1, 41), one(&b, 0, 1, 42)]), 0, &list(1));
        // Another order, a part, more than it was.
        assert_reused(keys(&[one(&b, 1, 2, 42), one(&a, 0, 2, 41)]), 0, &list(2));
        assert_reused(keys(&[one(&a, 0, 2, 41)]), 0, &list(1));
        assert_reused(keys(&[one(&a, 0, 2, 41), one(&b, 1, 2, 42), (&grant("c", 3), None)]), 0, &list(1));
        // The halves of two lists.
        assert_reused(keys(&[one(&a, 0, 2, 41), one(&b, 1, 2, 52)]), 1, &list(2));
        // Other points are named before the list is.
        let differs = reused(1, 9, Difference::Points);
        let other = grant("a", 9);
        assert_reused(keys(&[(&other, saved(&a, 0, 1, 41)), (&b, None)]), 0, &differs);
    }

    #[test]
    fn a_key_used_twice_in_a_list_is_refused_at_the_later_item() {
        let (a, b) = (grant("a", 1), grant("b", 2));
        let twice = reused(1, 1, Difference::List);
        assert_reused(keys(&[(&a, None), (&b, None), (&a, None)]), 2, &twice);
        let (other, with_memo) = (grant("a", 3), grant("a", 1).with_memo(memo()));
        assert_reused(keys(&[(&a, None), (&other, None)]), 1, &reused(1, 3, Difference::Points));
        assert_reused(keys(&[(&a, None), (&with_memo, None)]), 1, &reused(1, 1, Difference::Memo));
        // Another operation is another key.
        let redeem = redeem("a", 1);
        assert!(matches!(keys(&[(&a, None), (&redeem, None)]), ListKeys::New));
    }
}
