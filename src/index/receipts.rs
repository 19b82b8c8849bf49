//! The entry numbers behind the keys: a hash of (account, operation, key) leads to the entries that may have it.
//!
//! The names themselves are not kept. A hash only narrows the search: whether a key is used is decided by
//! reading the entry, so two keys with one hash cost a read and are never taken for each other (I1).

use super::sharded::Sharded;

/// Leads from hashes of keys to entry numbers.
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    table: Sharded<Slot>,
    len: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u64,
    number: u64,
}

impl Receipts {
    /// Adds the entry of a key that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, number: u64) {
        self.table.insert(hash, Slot { hash, number }, |slot| slot.hash);
        self.len = self.len.saturating_add(1);
    }

    /// Into how many parts the table is divided.
    pub(super) fn parts(&self) -> usize {
        self.table.shards()
    }

    /// The part that a hash belongs to.
    pub(super) fn part_of(&self, hash: u64) -> usize {
        Sharded::<Slot>::shard(hash)
    }

    /// Adds many entries whose hashes belong to one part, and says which have the hash of an earlier one.
    pub(super) fn insert_part(&mut self, entries: &[(u64, u64)], mut seen: impl FnMut(u64, u64)) {
        if let Some((hash, _)) = entries.first() {
            self.table.reserve(*hash, entries.len(), |slot| slot.hash);
        }
        for (hash, number) in entries {
            for earlier in self.candidates(*hash) {
                seen(earlier, *number);
            }
            self.insert(*hash, *number);
        }
    }

    /// The numbers of the entries whose key has this hash; nearly always one or none.
    pub(crate) fn candidates(&self, hash: u64) -> impl Iterator<Item = u64> {
        self.table.candidates(hash).filter(move |slot| slot.hash == hash).map(|slot| slot.number)
    }

    /// How many receipts there are.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of memory it takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_one_hash_are_all_candidates_and_others_are_not() {
        let mut receipts = Receipts::default();
        for number in 1..=50_000 {
            receipts.insert(number % 25_000, number);
        }
        let mut found: Vec<u64> = receipts.candidates(7).collect();
        found.sort_unstable();
        assert_eq!(found, [7, 25_007]);
        assert_eq!(receipts.candidates(25_000).count(), 0);
        assert_eq!(receipts.len(), 50_000);
        assert!(receipts.memory_bytes() / receipts.len() <= 40, "a receipt takes little memory");
    }
}
