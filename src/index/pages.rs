//! The first numbers of all pages, in order: finds the page of an entry.

use super::chunked::Chunked;

/// Where the pages of a journal begin.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    firsts: Chunked<u64>,
    page_bytes: u64,
}

impl Pages {
    /// Adds the next page; its first number is above all others.
    pub(crate) fn push(&mut self, first: u64, page_len: usize) {
        self.firsts.push(first);
        self.page_bytes = self.page_bytes.saturating_add(page_len as u64);
    }

    /// Bytes of all pages together.
    pub(crate) fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// How many pages there are.
    pub(crate) fn len(&self) -> usize {
        self.firsts.len()
    }

    /// The first number of the page that holds an entry, for any number that was given out.
    pub(crate) fn page_of(&self, number: u64) -> Option<u64> {
        let behind = self.firsts.partition_point(|first| *first <= number);
        self.firsts.get(behind.checked_sub(1)?).copied()
    }

    /// Bytes of memory it takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.firsts.memory_bytes()
    }
}
