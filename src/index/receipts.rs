//! The entry numbers behind the keys: a hash of (account, operation, key) leads to the entries that may have it.
//!
//! The names themselves are not kept. A hash only narrows the search: whether a key is used is decided by
//! reading the entry, so two keys with one hash cost a read and are never taken for each other (I1).

use std::thread;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use parking_lot::Mutex;

use super::sharded::{SHARDS, Sharded};

/// So many entries are worth a second thread.
const MANY: usize = 1 << 16;

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

    /// Adds the next entries, given by their hashes, behind all those there are; on two threads if there are many.
    /// Says which have the hash of an earlier one.
    pub(super) fn insert_next(&mut self, hashes: &[u64]) -> Vec<(u64, u64)> {
        let first = self.len.saturating_add(1);
        self.len = self.len.saturating_add(hashes.len() as u64);
        let (low, high) = self.table.halves();
        let middle = low.len();
        let high = Mutex::new((high, Vec::new()));
        let insert_high = || {
            let (shards, seen) = &mut *high.lock();
            *seen = insert_all(std::mem::take(shards), middle, first, hashes);
        };
        let mut seen = thread::scope(|scope| {
            // Where no thread can be had, both halves are done here.
            let other = (hashes.len() >= MANY).then(|| {
                thread::Builder::new().name("pointstore-index".into()).spawn_scoped(scope, insert_high)
            });
            let seen = insert_all(low, 0, first, hashes);
            if !matches!(other, Some(Ok(_))) {
                insert_high();
            }
            seen
        });
        seen.append(&mut high.into_inner().1);
        seen
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

/// Adds those entries, numbered from `first` on, that belong to these shards, which begin at the table's `from`-th:
/// to one shard after the other, so that what is written to is close together.
fn insert_all(shards: &mut [HashTable<Slot>], from: usize, first: u64, hashes: &[u64]) -> Vec<(u64, u64)> {
    // Hashes fall evenly: there is room for somewhat more than an even share.
    let share = hashes.len() / SHARDS;
    let room = share.saturating_add(share / 8);
    let mut sorted: Vec<_> = shards.iter().map(|_| Vec::with_capacity(room)).collect();
    for (number, hash) in (first..).zip(hashes) {
        let shard = Sharded::<Slot>::shard(*hash).checked_sub(from);
        if let Some(slots) = shard.and_then(|shard| sorted.get_mut(shard)) {
            slots.push(Slot { hash: *hash, number });
        }
    }
    let mut seen = Vec::new();
    for (shard, slots) in shards.iter_mut().zip(sorted) {
        shard.reserve(slots.len(), |slot| slot.hash);
        for slot in slots {
            match shard.entry(slot.hash, |other| other.hash == slot.hash, |slot| slot.hash) {
                Entry::Vacant(place) => {
                    place.insert(slot);
                }
                Entry::Occupied(_) => {
                    let same = shard.iter_hash(slot.hash).filter(|other| other.hash == slot.hash);
                    seen.extend(same.map(|earlier| (earlier.number, slot.number)));
                    shard.insert_unique(slot.hash, slot, |slot| slot.hash);
                }
            }
        }
    }
    seen
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
