//! One entry of the journal in typed form: a receipt and how it hangs together with its neighbours.
//!
//! Made by the rules and by reading the journal; it never leaves the crate.

use super::Receipt;

/// A receipt with its place in its atomic list and the link to the account's entry before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What the caller sees of it.
    pub(crate) receipt: Receipt,
    /// Its place in its atomic list, from 0; 0 for a single command.
    pub(crate) place: u32,
    /// How many entries its atomic list has; 1 for a single command.
    pub(crate) list_len: u32,
    /// The number of the account's entry before this one; 0 when there is none.
    pub(crate) previous: u64,
}

impl Entry {
    /// The number of the first entry of its atomic list; `None` when the place cannot be right.
    pub(crate) fn list_start(&self) -> Option<u64> {
        self.receipt.number().checked_sub(u64::from(self.place)).filter(|start| *start > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ReceiptParts;

    fn entry(number: u64, place: u32) -> Entry {
        let receipt = Receipt::from_parts(ReceiptParts { number, ..ReceiptParts::sample() });
        Entry { receipt, place, list_len: place.saturating_add(1), previous: 0 }
    }

    #[test]
    fn a_list_starts_where_its_first_entry_is() {
        assert_eq!(entry(7, 0).list_start(), Some(7));
        assert_eq!(entry(7, 6).list_start(), Some(1));
    }

    #[test]
    fn a_place_that_reaches_before_the_journal_has_no_start() {
        assert_eq!(entry(7, 7).list_start(), None);
        assert_eq!(entry(7, u32::MAX).list_start(), None);
    }
}
