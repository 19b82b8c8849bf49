//! Requests that meet in one group: what each leaves for the next, and when the group is full (C07, I1).

use super::*;
use crate::engine::sim::{SimDisk, SimEngine};
use crate::index::KeyHasher;
use crate::types::{IdempotencyKey, Memo, Points};

/// What a group is decided over: an empty store with small limits.
struct Fixture {
    index: Index,
    engine: SimEngine,
}

impl Fixture {
    fn new() -> Self {
        let engine = SimDisk::new(1).open().expect("an empty disk opens");
        engine.accept(engine.found().mark).expect("it is taken into service");
        Self { index: Index::new(engine.store()), engine }
    }

    fn draft(&self) -> Draft<'_> {
        Draft::new(&self.index, &self.engine, Timestamp::from_unix_millis(1), Limits::SMALL, 0)
    }

    fn prepared(&self, commands: &[Command]) -> Vec<Prepared> {
        let hasher: &KeyHasher = self.index.hasher();
        commands.iter().map(|command| Prepared::new(command, hasher)).collect()
    }

    fn each(&self, commands: &[Command]) -> Work {
        Work::Each(Each::new(self.prepared(commands)))
    }

    fn list(&self, commands: &[Command]) -> Work {
        Work::Atomic(Atomic::new(self.prepared(commands)))
    }
}

fn points(points: i64) -> Points {
    Points::new(points).unwrap()
}

fn grant(account: &str, key: &str, amount: i64) -> Command {
    Command::grant(account.parse().unwrap(), key.parse().unwrap(), points(amount))
}

fn redeem(account: &str, key: &str, amount: i64) -> Command {
    Command::redeem(account.parse().unwrap(), key.parse().unwrap(), points(amount))
}

/// A grant so long that a group has room for two.
fn long(key: &str) -> Command {
    let key = format!("{key:-<width$}", width = IdempotencyKey::MAX);
    grant("long", &key, 1).with_memo(Memo::new("m".repeat(Memo::MAX)).unwrap())
}

/// What each command of a request has: the number of its entry, and the balance after it; or none.
fn answers(work: Work) -> Vec<Option<(u64, i64)>> {
    let Work::Each(each) = work else { panic!("not what was handed in") };
    let of = |outcome: Outcome| (outcome.receipt().number(), outcome.receipt().balance_after().get());
    each.into_answers().into_iter().map(|answer| answer.ok().map(of)).collect()
}

fn list_error(work: Work) -> Option<Option<usize>> {
    let Work::Atomic(atomic) = work else { panic!("not what was handed in") };
    atomic.into_answer().err().map(|error| error.index())
}

fn numbers(draft: &Draft<'_>) -> Vec<u64> {
    draft.overlay.entries().iter().map(|pending| pending.entry.receipt.number()).collect()
}

// C07
#[test]
fn a_refused_list_leaves_nothing_for_its_neighbours() {
    for before in 0..4_u64 {
        let fixture = Fixture::new();
        let mut draft = fixture.draft();
        let mut balance = 0;
        for key in 0..before {
            balance += 5;
            let mut first = fixture.each(&[grant("a", &format!("g{key}"), 5)]);
            assert_eq!(draft.decide(&mut first), Fit::Whole);
            assert_eq!(answers(first), [Some((key + 1, balance))]);
        }
        let mut refused = fixture.list(&[grant("a", "l", 7), grant("b", "l", 7), redeem("c", "l", 1)]);
        assert_eq!(draft.decide(&mut refused), Fit::Whole);
        assert_eq!(list_error(refused), Some(Some(2)));
        assert_eq!((numbers(&draft), draft.packer.is_empty()), ((1..=before).collect(), before == 0));

        // The accounts stand where they stood, and the keys are not used.
        let mut after =
            fixture.each(&[redeem("a", "r", balance + 1), redeem("b", "r", 1), grant("a", "l", 1)]);
        assert_eq!(draft.decide(&mut after), Fit::Whole);
        assert_eq!(answers(after), [None, None, Some((before + 1, balance + 1))]);
        let newest = draft.overlay.entries().last().unwrap();
        assert_eq!((newest.entry.receipt.sequence(), newest.entry.previous), (before + 1, before));
    }
}

/// C07, I1: taking a list back touches nothing of others, though their hashes are alike in part.
#[test]
fn many_refused_lists_leave_every_other_key_known() {
    let fixture = Fixture::new();
    let time = Timestamp::from_unix_millis(1);
    let mut draft = Draft::new(&fixture.index, &fixture.engine, time, Limits::STANDARD, 300);
    let grants: Vec<Command> = (0..300).map(|n| grant(&format!("a{n}"), &format!("k{n}"), 1)).collect();
    assert_eq!(draft.decide(&mut fixture.each(&grants)), Fit::Whole);
    for n in 0..300 {
        let mut refused = fixture.list(&[grant("b", &format!("l{n}"), 1), redeem("c", "l", 1)]);
        assert_eq!(draft.decide(&mut refused), Fit::Whole);
        assert_eq!(list_error(refused), Some(Some(1)));
    }
    let mut again = fixture.each(&grants);
    assert_eq!(draft.decide(&mut again), Fit::Whole);
    let expected: Vec<_> = (1..=300).map(|number| Some((number, 1))).collect();
    assert!(answers(again) == expected, "I1: all of them are replays");
    assert_eq!(draft.overlay.entries().len(), 300);
}

