//! Judges a journal while it is folded: numbers, chain, checksums, totals, sequences, balances, keys (I1, I3, I11).
//!
//! Pages go in by rising number. A group counts once it is there as a whole; what is left of an unfinished one
//! at the end is reported and never folded in.

use std::sync::Arc;

use super::facts::{EntryFacts, PageFacts, PageReader};
use crate::error::OpenError;
use crate::index::{Index, Loader, Owner, Tail};
use crate::journal::{Chain, StoreId};
use crate::limits::GROUP_PAGES_MAX;
use crate::rules::AccountState;
use crate::types::Operation;

const OUT_OF_SEQUENCE: &str = "the account's entries are not in sequence";

/// What is wrong with a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, entry={entry}")]
pub(super) struct Finding {
    /// The entry at which it shows.
    pub(super) entry: u64,
    pub(super) what: Arc<str>,
}

impl From<Finding> for OpenError {
    fn from(finding: Finding) -> Self {
        Self::Corrupt { what: finding.to_string().into(), file: None }
    }
}

/// A place in the journal whose chain is wanted.
#[derive(Clone, Copy, Debug)]
struct Watch {
    next: u64,
    chain: Option<Chain>,
}

/// A journal while it is judged.
#[derive(Debug)]
pub(super) struct Audit {
    store: StoreId,
    loader: Loader,
    /// The pages of the group that has begun.
    group: Vec<PageFacts>,
    /// The number behind the pages taken so far.
    next_page: u64,
    /// Pages of the last group behind one of it that is missing; once there are any, it cannot be finished.
    torn: usize,
    watches: Vec<Watch>,
}

/// A sound journal.
#[derive(Debug)]
pub(super) struct Audited {
    pub(super) index: Index,
    /// Pages of an unfinished group behind it.
    pub(super) unfinished_pages: usize,
    /// Entries whose keys have one hash and are still to be compared.
    pub(super) suspects: Vec<(u64, u64)>,
    watches: Vec<Watch>,
}

impl Audited {
    /// The chain before an entry that was watched for; `None` where the journal ends before it.
    pub(super) fn chain_before(&self, next: u64) -> Option<u32> {
        self.watches.iter().find(|watch| watch.next == next)?.chain.map(Chain::get)
    }
}

impl Audit {
    /// Begins with an empty journal; the chain before each entry in `watched` is kept.
    pub(super) fn new(store: StoreId, watched: &[u64]) -> Self {
        let seed = Chain::seed(store);
        let watch = |next: &u64| Watch { next: *next, chain: (*next == 1).then_some(seed) };
        Self {
            store,
            loader: Loader::new(store),
            group: Vec::new(),
            next_page: 1,
            torn: 0,
            watches: watched.iter().map(watch).collect(),
        }
    }

    /// What reads pages for it, on any thread.
    pub(super) fn reader(&self) -> PageReader {
        let watched: Vec<u64> = self.watches.iter().map(|watch| watch.next).collect();
        PageReader::new(self.store, self.loader.hasher().clone(), &watched)
    }

    /// How many entries are folded in.
    pub(super) fn entries(&self) -> u64 {
        self.loader.index().tail.next.saturating_sub(1)
    }

    /// Where the journal ends so far.
    pub(super) fn tail(&self) -> &Tail {
        &self.loader.index().tail
    }

    /// The number that the next page should begin with.
    pub(super) fn next_page(&self) -> u64 {
        self.next_page
    }

    /// Takes the next page.
    pub(super) fn page(&mut self, page: PageFacts) -> Result<(), Finding> {
        let first = page.first;
        if page.header.group_first != self.loader.index().tail.next {
            return Err(finding(first, "entries are missing before the page"));
        }
        if self.torn > 0 || first != self.next_page {
            // It is of the group that follows what is whole, but a page of that group is missing.
            self.torn = self.torn.saturating_add(1);
            return Ok(());
        }
        if self.group.len() >= GROUP_PAGES_MAX {
            return Err(finding(first, "a group has too many pages"));
        }
        let agree = |other: &PageFacts| {
            (other.header.group_len, other.header.time) == (page.header.group_len, page.header.time)
        };
        if !self.group.first().is_none_or(agree) {
            return Err(finding(first, "the pages of a group do not agree"));
        }
        let ends_group = page.ends_group;
        self.next_page = page.end;
        self.group.push(page);
        if ends_group { self.fold_group() } else { Ok(()) }
    }

