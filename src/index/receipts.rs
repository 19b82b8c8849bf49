//! The entry numbers behind the keys: a hash of (account, operation, key) leads to the entries that may have it.
//!
//! The names themselves are not kept. A hash only narrows the search: whether a key is used is decided by
//! reading the entry, so two keys with one hash cost a read and are never taken for each other (I1).

use std::thread;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use parking_lot::Mutex;

use super::sharded::Sharded;

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

    /// Into how many parts the table is divided.
    pub(super) fn parts(&self) -> usize {
        self.table.shards()
    }

    /// The part that a hash belongs to.
    pub(super) fn part_of(&self, hash: u64) -> usize {
        Sharded::<Slot>::shard(hash)
    }

    /// Adds many entries, given by the parts that their hashes belong to, on two threads if there are many. Says
    /// which have the hash of an earlier one.
    pub(super) fn insert_parts(&mut self, entries: &[Vec<(u64, u64)>]) -> Vec<(u64, u64)> {
        let len = entries.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
        self.len = self.len.saturating_add(len as u64);
        let (low, high) = self.table.halves();
        let (low_entries, high_entries) = entries.split_at_checked(low.len()).unwrap_or((entries, &[]));
        let high = Mutex::new((high, Vec::new()));
        let insert_high = || {
            let (parts, seen) = &mut *high.lock();
            *seen = insert_all(std::mem::take(parts), high_entries);
        };
        let mut seen = thread::scope(|scope| {
            // Where no thread can be had, both halves are done here.
            let other = (len >= MANY).then(|| {
                thread::Builder::new().name("pointstore-index".into()).spawn_scoped(scope, insert_high)
            });
            let seen = insert_all(low, low_entries);
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

fn insert_all(parts: &mut [HashTable<Slot>], entries: &[Vec<(u64, u64)>]) -> Vec<(u64, u64)> {
    let mut seen = Vec::new();
    for (part, entries) in parts.iter_mut().zip(entries) {
        part.reserve(entries.len(), |slot| slot.hash);
        for (hash, number) in entries {
            let slot = Slot { hash: *hash, number: *number };
            match part.entry(*hash, |other| other.hash == *hash, |slot| slot.hash) {
                Entry::Vacant(place) => {
                    place.insert(slot);
                }
                Entry::Occupied(_) => {
                    let same = part.iter_hash(*hash).filter(|other| other.hash == *hash);
                    seen.extend(same.map(|earlier| (earlier.number, *number)));
                    part.insert_unique(*hash, slot, |slot| slot.hash);
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