#[test]
fn what_finds_no_room_waits_and_leaves_nothing() {
    let fixture = Fixture::new();
    let mut draft = fixture.draft();
    let mut three = fixture.each(&[long("1"), long("2"), long("3")]);
    assert_eq!(draft.decide(&mut three), Fit::Part);
    assert_eq!((three.progress(), numbers(&draft)), (2, vec![1, 2]));

    // The first of a list may find room where the second does not.
    let mut draft = fixture.draft();
    assert_eq!(draft.decide(&mut fixture.each(&[long("1")])), Fit::Whole);
    let long_list = [grant("a", "k", 1), long("2"), long("3")];
    let mut list = fixture.list(&long_list);
    assert_eq!(draft.decide(&mut list), Fit::Part);
    assert_eq!(numbers(&draft), [1]);
    let mut others = fixture.each(&[grant("a", "k", 2), long("2")]);
    assert_eq!(draft.decide(&mut others), Fit::Whole, "the list took no room and no key");
    assert_eq!(answers(others), [Some((2, 2)), Some((3, 2))]);
}

#[test]
fn a_group_says_once_for_each_account_where_it_stands() {
    let fixture = Fixture::new();
    let mut draft = fixture.draft();
    let commands = [grant("a", "1", 5), grant("b", "1", 7), redeem("a", "1", 2), grant("a", "2", 9)];
    assert_eq!(draft.decide(&mut fixture.each(&commands)), Fit::Whole);
    let stand: Vec<_> = draft
        .overlay
        .accounts()
        .map(|(first, state)| {
            let account = first.entry.receipt.account();
            assert_eq!(first.account_hash, fixture.index.hasher().account(account));
            (account.name().to_owned(), state.balance.get(), state.sequence, state.last)
        })
        .collect();
    assert_eq!(stand, [("a".to_owned(), 12, 3, 4), ("b".to_owned(), 7, 1, 2)]);
}

// I3: whether an account was there when a caller looked for it makes no difference.
#[test]
fn an_account_stands_where_it_was_published_whether_it_was_found_before_or_not() {
    let mut fixture = Fixture::new();
    let hasher = fixture.index.hasher().clone();
    let early = fixture.prepared(&[grant("b", "1", 1)]);
    for (name, balance) in [("a", 10), ("b", 20)] {
        let id: AccountId = name.parse().unwrap();
        let state = AccountState { balance: points(balance).into(), sequence: 1, last: 1 };
        fixture.index.accounts.set(&hasher, hasher.account(&id), &id, state);
    }
    let mut late = fixture.prepared(&[grant("a", "1", 1), grant("b", "2", 1), grant("c", "1", 1)]);
    late.iter_mut().for_each(|prepared| prepared.find_account(&fixture.index));
    let places: Vec<_> = early.iter().chain(&late).map(|prepared| prepared.account_place).collect();
    assert_eq!(places, [None, Some(0), Some(1), None]);
    let mut draft = fixture.draft();
    for commands in [early, late] {
        assert_eq!(draft.decide(&mut Work::Each(Each::new(commands))), Fit::Whole);
    }
    let stand = draft.overlay.accounts().map(|(first, state)| (first.account_place, state.balance.get()));
    assert_eq!(stand.collect::<Vec<_>>(), [(None, 22), (Some(0), 11), (None, 1)]);
}

// I1
#[test]
fn a_key_that_the_group_itself_uses_is_used() {
    let fixture = Fixture::new();
    let mut draft = fixture.draft();
    let mut same =
        fixture.each(&[grant("a", "k", 5), grant("a", "k", 5), grant("a", "k", 6), redeem("a", "k", 5)]);
    assert_eq!(draft.decide(&mut same), Fit::Whole);
    assert_eq!(answers(same), [Some((1, 5)), Some((1, 5)), None, Some((2, 0))]);
    assert_eq!(numbers(&draft), [1, 2]);
    let mut others = fixture.each(&[grant("b", "k", 5)]);
    assert_eq!(draft.decide(&mut others), Fit::Whole);
    assert_eq!(answers(others), [Some((3, 5))], "a key belongs to its account");
}

#[test]
fn a_group_decides_only_so_many_commands() {
    let fixture = Fixture::new();
    let mut draft = fixture.draft();
    let refused = vec![redeem("a", "k", 1); DECISIONS_MAX + 1];
    let mut work = fixture.each(&refused[1..]);
    assert_eq!(draft.decide(&mut work), Fit::Whole);
    let mut late = fixture.each(&refused[..1]);
    assert_eq!(draft.decide(&mut late), Fit::Part);
    assert_eq!(late.progress(), 0);
    let mut work = fixture.each(&refused);
    assert_eq!(fixture.draft().decide(&mut work), Fit::Part);
    assert_eq!(work.progress(), DECISIONS_MAX);
}
