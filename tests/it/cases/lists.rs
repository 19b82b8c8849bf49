//! Lists, alone and changed: C13, C16.

use pointstore::testing::SimDisk;
use pointstore::{
    ATOMIC_LIST_BYTES_MAX, ATOMIC_LIST_LEN_MAX, ApplyError, AtomicError, Command, Difference, ErrorKind,
    InvalidCommand, ManualClock, Memo, PointStore, Refusal, Timestamp,
};

use super::{applied, balance, grant, held, on_both, pts, redeem, replayed};
use crate::model::{Cmd, Reply, Request, submit};

/// Commands with every outcome and every refusal, the later ones resting on the earlier.
fn mixture() -> Vec<Cmd> {
    let grant = |key: &str, points| Cmd::grant("a", key, points);
    let expecting = |cmd: Cmd, sequence| Cmd { expected: Some(sequence), ..cmd };
    vec![
        grant("k1", 100),
        grant("k1", 100),
        grant("k1", 200),
        Cmd { memo: "m".into(), ..grant("k1", 100) },
        Cmd::redeem("a", "k1", 101),
        Cmd::redeem("a", "k1", 100),
        expecting(grant("k2", 1), 1),
        expecting(grant("k2", 1), 2),
        grant("k3", i64::MAX as u64),
        grant("k4", i64::MAX as u64 - 1),
        Cmd::grant("b", "k1", 5),
        Cmd { tenant: "t".into(), ..grant("k1", 7) },
        Cmd::redeem("b", "k9", 6),
        expecting(grant("k1", 100), 99),
    ]
}

fn store(small: bool) -> PointStore {
    let clock = ManualClock::at(Timestamp::from_unix_millis(1));
    let builder = PointStore::builder().clock(clock);
    let builder = if small { builder.small_limits() } else { builder };
    builder.open_simulated(&SimDisk::new(8)).unwrap()
}

// C13
#[test]
fn commands_are_answered_alike_one_by_one_in_a_list_and_as_lists_of_one() {
    // Several times over with other keys, so that in small limits it takes several groups.
    let commands: Vec<Cmd> = (0..8)
        .flat_map(|round| {
            mixture().into_iter().map(move |cmd| Cmd {
                key: format!("{}{round}{}", cmd.key, "K".repeat(100)),
                name: format!("{}{round}", cmd.name),
                ..cmd
            })
        })
        .collect();
    for small in [false, true] {
        let single = store(small);
        let one_by_one: Vec<_> = commands
            .iter()
            .flat_map(|cmd| match submit(&single, &Request::One(cmd.clone())) {
                Reply::Each(answers) => answers,
                Reply::Atomic(_) => unreachable!("it was no list"),
            })
            .collect();
        let listed = store(small);
        assert_eq!(submit(&listed, &Request::Each(commands.clone())), Reply::Each(one_by_one.clone()));
        held(&listed).must_equal(&held(&single), "listed and single");
        assert!(!small || listed.stats().groups > 1);

        let each_a_list = store(small);
        for (cmd, alone) in commands.iter().zip(&one_by_one) {
            let answer = alone.clone().map(|done| vec![done]).map_err(|no| (Some(0), no));
            assert_eq!(submit(&each_a_list, &Request::Atomic(vec![cmd.clone()])), Reply::Atomic(answer));
        }
        held(&each_a_list).must_equal(&held(&single), "lists of one and single");
    }
}

// C13
#[test]
fn each_item_of_an_atomic_list_is_refused_with_the_kind_it_has_alone() {
    on_both(|_, store| {
        applied(store.apply(&grant("a", "used", 10)));
        for (bad, kind) in [
            (grant("a", "used", 11), ErrorKind::KeyReused),
            (redeem("a", "k", 1_000), ErrorKind::Rejected),
            (grant("a", "k", i64::MAX), ErrorKind::Rejected),
            (grant("a", "k", 1).expecting(9), ErrorKind::Rejected),
        ] {
            let alone = store.apply(&bad).unwrap_err();
            assert_eq!(alone.kind(), kind);
            let before = held(&store);
            for at in 0..3 {
                let mut list = vec![grant("b", "x", 1), grant("c", "x", 1)];
                list.insert(at, bad.clone());
                let error = store.apply_atomic(&list).unwrap_err();
                assert_eq!((error.kind(), error.index()), (kind, Some(at)));
                assert_eq!(error.error(), &alone);
                held(&store).must_equal(&before, "after a refused list");
            }
        }
    });
}

fn reused(answer: Result<Vec<pointstore::Outcome>, AtomicError>) -> (Option<usize>, Difference) {
    let error = answer.unwrap_err();
    match error.error().refusal() {
        Some(Refusal::KeyReused { differs, .. }) => (error.index(), *differs),
        other => panic!("not a key that was used: {other:?}"),
    }
}

// C16
#[test]
fn a_list_retried_with_one_half_elsewhere_mints_nothing() {
    on_both(|shelf, store| {
        applied(store.apply(&grant("a", "start", 100)));
        let list = [redeem("a", "k", 100), grant("b", "k", 100)];
        let first = store.apply_atomic(&list).unwrap();
        assert!(first.iter().all(|outcome| !outcome.is_replay()));

        let changed = [redeem("a", "k", 100), grant("c", "k", 100)];
        assert_eq!(reused(store.apply_atomic(&changed)), (Some(0), Difference::List));
        assert_eq!(balance(&store, "c"), 0);

        let store = shelf.reopen(store);
        assert_eq!(reused(store.apply_atomic(&changed)), (Some(0), Difference::List));
        let again = store.apply_atomic(&list).unwrap();
        for (again, first) in again.iter().zip(&first) {
            assert!(again.is_replay());
            assert_eq!(again.receipt(), first.receipt());
        }
        assert_eq!((balance(&store, "a"), balance(&store, "b")), (0, 100));
    });
}

