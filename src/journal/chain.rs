//! The running checksum that ties every entry to all that came before it (I3, I11).
//!
//! It goes over the bytes of the entries alone, so it is the same however they are put into pages, and it
//! starts from the store's random identity, so that two stores never agree by accident.

use super::page::StoreId;

/// The chain's value after some entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain(u32);

impl Chain {
    /// The value before the first entry of a store.
    pub(crate) fn seed(store: StoreId) -> Self {
        Self(crc32fast::hash(&store.0))
    }

    /// A value read back from where [`Chain::get`] was written.
    pub(crate) const fn from_raw(value: u32) -> Self {
        Self(value)
    }

    /// The value to write.
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// The value after further entries, given as their bytes one behind the other.
    pub(crate) fn over(self, entries: &[u8]) -> Self {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.0);
        hasher.update(entries);
        Self(hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_does_not_depend_on_how_the_entries_are_cut() {
        let seed = Chain::seed(StoreId([7; 16]));
        assert_eq!(seed.over(b"one").over(b"two"), seed.over(b"onetwo"));
        assert_ne!(seed.over(b"one"), Chain::seed(StoreId([8; 16])).over(b"one"));
    }
}
