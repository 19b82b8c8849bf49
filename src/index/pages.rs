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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_the_page_that_begins_at_or_before_it() {
        let mut pages = Pages::default();
        assert_eq!(pages.page_of(1), None);
        for first in [1, 2, 10, 3_000] {
            pages.push(first, 100);
        }
        for (number, first) in [(0, None), (1, Some(1)), (2, Some(2)), (9, Some(2)), (10, Some(10))] {
            assert_eq!(pages.page_of(number), first, "number={number}");
        }
        assert_eq!((pages.page_of(2_999), pages.page_of(3_000)), (Some(10), Some(3_000)));
        assert_eq!((pages.len(), pages.page_bytes()), (4, 400));
    }
}