// C16
#[test]
fn only_the_same_list_is_its_retry() {
    use Difference::{List, Memo as Note, Points};
    let (one, two, three) = (redeem("a", "k", 10), grant("b", "k", 10), grant("c", "k", 10));
    let other = || grant("d", "k", 10);
    on_both(|_, store| {
        applied(store.apply(&grant("a", "start", 100)));
        let list = [one.clone(), two.clone(), three.clone()];
        store.apply_atomic(&list).unwrap();
        let single = grant("e", "k", 1);
        applied(store.apply(&single));
        let before = held(&store);
        let noted = two.clone().with_memo(Memo::new("n").unwrap());
        let cases: Vec<(Vec<Command>, usize, Difference)> = vec![
            (vec![one.clone(), two.clone(), other()], 0, List),
            (vec![other(), two.clone(), three.clone()], 1, List),
            (vec![one.clone(), two.clone()], 0, List),
            (vec![one.clone()], 0, List),
            (vec![one.clone(), two.clone(), three.clone(), other()], 0, List),
            (vec![two.clone(), one.clone(), three.clone()], 0, List),
            (vec![one.clone(), grant("b", "k", 11), three.clone()], 1, Points),
            (vec![one.clone(), noted, three.clone()], 1, Note),
            (vec![one.clone(), two.clone(), two.clone()], 2, List),
            (vec![one.clone(), two.clone(), grant("b", "k", 9)], 2, Points),
            (vec![other(), other()], 1, List),
            (vec![other(), single.clone()], 1, List),
            (vec![single.clone(), other()], 0, List),
        ];
        for (changed, at, differs) in cases {
            assert_eq!(reused(store.apply_atomic(&changed)), (Some(at), differs), "{changed:?}");
            held(&store).must_equal(&before, "after a changed list");
        }
        // Each on its own, they are what has been done already.
        for command in &list {
            replayed(store.apply(command));
        }
        assert!(store.apply_atomic(&list).unwrap().iter().all(|outcome| outcome.is_replay()));
        held(&store).must_equal(&before, "after retries");
    });
}

// C16
#[test]
fn halves_of_two_lists_are_not_a_third() {
    on_both(|_, store| {
        let list = |n: i64| [grant("a", &format!("k{n}"), n), grant("b", &format!("k{n}"), n)];
        store.apply_atomic(&list(1)).unwrap();
        store.apply_atomic(&list(2)).unwrap();
        let [first, _] = list(1);
        let [_, second] = list(2);
        let error = store.apply_atomic(&[first, second]).unwrap_err();
        assert_eq!(error.index(), Some(1));
        let (saved, given) = (pts(2), pts(2));
        let refusal = Refusal::KeyReused { saved, given, differs: Difference::List };
        assert_eq!(error.error().refusal(), Some(&refusal));
        assert_eq!(store.stats().receipts, 4);
    });
}

/// The bytes of a list as they are counted: of each command's texts, and 64 more.
fn bytes(list: &[Command]) -> usize {
    let text = |c: &Command| {
        c.account().name().len() + c.key().as_str().len() + c.memo().map_or(0, |m| m.as_str().len())
    };
    list.iter().map(|command| text(command) + 64).sum()
}

#[test]
fn a_list_of_as_many_commands_as_there_may_be_is_applied_and_one_more_is_invalid() {
    on_both(|_, store| {
        let list: Vec<Command> = (0..=ATOMIC_LIST_LEN_MAX).map(|n| grant("a", &format!("k{n}"), 1)).collect();
        assert!(bytes(&list) < ATOMIC_LIST_BYTES_MAX);
        let error = store.apply_atomic(&list).unwrap_err();
        let (len, max) = (ATOMIC_LIST_LEN_MAX + 1, ATOMIC_LIST_LEN_MAX);
        assert_eq!(error.into_error(), ApplyError::Invalid(InvalidCommand::ListTooLong { len, max }));
        assert_eq!(balance(&store, "a"), 0);
        assert_eq!(store.apply_atomic(&list[1..]).unwrap().len(), ATOMIC_LIST_LEN_MAX);
    });
}

#[test]
fn a_list_of_as_many_bytes_as_there_may_be_is_applied_and_one_more_is_invalid() {
    on_both(|_, store| {
        let long = |n: usize| grant("a", &format!("{n:0255}"), 1);
        let mut list: Vec<Command> = (0..82).map(long).collect();
        let left = ATOMIC_LIST_BYTES_MAX - bytes(&list) - bytes(&[long(82)]);
        let memo = |len: usize| Memo::new("m".repeat(len)).unwrap();
        list.push(long(82).with_memo(memo(left + 1)));
        let error = store.apply_atomic(&list).unwrap_err();
        let (bytes, max) = (ATOMIC_LIST_BYTES_MAX + 1, ATOMIC_LIST_BYTES_MAX);
        assert_eq!(error.into_error(), ApplyError::Invalid(InvalidCommand::ListTooLarge { bytes, max }));
        assert_eq!(balance(&store, "a"), 0);
        list[82] = long(82).with_memo(memo(left));
        assert_eq!(store.apply_atomic(&list).unwrap().len(), 83);
    });
}
