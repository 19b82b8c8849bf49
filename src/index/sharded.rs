//! A hash table in many small ones, so that growing never moves more than one of them.

use hashbrown::HashTable;

/// How many tables there are.
pub(super) const SHARDS: usize = 256;

/// A hash table of `T`, each element found by a hash that the caller computes.
#[derive(Debug)]
pub(super) struct Sharded<T> {
    shards: Box<[HashTable<T>]>,
}

impl<T> Default for Sharded<T> {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| HashTable::new()).collect() }
    }
}

impl<T> Sharded<T> {
    /// The shard of a hash: by bits that a table itself hardly looks at.
    pub(super) fn shard(hash: u64) -> usize {
        usize::from((hash >> 40).to_be_bytes()[7])
    }

    /// The tables, the lower and the upper half of them.
    pub(super) fn halves(&mut self) -> (&mut [HashTable<T>], &mut [HashTable<T>]) {
        let middle = self.shards.len() / 2;
        self.shards.split_at_mut_checked(middle).unwrap_or_default()
    }

    /// The elements that may have this hash.
    pub(super) fn candidates(&self, hash: u64) -> impl Iterator<Item = &T> {
        self.shards.get(Self::shard(hash)).into_iter().flat_map(move |shard| shard.iter_hash(hash))
    }

    /// Adds an element; `rehash` gives the hash of one that is there.
    pub(super) fn insert(&mut self, hash: u64, value: T, rehash: impl Fn(&T) -> u64) {
        if let Some(shard) = self.shards.get_mut(Self::shard(hash)) {
            shard.insert_unique(hash, value, rehash);
        }
    }

    /// Bytes of memory the tables take.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.shards.iter().fold(0, |sum: u64, shard| {
            sum.saturating_add(shard.allocation_size() as u64)
                .saturating_add(size_of::<HashTable<T>>() as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_gets_its_share_and_half_of_them_are_low() {
        let mut table = Sharded::<u64>::default();
        for part in 0..SHARDS as u64 {
            table.insert(part << 40, part, |part| *part << 40);
        }
        let (low, high) = table.halves();
        assert_eq!((low.len(), high.len()), (SHARDS / 2, SHARDS / 2));
        for (part, shard) in (0..).zip(low.iter().chain(&*high)) {
            assert_eq!(shard.iter().collect::<Vec<_>>(), [&part]);
        }
        assert_eq!(table.candidates(5 << 40).collect::<Vec<_>>(), [&5]);
        assert_eq!(Sharded::<u64>::shard(u64::MAX), SHARDS - 1);
    }
}
