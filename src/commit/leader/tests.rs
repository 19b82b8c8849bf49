//! What a group leaves in the published state (I3, I8).

use super::super::request::{Each, Prepared};
use super::*;
use crate::engine::Engine;
use crate::engine::sim::SimDisk;
use crate::limits::Limits;
use crate::types::{AccountId, Command, Points, Timestamp};

/// Decides commands as one group over `index`, and publishes it.
fn decide_and_publish(index: &mut Index, commands: Vec<Prepared>) {
    let engine = SimDisk::new(1).open().expect("an empty disk opens");
    let (time, tail) = (Timestamp::from_unix_millis(1), index.tail);
    let mut draft = Draft::new(index, &engine, time, Limits::SMALL, 1);
    assert_eq!(draft.decide(&mut Work::Each(Each::new(commands))), Fit::Whole);
    let Draft { overlay, mut packer, .. } = draft;
    let header = GroupHeader {
        store: engine.store(),
        first: tail.next,
        chain: tail.chain,
        granted: tail.granted,
        redeemed: tail.redeemed,
        time,
    };
    publish(index, &overlay, &packer.finish(&header), time);
}

// I3: two callers may look for one account before either has made it.
#[test]
fn an_account_is_published_once_whether_it_was_found_before_or_not() {
    let mut index = Index::new(SimDisk::new(1).open().expect("an empty disk opens").store());
    let hasher = index.hasher().clone();
    let grant = |name: &str, key: &str| {
        Prepared::new(
            &Command::grant(name.parse().unwrap(), key.parse().unwrap(), Points::new(5).unwrap()),
            &hasher,
        )
    };
    let (first, too_early) = (grant("a", "1"), grant("a", "2"));
    decide_and_publish(&mut index, vec![grant("b", "1"), first]);
    let mut found = grant("a", "3");
    found.find_account(&index);
    assert_eq!((too_early.account_place, found.account_place), (None, Some(1)));
    for commands in [vec![too_early], vec![found, grant("c", "1")]] {
        decide_and_publish(&mut index, commands);
    }
    let stand = |place: usize| {
        let (id, state) = index.accounts.at(place)?;
        Some((id.name().to_owned(), state.balance.get(), state.sequence, state.last))
    };
    let expected = [("b", 5, 1, 1), ("a", 15, 3, 4), ("c", 5, 1, 5)];
    for (place, (name, balance, sequence, last)) in expected.into_iter().enumerate() {
        assert_eq!(stand(place), Some((name.to_owned(), balance, sequence, last)));
    }
    assert_eq!((index.accounts.len(), index.receipts.len(), index.tail.next), (3, 5, 6));
    let id: AccountId = "a".parse().unwrap();
    assert_eq!(index.accounts.state(hasher.account(&id), &id).last, 4);
}