    fn fold_group(&mut self) -> Result<(), Finding> {
        let mut list = ListCheck::default();
        for page in std::mem::take(&mut self.group) {
            self.fold_page(page, &mut list)?;
        }
        list.end(self.loader.index().tail.next)
    }

    fn fold_page(&mut self, mut page: PageFacts, list: &mut ListCheck) -> Result<(), Finding> {
        let (first, header, tail) = (page.first, page.header, self.loader.index().tail);
        if header.chain_before != tail.chain {
            return Err(finding(first, "the chain does not continue"));
        }
        if (header.granted_before, header.redeemed_before) != (tail.granted, tail.redeemed) {
            return Err(finding(first, "the totals do not continue"));
        }
        if header.time < tail.time {
            return Err(finding(first, "time goes back"));
        }
        let owners =
            self.loader.owners(page.entries.iter().map(|entry| (entry.previous, entry.account_hash)));
        for (number, (entry, owner)) in (first..).zip(page.entries.iter_mut().zip(owners)) {
            list.entry(number, entry)?;
            self.fold_entry(number, entry, owner)?;
        }
        let index = self.loader.index_mut();
        index.pages.push(first, page.byte_len);
        index.tail.chain = page.chain_after;
        index.tail.time = header.time;
        for (next, chain) in page.watched {
            for watch in self.watches.iter_mut().filter(|watch| watch.next == next) {
                watch.chain = Some(chain);
            }
        }
        Ok(())
    }

    fn fold_entry(
        &mut self,
        number: u64,
        entry: &mut EntryFacts,
        known: Option<Owner>,
    ) -> Result<(), Finding> {
        let owner = self.owner(entry, known).ok_or_else(|| finding(number, OUT_OF_SEQUENCE))?;
        let before = self.loader.state(owner);
        let balance = before
            .balance_after(entry.operation, entry.points)
            .map_err(|refusal| finding(number, &format!("the entry breaks a rule: {refusal}")))?;
        if entry.balance_after != balance {
            return Err(finding(number, "the balance does not follow from the one before"));
        }
        let sequence = before.sequence.saturating_add(1);
        if entry.sequence != sequence || entry.previous != before.last {
            return Err(finding(number, OUT_OF_SEQUENCE));
        }
        self.loader.entry(owner, AccountState { balance, sequence, last: number }, entry.receipt_hash);
        let tail = &mut self.loader.index_mut().tail;
        let total = match entry.operation {
            Operation::Grant => &mut tail.granted,
            Operation::Redeem => &mut tail.redeemed,
        };
        *total = total.saturating_add(u128::from(entry.points.get().unsigned_abs()));
        tail.next = number.saturating_add(1);
        Ok(())
    }

    /// The account of an entry: the one of the entry that it names as its account's last, or a new one. It is
    /// `known` where that entry is on an earlier page.
    fn owner(&mut self, entry: &mut EntryFacts, known: Option<Owner>) -> Option<Owner> {
        match entry.id.take() {
            Some(id) => self.loader.new_owner(id, entry.account_hash),
            None => known.or_else(|| self.loader.owner(entry.previous, entry.account_hash)),
        }
    }

    /// All pages have been taken.
    pub(super) fn end(self) -> Audited {
        let unfinished_pages = self.group.len().saturating_add(self.torn);
        let (index, suspects) = self.loader.finish();
        Audited { index, unfinished_pages, suspects, watches: self.watches }
    }
}

/// An atomic list lies in one group, whole and in order.
#[derive(Debug, Default)]
struct ListCheck {
    place: u32,
    len: u32,
}

impl ListCheck {
    fn entry(&mut self, number: u64, row: &EntryFacts) -> Result<(), Finding> {
        if self.place == self.len {
            (self.place, self.len) = (0, row.list_len);
        }
        if row.place != self.place || row.list_len != self.len || self.place >= self.len {
            return Err(finding(number, "an atomic list is not whole"));
        }
        self.place = self.place.saturating_add(1);
        Ok(())
    }

    fn end(&self, next: u64) -> Result<(), Finding> {
        if self.place == self.len { Ok(()) } else { Err(finding(next, "an atomic list is not whole")) }
    }
}

/// A finding at an entry.
pub(super) fn finding(entry: u64, what: &str) -> Finding {
    Finding { entry, what: what.into() }
}
