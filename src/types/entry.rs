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
        self.receipt
            .number()
            .checked_sub(u64::from(self.place))
            .filter(|start| *start > 0)
    }
}
