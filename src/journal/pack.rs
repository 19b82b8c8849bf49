//! Packs the entries of a group into pages, in order, within a number of pages (I2, I3).
//!
//! `commit` pushes entries as they are decided; a request that is given up in the middle is rolled back to a
//! savepoint. `finish` then writes the pages, each with the totals and the chain before it.

use super::chain::Chain;
use super::entry::{EntryError, Row};
use super::page::{self, Header, StoreId};
use crate::limits::{Limits, OFFSET_LEN, PAGE_FIXED_LEN};
use crate::types::{Entry, Operation, Timestamp};

/// Bytes of an entry whose names have a dozen letters, more or less: what room is made for.
const USUAL_ENTRY_LEN: usize = 48;

/// What the journal holds before a group, and the group's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupHeader {
    /// The store the pages are for.
    pub(crate) store: StoreId,
    /// The number of the group's first entry.
    pub(crate) first: u64,
    /// The chain before it.
    pub(crate) chain: Chain,
    /// Points granted before it.
    pub(crate) granted: u128,
    /// Points redeemed before it.
    pub(crate) redeemed: u128,
    /// The time of the group.
    pub(crate) time: Timestamp,
}

/// A packed group, ready to be appended.
#[derive(Debug)]
pub(crate) struct Group {
    /// First entry's number and bytes of each page.
    pub(crate) pages: Vec<(u64, Vec<u8>)>,
    /// How many entries it has.
    pub(crate) len: u32,
    /// The chain after it.
    pub(crate) chain: Chain,
    /// Points granted after it.
    pub(crate) granted: u128,
    /// Points redeemed after it.
    pub(crate) redeemed: u128,
}

/// The group has no room left for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    /// What is in it must go out first.
    #[error("the group is full")]
    Group,
    /// The entry cannot be written at all.
    #[error(transparent)]
    Entry(#[from] EntryError),
}

/// A state of the packer to roll back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Savepoint {
    entries: usize,
    bytes: usize,
    pages: usize,
    page_used: usize,
}

/// What is known of one packed entry.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Where its bytes end.
    end: usize,
    granted: u64,
    redeemed: u64,
}

/// A group while it is filled.
#[derive(Debug)]
pub(crate) struct Packer {
    page_room: usize,
    pages_max: usize,
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    /// The place in `marks` of each page's first entry.
    page_starts: Vec<usize>,
    /// Bytes taken in the last page.
    page_used: usize,
}

impl Packer {
    /// An empty group.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            page_room: limits.page_len.saturating_sub(PAGE_FIXED_LEN),
            pages_max: limits.group_pages,
            bytes: Vec::new(),
            marks: Vec::new(),
            page_starts: Vec::new(),
            page_used: 0,
        }
    }

    /// Makes room for so many entries of the usual length, as far as a group holds them, and says for how many.
    pub(crate) fn make_room(&mut self, entries: usize) -> usize {
        let group_len = self.page_room.saturating_mul(self.pages_max);
        let entries = entries.min(group_len / USUAL_ENTRY_LEN);
        self.bytes.reserve(entries.saturating_mul(USUAL_ENTRY_LEN));
        self.marks.reserve(entries);
        entries
    }

    /// How many entries are in it.
    pub(crate) fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Adds an entry behind the others, or changes nothing.
    pub(crate) fn push(&mut self, entry: &Entry) -> Result<(), Full> {
        let before = self.savepoint();
        let pushed = self.try_push(entry);
        if pushed.is_err() {
            self.roll_back(before);
        }
        pushed
    }

    fn try_push(&mut self, entry: &Entry) -> Result<(), Full> {
        let start = self.bytes.len();
        Row::of(entry).encode(&mut self.bytes)?;
        let end = self.bytes.len();
        let len = end.saturating_sub(start).saturating_add(OFFSET_LEN);
        let used = self.page_used.saturating_add(len);
        if self.page_starts.is_empty() || used > self.page_room {
            if self.page_starts.len() == self.pages_max {
                return Err(Full::Group);
            }
            self.page_starts.push(self.marks.len());
            self.page_used = len;
        } else {
            self.page_used = used;
        }
        let points = entry.receipt.points().get().unsigned_abs();
        let (granted, redeemed) = match entry.receipt.operation() {
            Operation::Grant => (points, 0),
            Operation::Redeem => (0, points),
        };
        self.marks.push(Mark { end, granted, redeemed });
        Ok(())
    }

    /// The state now.
    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint {
            entries: self.marks.len(),
            bytes: self.bytes.len(),
            pages: self.page_starts.len(),
            page_used: self.page_used,
        }
    }

    /// Forgets what was pushed since `to` was taken.
    pub(crate) fn roll_back(&mut self, to: Savepoint) {
        self.marks.truncate(to.entries);
        self.bytes.truncate(to.bytes);
        self.page_starts.truncate(to.pages);
        self.page_used = to.page_used;
    }

    /// Writes the pages and empties the packer.
    pub(crate) fn finish(&mut self, before: &GroupHeader) -> Group {
        let len = u32::try_from(self.marks.len()).unwrap_or(u32::MAX);
        let mut group = Group {
            pages: Vec::with_capacity(self.page_starts.len()),
            len,
            chain: before.chain,
            granted: before.granted,
            redeemed: before.redeemed,
        };
        let mut ends = Vec::new();
        let mut start = 0;
        for (page, from) in self.page_starts.iter().enumerate() {
            let to = self.page_starts.get(page.saturating_add(1)).copied().unwrap_or(self.marks.len());
            let marks = self.marks.get(*from..to).unwrap_or_default();
            let first = before.first.saturating_add(*from as u64);
            let header = Header {
                group_first: before.first,
                group_len: len,
                time: before.time,
                granted_before: group.granted,
                redeemed_before: group.redeemed,
                chain_before: group.chain,
            };
            ends.clear();
            ends.extend(marks.iter().map(|m| u16::try_from(m.end.saturating_sub(start)).unwrap_or(u16::MAX)));
            let end = marks.last().map_or(start, |m| m.end);
            let entries = self.bytes.get(start..end).unwrap_or_default();
            group.pages.push((first, page::write(before.store, first, &header, &ends, entries)));
            group.chain = group.chain.over(entries);
            for mark in marks {
                group.granted = group.granted.saturating_add(u128::from(mark.granted));
                group.redeemed = group.redeemed.saturating_add(u128::from(mark.redeemed));
            }
            start = end;
        }
        self.roll_back(Savepoint { entries: 0, bytes: 0, pages: 0, page_used: 0 });
        group
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that overflows is to say so at once")]
mod tests;
