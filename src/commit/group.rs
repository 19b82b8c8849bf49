//! Decides the requests of one group, each over the published state and what the group holds so far (I1, I5).
//!
//! A request that is refused leaves nothing behind for its neighbours. Nothing here is visible to anyone yet.

use hashbrown::HashTable;

use super::lookup::Places;
use super::request::{Atomic, Each, Prepared, Work};
use crate::engine::Engine;
use crate::error::{ApplyError, AtomicError, Fault, ReadError, StorageError};
use crate::index::Index;
use crate::journal::{Full, Packer};
use crate::limits::Limits;
use crate::rules::{self, AccountState, Known, ListKeys, Slot};
use crate::types::{AccountId, Command, Entry, Outcome, Timestamp};

/// The entries of a group, with what they mean for later commands of the same group.
#[derive(Debug)]
pub(super) struct Overlay {
    entries: Vec<Pending>,
    /// The newest entry of each account in the group.
    accounts: HashTable<usize>,
    receipts: HashTable<usize>,
}

/// An entry of the group.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) entry: Entry,
    pub(super) account_hash: u64,
    pub(super) receipt_hash: u64,
    /// Where its account is among all, if it was found.
    pub(super) account_place: Option<usize>,
    /// The account's entry before it in this group.
    before: Option<usize>,
}

impl Overlay {
    /// The entries, in order.
    pub(super) fn entries(&self) -> &[Pending] {
        &self.entries
    }

    /// The first entry of each account of the group, in order, and where the account stands after the group.
    pub(super) fn accounts(&self) -> impl Iterator<Item = (&Pending, AccountState)> {
        self.entries.iter().filter(|pending| pending.before.is_none()).filter_map(|pending| {
            let state = self.account(pending.account_hash, pending.entry.receipt.account())?;
            Some((pending, state))
        })
    }

    /// Without an entry, and with room for some.
    fn with_room(entries: usize) -> Self {
        Self {
            entries: Vec::with_capacity(entries),
            accounts: HashTable::with_capacity(entries),
            receipts: HashTable::with_capacity(entries),
        }
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn is_of(&self, at: usize, account: &AccountId) -> bool {
        self.entries.get(at).is_some_and(|pending| pending.entry.receipt.account() == account)
    }

    fn account(&self, hash: u64, account: &AccountId) -> Option<AccountState> {
        let at = self.accounts.find(hash, |at| self.is_of(*at, account))?;
        self.entries.get(*at).map(|pending| AccountState::after(&pending.entry))
    }

    fn saved(&self, hash: u64, command: &Command) -> Option<&Entry> {
        let is_it = |at: &usize| {
            self.entries.get(*at).is_some_and(|pending| {
                let receipt = &pending.entry.receipt;
                receipt.key() == command.key()
                    && receipt.operation() == command.operation()
                    && receipt.account() == command.account()
            })
        };
        let at = self.receipts.find(hash, is_it)?;
        self.entries.get(*at).map(|pending| &pending.entry)
    }

    fn push(&mut self, entry: Entry, prepared: &Prepared) {
        let at = self.entries.len();
        let (entries, account) = (&self.entries, prepared.command.account());
        let same = |other: &usize| entries.get(*other).is_some_and(|p| p.entry.receipt.account() == account);
        let before = match self.accounts.find_mut(prepared.account_hash, same) {
            Some(newest) => Some(std::mem::replace(newest, at)),
            None => {
                let rehash = |at: &usize| entries.get(*at).map_or(prepared.account_hash, |p| p.account_hash);
                self.accounts.insert_unique(prepared.account_hash, at, rehash);
                None
            }
        };
        let rehash = |at: &usize| entries.get(*at).map_or(prepared.receipt_hash, |p| p.receipt_hash);
        self.receipts.insert_unique(prepared.receipt_hash, at, rehash);
        self.entries.push(Pending {
            entry,
            account_hash: prepared.account_hash,
            receipt_hash: prepared.receipt_hash,
            account_place: prepared.account_place,
            before,
        });
    }

    /// Forgets the entries behind the first `len`.
    fn truncate(&mut self, len: usize) {
        while self.entries.len() > len {
            let Some(gone) = self.entries.pop() else { return };
            let at = self.entries.len();
            if let Ok(slot) = self.receipts.find_entry(gone.receipt_hash, |other| *other == at) {
                slot.remove();
            }
            if let Ok(mut slot) = self.accounts.find_entry(gone.account_hash, |other| *other == at) {
                match gone.before {
                    Some(before) => *slot.get_mut() = before,
                    None => {
                        slot.remove();
                    }
                }
            }
        }
    }
}

/// Commands that one group decides at most: those that are refused take no room in it, and must not keep those who
/// wait behind them.
const DECISIONS_MAX: usize = 4096;

/// A group while it is decided.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    index: &'a Index,
    engine: &'a dyn Engine,
    time: Timestamp,
    decisions: usize,
    pub(super) overlay: Overlay,
    pub(super) packer: Packer,
}

/// Whether a request found room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Everything in it has an answer.
    Whole,
    /// Some of it waits for the next group.
    Part,
}

impl<'a> Draft<'a> {
    /// An empty group behind the published state, with room for as many `commands` as usually fit.
    pub(super) fn new(
        index: &'a Index,
        engine: &'a dyn Engine,
        time: Timestamp,
        limits: Limits,
        commands: usize,
    ) -> Self {
        let mut packer = Packer::new(limits);
        let overlay = Overlay::with_room(packer.make_room(commands));
        Self { index, engine, time, decisions: 0, overlay, packer }
    }

