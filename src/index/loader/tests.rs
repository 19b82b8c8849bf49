//! A journal folded in at once is what it is when folded in entry by entry (I1, I3).

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
        entry => loader.owner(entry).expect("it is there"),
    };
    assert!(owner.is_named(hash) && owner.state.last == previous);
    loader.entry(owner, state(owner.state.sequence.saturating_add(1), number), receipt_hash);
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
    let stands = |owner: Option<Owner>| owner.map(|owner| (owner.hash, owner.state));
    let expected = [None, Some((one, state(2, 3))), Some((two, state(1, 2))), Some((one, state(2, 3))), None];
    let owners = loader.owners([0, 1, 2, 3, 4].into_iter());
    assert_eq!(owners.into_iter().map(stands).collect::<Vec<_>>(), expected);
    for (entry, expected) in (0..).zip(expected) {
        assert_eq!(stands(loader.owner(entry)), expected, "entry={entry}");
    }
    assert!(loader.owner(u64::MAX).is_none());
}

// I3: two entries of one account may be on a page whose accounts were looked up together.
#[test]
fn an_account_that_was_looked_up_before_an_entry_of_it_can_be_asked_where_it_stands_now() {
    let mut loader = Loader::new(STORE);
    fold(&mut loader, 1, 1, 0, 1);
    let before = loader.owner(1).expect("it is there");
    fold(&mut loader, 2, 1, 1, 2);
    let now = loader.now(before).expect("it is there");
    assert_eq!((before.state, now.state), (state(1, 1), state(2, 2)));
    assert_eq!((before.place, before.hash), (now.place, now.hash));
}

#[test]
fn an_account_is_new_once_and_has_the_hash_it_came_with() {
    let mut loader = Loader::new(STORE);
    let (first, second) = (loader.new_owner(id(1), 7), loader.new_owner(id(2), 7));
    let first = first.expect("it is new");
    assert!(first.is_named(7) && !first.is_named(8));
    assert_eq!(first.state, AccountState::default());
    assert!(second.is_some_and(|second| second.place != first.place), "other names with the same hash");
    assert!(loader.new_owner(id(1), 7).is_none());
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
    fold(&mut loader, 1, 1, 0, hash(1));
    for number in 2..=entries {
        // Some have the key of an entry long ago.
        let key = if number % 50_000 == 0 { number - 49_999 } else { number };
        if key != number {
            suspects.push((key, number));
        }
        let owner = loader.owner(1).expect("it is there");
        loader.entry(owner, state(number, number), hash(key));
    }
    assert_eq!(loader.index().receipts.len(), KEYS_MAX as u64, "keys go into the table so many at once");
    let parts = suspects.iter().map(|(key, _)| loader.index().receipts.part_of(hash(*key)));
    let (low, high): (Vec<_>, Vec<_>) = parts.partition(|part| *part < loader.keys.len() / 2);
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
