//! The bytes of the journal, and only bytes: entries, pages, groups, the chain over them (I2, I3, I9).
//!
//! A journal is a run of entries numbered from 1 without a gap, kept in pages that are keyed by the number of
//! their first entry. This folder knows no rule of the ledger and touches no file. `index` reads what it
//! unpacks, `commit` what it packs, and `store` reads entries back through it. bincode is named here alone.

mod chain;
mod entry;
mod fields;
mod pack;
mod page;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod recheck;

pub(crate) use chain::Chain;
pub(crate) use entry::{EntryError, Row};
pub(crate) use pack::{Full, Group, GroupHeader, Packer};
pub(crate) use page::{Header, Page, StoreId};
