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
