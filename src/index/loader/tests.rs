//! A journal folded in at once is what it is when folded in entry by entry (I1, I3).

use super::super::sharded::{SHARDS, Sharded};
use super::*;
use crate::types::{Balance, Operation};

const STORE: StoreId = StoreId([3; 16]);

fn id(name: u64) -> AccountId {
    AccountId::new(format!("a{name}")).unwrap()
}

fn state(sequence: u64, last: u64) -> AccountState {
    AccountState { balance: Balance::ZERO, sequence, last }
}

/// Folds in the next entry, of an account whose entry before it was `previous`, or of a new one.
fn fold(loader: &mut Loader, number: u64, name: u64, previous: u64, receipt_hash: u64) {
    let hash = loader.hasher().account(&id(name));
    let owner = match previous {
        0 => loader.new_owner(id(name), hash).expect("it is new"),
        entry => loader.owner(entry, hash).expect("it is there"),
    };
    let before = loader.state(owner);
    assert_eq!(before.last, previous);
    loader.entry(owner, state(before.sequence.saturating_add(1), number), receipt_hash);
}

#[test]
fn folding_all_at_once_gives_what_folding_entry_by_entry_gives() {
    let mut loader = Loader::new(STORE);
    let hasher = loader.hasher().clone();
    let mut plain = Index::new(STORE);
    let hash = |number: u64, name: u64| {
        hasher.receipt(hasher.account(&id(name)), Operation::Grant, &number.to_string())
    };
    // Ten accounts in turn.
    for number in 1..=3_000_u64 {
        let (name, previous) = (number % 10, number.saturating_sub(10));
        fold(&mut loader, number, name, previous, hash(number, name));
        plain.receipts.insert(hash(number, name), number);
        let sequence = number.div_ceil(10);
        plain.accounts.set(&hasher, hasher.account(&id(name)), &id(name), state(sequence, number));
    }
    let (index, suspects) = loader.finish();
    assert_eq!(suspects, []);
    assert_eq!((index.accounts.len(), index.receipts.len()), (10, 3_000));
    for name in 0..11 {
        let of = |index: &Index| index.accounts.state(hasher.account(&id(name)), &id(name));
        assert_eq!(of(&index), of(&plain), "name={name}");
    }
    for place in 0..11 {
        assert_eq!(index.accounts.at(place), plain.accounts.at(place), "place={place}");
    }
    for number in 1..=3_000 {
        let found: Vec<u64> = index.receipts.candidates(hash(number, number % 10)).collect();
        assert_eq!(found, [number], "I1");
    }
}

#[test]
fn an_entry_leads_to_its_account_and_to_where_that_stands_now() {
    let mut loader = Loader::new(STORE);
    for (number, name, previous) in [(1, 1, 0), (2, 2, 0), (3, 1, 1)] {
        fold(&mut loader, number, name, previous, number);
    }
    let [one, two] = [1, 2].map(|name| loader.hasher().account(&id(name)));
    let entries = [(0, one), (1, one), (2, two), (3, one), (4, one), (u64::MAX, one), (1, two), (2, one)];
    let expected = [None, Some(state(2, 3)), Some(state(1, 2)), Some(state(2, 3)), None, None, None, None];
    let owners = loader.owners(entries.into_iter());
    assert_eq!(
        owners.iter().map(|owner| owner.map(|owner| loader.state(owner))).collect::<Vec<_>>(),
        expected
    );
    for ((entry, hash), owner) in entries.into_iter().zip(owners) {
        assert_eq!(loader.owner(entry, hash), owner, "entry={entry}");
    }
    // I3: two entries of one account may be on a page whose accounts were looked up together.
    let before = loader.owner(1, one).expect("it is there");
    fold(&mut loader, 4, 1, 3, 4);
    assert_eq!(loader.state(before), state(3, 4));
}

#[test]
fn an_account_is_new_once_and_has_the_hash_it_came_with() {
    let mut loader = Loader::new(STORE);
    let (first, second) = (loader.new_owner(id(1), 7), loader.new_owner(id(2), 7));
    let first = first.expect("it is new");
    assert_eq!(loader.state(first), AccountState::default());
    assert!(second.is_some_and(|second| second != first), "other names with the same hash");
    assert!(loader.new_owner(id(1), 7).is_none());
    loader.entry(first, state(1, 1), 1);
    assert_eq!((loader.owner(1, 7), loader.owner(1, 8)), (Some(first), None));
}

// I1: a key that is there twice cannot get by.
#[test]
fn entries_whose_keys_have_one_hash_are_suspects_in_whichever_part_they_are() {
    for hash in [7, u64::MAX] {
        let mut loader = Loader::new(STORE);
        for (number, receipt_hash) in [(1, hash), (2, hash ^ 1), (3, hash), (4, hash)] {
            fold(&mut loader, number, number, 0, receipt_hash);
        }
        let (index, mut suspects) = loader.finish();
        suspects.sort_unstable();
        assert_eq!(suspects, [(1, 3), (1, 4), (3, 4)], "hash={hash}");
        let mut found: Vec<u64> = index.receipts.candidates(hash).collect();
        found.sort_unstable();
        assert_eq!(found, [1, 3, 4]);
    }
}

#[test]
fn no_more_suspects_are_kept_than_anybody_would_compare() {
    let mut loader = Loader::new(STORE);
    for number in 1..=100 {
        fold(&mut loader, number, number, 0, 7);
    }
    let (index, suspects) = loader.finish();
    // Of a hundred entries 4950 pairs can be made.
    assert_eq!(suspects.len(), SUSPECTS_MAX);
    assert_eq!(index.receipts.candidates(7).count(), 100);
}

// I1: so many keys that they go into the table on two threads, and in two turns.
#[test]
fn many_keys_are_found_and_twice_used_ones_are_suspects_in_both_halves_of_the_table() {
    let mut loader = Loader::new(STORE);
    let mut suspects = Vec::new();
    let hash = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let entries = KEYS_MAX as u64 + 1_000;
    let account = loader.hasher().account(&id(1));
    fold(&mut loader, 1, 1, 0, hash(1));
    for number in 2..=entries {
        // Some have the key of an entry long ago.
        let key = if number % 50_000 == 0 { number - 49_999 } else { number };
        if key != number {
            suspects.push((key, number));
        }
        let owner = loader.owner(1, account).expect("it is there");
        loader.entry(owner, state(number, number), hash(key));
    }
    assert_eq!(loader.index().receipts.len(), KEYS_MAX as u64, "keys go into the table so many at once");
    let shards = suspects.iter().map(|(key, _)| Sharded::<()>::shard(hash(*key)));
    let (low, high): (Vec<_>, Vec<_>) = shards.partition(|shard| *shard < SHARDS / 2);
    assert!(!low.is_empty() && !high.is_empty());
    let (index, mut found) = loader.finish();
    found.sort_unstable_by_key(|(_, number)| *number);
    assert_eq!(found, suspects);
    assert_eq!(index.receipts.len(), entries);
    for number in (1..=entries).step_by(997).chain([entries]) {
        assert!(index.receipts.candidates(hash(number)).any(|there| there == number));
    }
    assert_eq!(index.accounts.at(0), Some((&id(1), state(entries, entries))));
}
