//! The first numbers of all pages, in order: finds the page of an entry.

use super::chunked::Chunked;

/// Where the pages of a journal begin.
#[derive(Debug, Default)]
pub(crate) struct Pages(Chunked<u64>);

impl Pages {
    /// Adds the next page; its first number is above all others.
    pub(crate) fn push(&mut self, first: u64) {
        self.0.push(first);
    }

    /// How many pages there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The first number of the page that holds an entry, for any number that was given out.
    pub(crate) fn page_of(&self, number: u64) -> Option<u64> {
        let behind = self.0.partition_point(|first| *first <= number);
        self.0.get(behind.checked_sub(1)?).copied()
    }

    /// Bytes of memory it takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }
}
