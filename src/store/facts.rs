//! Reads what a page says, by itself: the part of judging a journal that pages can be given to threads for (I9).
//!
//! What a page says may contradict the pages before it; that is for `audit` to see, in order.

use super::audit::{Finding, finding};
use crate::index::KeyHasher;
use crate::journal::{Chain, EntryError, Header, Page, Row, StoreId};
use crate::types::{AccountId, Balance, Operation, Points};

/// Reads pages of one store.
#[derive(Clone, Debug)]
pub(super) struct PageReader {
    store: StoreId,
    hasher: KeyHasher,
    /// Entries before which the chain is wanted.
    watched: Vec<u64>,
}

/// What a page says.
#[derive(Debug)]
pub(super) struct PageFacts {
    pub(super) first: u64,
    /// The number behind its last entry.
    pub(super) end: u64,
    pub(super) ends_group: bool,
    pub(super) byte_len: usize,
    pub(super) header: Header,
    /// The chain behind its last entry, if it is right before the first.
    pub(super) chain_after: Chain,
    /// The chain before each watched entry for which it can be told here.
    pub(super) watched: Vec<(u64, Chain)>,
    pub(super) entries: Vec<EntryFacts>,
}

/// What an entry says; each of these is in bounds.
#[derive(Debug)]
pub(super) struct EntryFacts {
    pub(super) operation: Operation,
    pub(super) points: Points,
    pub(super) balance_after: Balance,
    pub(super) sequence: u64,
    pub(super) previous: u64,
    pub(super) place: u32,
    pub(super) list_len: u32,
    pub(super) account_hash: u64,
    pub(super) receipt_hash: u64,
    /// The account, where it is the first of its entries.
    pub(super) id: Option<AccountId>,
}

impl PageReader {
    /// For the pages of a store, with the hashes of an index.
    pub(super) fn new(store: StoreId, hasher: KeyHasher, watched: &[u64]) -> Self {
        Self { store, hasher, watched: watched.to_vec() }
    }

    /// Reads the page that begins with an entry.
    pub(super) fn read(&self, first: u64, bytes: &[u8]) -> Result<PageFacts, Finding> {
        let page =
            Page::parse(self.store, first, bytes).map_err(|error| finding(first, &error.to_string()))?;
        let header = *page.header();
        let end = page.end().ok_or_else(|| finding(first, "the page has no end"))?;
        let mut entries = Vec::with_capacity(page.len());
        for (number, place) in (first..).zip(0..page.len()) {
            let row = page.row(place).ok_or_else(|| finding(number, "the page ends before the entry"))?;
            let entry = row.and_then(|row| self.entry(&row));
            entries.push(entry.map_err(|error| finding(number, &error.to_string()))?);
        }
        let watched = self.watched.iter().filter(|next| **next > first && **next <= end);
        Ok(PageFacts {
            first,
            end,
            ends_group: page.ends_group(),
            byte_len: bytes.len(),
            header,
            chain_after: header.chain_before.over(page.entry_bytes()),
            watched: watched
                .filter_map(|next| Some((*next, header.chain_before.over(page.entry_bytes_before(*next)?))))
                .collect(),
            entries,
        })
    }

    fn entry(&self, row: &Row<'_>) -> Result<EntryFacts, EntryError> {
        row.check_texts()?;
        let operation = row.operation()?;
        let account_hash = self.hasher.names(row.tenant, row.name);
        Ok(EntryFacts {
            operation,
            points: row.points()?,
            balance_after: row.balance_after()?,
            sequence: row.sequence,
            previous: row.previous,
            place: row.place,
            list_len: row.list_len,
            account_hash,
            receipt_hash: self.hasher.receipt(account_hash, operation, row.key),
            // A name is checked when it is first seen; later ones are equal to it.
            id: if row.previous == 0 { Some(row.account()?) } else { None },
        })
    }
}