    /// Decides as much of a request as there is room for.
    pub(super) fn decide(&mut self, work: &mut Work) -> Fit {
        match work {
            Work::Each(each) => self.decide_each(each),
            Work::Atomic(atomic) => self.decide_atomic(atomic),
        }
    }

    fn decide_each(&mut self, each: &mut Each) -> Fit {
        while let Some(prepared) = each.next() {
            if self.decisions >= DECISIONS_MAX {
                return Fit::Part;
            }
            let answer = match self.decide_one(prepared) {
                Ok(answer) => answer,
                Err(Full::Group) if !self.packer.is_empty() => return Fit::Part,
                Err(full) => Err(unwritable(full).into()),
            };
            each.answer(answer);
            self.decisions = self.decisions.saturating_add(1);
        }
        Fit::Whole
    }

    fn decide_one(&mut self, prepared: &Prepared) -> Result<Result<Outcome, ApplyError>, Full> {
        let saved = match self.saved(prepared) {
            Ok(saved) => saved,
            Err(error) => return Ok(Err(error.into())),
        };
        Ok(match rules::resolve(saved, &prepared.command) {
            Known::Replay(receipt) => Ok(Outcome::Replayed(receipt)),
            Known::Reused(refusal) => Err(refusal.into()),
            Known::New => match rules::effect(self.account(prepared), &prepared.command, self.slot(0, 1)) {
                Ok(entry) => Ok(self.add(entry, prepared)?),
                Err(refusal) => Err(refusal.into()),
            },
        })
    }

    fn decide_atomic(&mut self, atomic: &mut Atomic) -> Fit {
        let (entries, packed) = (self.overlay.len(), self.packer.savepoint());
        let was_empty = self.packer.is_empty();
        match self.try_atomic(&atomic.commands) {
            Ok(outcomes) => atomic.answer = Some(Ok(outcomes)),
            Err(stop) => {
                // Nothing of the list stays, for its neighbours as for itself.
                self.overlay.truncate(entries);
                self.packer.roll_back(packed);
                atomic.answer = Some(Err(match stop {
                    Stop::Full(Full::Group) if !was_empty => return Fit::Part,
                    Stop::Full(full) => AtomicError::new(None, unwritable(full)),
                    Stop::Error(error) => error,
                }));
            }
        }
        Fit::Whole
    }

    fn try_atomic(&mut self, list: &[Prepared]) -> Result<Vec<Outcome>, Stop> {
        let saved: Vec<_> = list
            .iter()
            .map(|prepared| self.saved(prepared))
            .collect::<Result<_, _>>()
            .map_err(|error| AtomicError::new(None, error))?;
        match rules::resolve_list(list.iter().map(|prepared| &prepared.command).zip(saved)) {
            ListKeys::New => {}
            ListKeys::Replay(receipts) => return Ok(receipts.into_iter().map(Outcome::Replayed).collect()),
            ListKeys::Reused(at, refusal) => return Err(AtomicError::new(Some(at), refusal).into()),
        }
        let list_len = u32::try_from(list.len()).unwrap_or(u32::MAX);
        let mut outcomes = Vec::with_capacity(list.len());
        for (place, prepared) in (0..list_len).zip(list) {
            let entry = rules::effect(self.account(prepared), &prepared.command, self.slot(place, list_len))
                .map_err(|refusal| AtomicError::new(usize::try_from(place).ok(), refusal))?;
            outcomes.push(self.add(entry, prepared)?);
        }
        Ok(outcomes)
    }

    /// Where the command's account stands, the group so far included.
    fn account(&self, prepared: &Prepared) -> AccountState {
        let (hash, account) = (prepared.account_hash, prepared.command.account());
        let published = || match prepared.account_place.and_then(|place| self.index.accounts.at(place)) {
            Some((_, state)) => state,
            // It may be there since it was looked for.
            None => self.index.accounts.state(hash, account),
        };
        self.overlay.account(hash, account).unwrap_or_else(published)
    }

    /// What is saved under the command's key, the group so far included.
    fn saved(&self, prepared: &Prepared) -> Result<Option<Entry>, ReadError> {
        match self.overlay.saved(prepared.receipt_hash, &prepared.command) {
            Some(entry) => Ok(Some(entry.clone())),
            None => prepared.read_saved(self.engine, &Places::of(self.index, prepared.receipt_hash)),
        }
    }

    fn slot(&self, place: u32, list_len: u32) -> Slot {
        let number = self.index.tail.next.saturating_add(self.packer.len() as u64);
        Slot { number, time: self.time, place, list_len }
    }

    fn add(&mut self, entry: Entry, prepared: &Prepared) -> Result<Outcome, Full> {
        self.packer.push(&entry)?;
        let outcome = Outcome::Applied(entry.receipt.clone());
        self.overlay.push(entry, prepared);
        Ok(outcome)
    }
}

/// Why an atomic list has no effect in this group.
enum Stop {
    Full(Full),
    Error(AtomicError),
}

impl From<Full> for Stop {
    fn from(full: Full) -> Self {
        Self::Full(full)
    }
}

impl From<AtomicError> for Stop {
    fn from(error: AtomicError) -> Self {
        Self::Error(error)
    }
}

/// The limits make sure that an empty group holds any request; should they not, the request is told so.
fn unwritable(full: Full) -> StorageError {
    StorageError::NotAttempted(Fault::new(full.to_string()))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that overflows is to say so at once")]
mod tests;
