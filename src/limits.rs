//! Every bound on a list, a group, a page and an entry, asserted against each other.
//!
//! The public ones are part of the contract; the others shape what reaches the disk. Anyone may read them.

use crate::types::{AccountId, Command, IdempotencyKey, Memo};

/// Most commands in one atomic list.
///
/// A longer list is refused as invalid before anything is tried.
///
/// ```
/// assert!(pointstore::ATOMIC_LIST_LEN_MAX >= 2);
/// ```
pub const ATOMIC_LIST_LEN_MAX: usize = 256;

/// Most bytes of one atomic list: for each command the bytes of its tenant, name, key and memo, and 64 more.
///
/// An atomic list is written in one group, so it must fit into one.
///
/// ```
/// assert!(pointstore::ATOMIC_LIST_BYTES_MAX >= 128 * (64 + 64));
/// ```
pub const ATOMIC_LIST_BYTES_MAX: usize = 26 * 1024;

/// Most bytes of a page. Past about twice this, the engine begins to write side files that it never syncs.
pub(crate) const PAGE_LEN_MAX: usize = 4096;

/// Most pages of a group: what the engine writes between two syncs must stay below two of its segments.
pub(crate) const GROUP_PAGES_MAX: usize = 8;

/// Bytes of a page that are not entries, at most: header and checksum. Usually they are some 35.
pub(crate) const PAGE_FIXED_LEN: usize = 73;

/// Bytes that the place of one entry takes in a page's table.
pub(crate) const OFFSET_LEN: usize = 2;

/// Most bytes of one entry, its place in the table included.
pub(crate) const ENTRY_LEN_MAX: usize =
    AccountId::TENANT_MAX + AccountId::NAME_MAX + IdempotencyKey::MAX + Memo::MAX + Command::FIXED_LEN_MAX;

/// Entries that a page may hold at most; the smallest entry is far longer than what this allows.
pub(crate) const PAGE_ENTRIES_MAX: usize = PAGE_LEN_MAX / 8;

/// The bounds a store works with. Tests make them small, so that the edges are met soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Most bytes of a page.
    pub(crate) page_len: usize,
    /// Most pages of a group.
    pub(crate) group_pages: usize,
    /// Most commands in an atomic list.
    pub(crate) list_len: usize,
    /// Most bytes of an atomic list, as counted by [`Command::stored_len_max`].
    pub(crate) list_bytes: usize,
}

impl Limits {
    /// What a store is built with.
    pub(crate) const STANDARD: Self = Self {
        page_len: PAGE_LEN_MAX,
        group_pages: GROUP_PAGES_MAX,
        list_len: ATOMIC_LIST_LEN_MAX,
        list_bytes: ATOMIC_LIST_BYTES_MAX,
    };

    /// The smallest pages and groups that still hold any entry and any list they allow.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) const SMALL: Self = Self {
        page_len: PAGE_FIXED_LEN + ENTRY_LEN_MAX,
        group_pages: 2,
        list_len: 4,
        list_bytes: ENTRY_LEN_MAX,
    };

    /// Whether an empty group holds every list these bounds allow, and a page every entry.
    const fn hold_together(self) -> bool {
        let Some(room) = self.page_len.checked_sub(PAGE_FIXED_LEN) else {
            return false;
        };
        // Each page but the last may be left with room for almost one entry.
        let lost = self.group_pages.saturating_sub(1).saturating_mul(ENTRY_LEN_MAX);
        room >= ENTRY_LEN_MAX
            && self.page_len <= PAGE_LEN_MAX
            && self.group_pages >= 1
            && self.group_pages <= GROUP_PAGES_MAX
            && self.list_len >= 1
            && self.list_bytes.saturating_add(lost) <= room.saturating_mul(self.group_pages)
    }
}

const _: () = assert!(Limits::STANDARD.hold_together(), "a group must hold every atomic list");
#[cfg(any(test, feature = "testing"))]
const _: () = assert!(Limits::SMALL.hold_together(), "a small group must hold every small list");
const _: () = assert!(PAGE_LEN_MAX <= u16::MAX as usize, "the table of a page has 16-bit places");
const _: () = assert!(ATOMIC_LIST_LEN_MAX <= u16::MAX as usize, "the place in a list is a small number");
