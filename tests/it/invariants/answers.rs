//! What is answered: once (I1), as saved (I4), without a word of others (I5), and errors without effect (I6).

use pointstore::testing::{Failure, SimDisk, Step};
use pointstore::{Command, Difference, ErrorKind, Memo, Operation, PointStore, Refusal};

use super::open;
use crate::cases::{applied, balance, grant, held, id, key, on_both, pts, redeem, replayed};

#[test]
fn i1_a_key_has_one_effect_in_whatever_form_and_however_often_it_is_asked_for() {
    on_both(|shelf, mut store| {
        let command = grant("a", "k", 5);
        let first = applied(store.apply(&command)).into_receipt();
        for _ in 0..3 {
            for outcome in [
                store.apply(&command),
                store.grant(&id("a"), &key("k"), pts(5)),
                store.apply(&command.clone().expecting(9)),
                store.apply_each(&[command.clone(), command.clone()]).remove(1),
                store
                    .apply_atomic(std::slice::from_ref(&command))
                    .map(|mut list| list.remove(0))
                    .map_err(|e| e.into_error()),
            ] {
                assert_eq!(replayed(outcome).receipt(), &first);
            }
            store = shelf.reopen(store);
        }
        assert_eq!(held(&store).journal.len(), 1);
    });
}

#[test]
fn i1_known_and_new_keys_of_a_long_request_each_get_their_own_answer() {
    on_both(|_shelf, store| {
        // Longer than what is looked up at once, and every third known: as a replay, or with other points.
        let command = |n: i64| grant("a", &format!("k{n}"), n + 1);
        let known: Vec<Command> = (0..700).step_by(3).map(command).collect();
        let saved: Vec<_> = store.apply_each(&known).into_iter().map(|a| applied(a).into_receipt()).collect();
        let asked: Vec<Command> = (0..700)
            .map(|n| if n % 6 == 3 { grant("a", &format!("k{n}"), 9_999) } else { command(n) })
            .collect();
        let answers = store.apply_each(&asked);
        assert_eq!(answers.len(), asked.len());
        for (n, answer) in answers.into_iter().enumerate() {
            match n % 6 {
                0 => assert_eq!(replayed(answer).receipt(), &saved[n / 3], "n={n}"),
                3 => assert_eq!(answer.unwrap_err().kind(), ErrorKind::KeyReused, "n={n}"),
                _ => assert_eq!(applied(answer).receipt().key(), asked[n].key(), "n={n}"),
            }
        }
        // All known: nothing is queued.
        for (n, answer) in store.apply_each(&known).into_iter().enumerate() {
            assert_eq!(replayed(answer).receipt(), &saved[n]);
        }
    });
}

/// Adds up an account's receipts, and checks that each follows from the one before.
fn add_up(store: &PointStore, account: &str) -> (u64, i64) {
    let receipts: Vec<_> = store.statement(&id(account)).collect::<Result<_, _>>().unwrap();
    let (mut count, mut sum) = (0, 0);
    for receipt in receipts.iter().rev() {
        count += 1;
        sum += match receipt.operation() {
            Operation::Redeem => -receipt.points().get(),
            _ => receipt.points().get(),
        };
        assert_eq!((receipt.sequence(), receipt.balance_after().get()), (count, sum));
    }
    (count, sum)
}

#[test]
fn i3_balance_equals_sum_of_receipts() {
    on_both(|shelf, store| {
        let (mut count, mut sum) = (0, 0);
        for n in 1..=60 {
            let (k, moved) = (format!("k{n}"), if n % 3 == 0 { -2 * n } else { n });
            let answer =
                store.apply(&if moved < 0 { redeem("a", &k, -moved) } else { grant("a", &k, moved) });
            assert_eq!(answer.is_ok(), sum + moved >= 0, "never below zero");
            if answer.is_ok() {
                (count, sum) = (count + 1, sum + moved);
            }
            assert_eq!((add_up(&store, "a"), balance(&store, "a")), ((count, sum), sum));
        }
        assert!((40..60).contains(&count), "some were refused and most were not: {count}");
        let store = shelf.reopen(store);
        assert_eq!((add_up(&store, "a"), balance(&store, "a")), ((count, sum), sum));
        let numbers: Vec<u64> = held(&store).journal.iter().map(|rec| rec.number).collect();
        assert_eq!(numbers, (1..=count).collect::<Vec<u64>>());
    });
}

#[test]
fn i4_a_replay_returns_the_receipt_exactly_as_it_was_saved() {
    on_both(|shelf, store| {
        let command = grant("a", "k", 5).with_memo(Memo::new("m").unwrap());
        let first = applied(store.apply(&command));
        for n in 0..50 {
            applied(store.apply(&grant("a", &format!("n{n}"), 7)));
        }
        let check = |store: &PointStore| {
            assert_eq!(replayed(store.apply(&command)).receipt(), first.receipt());
            let saved = store.receipt(&id("a"), command.operation(), command.key()).unwrap();
            assert_eq!(saved.as_ref(), Some(first.receipt()));
            assert_eq!((first.receipt().balance_after().get(), balance(store, "a")), (5, 355));
        };
        check(&store);
        check(&shelf.reopen(store));
    });
}

#[test]
fn i5_a_refusal_is_the_same_whatever_other_accounts_hold() {
    let refusals = |others: &[Command]| {
        let store = open(&SimDisk::new(41));
        for answer in store.apply_each(others) {
            applied(answer);
        }
        applied(store.apply(&grant("a", "k", 100)));
        let before = (held(&store), store.position());
        let commands = [
            grant("a", "k", 200),
            grant("a", "k", 100).with_memo(Memo::new("m").unwrap()),
            redeem("a", "k", 101),
            grant("a", "k2", i64::MAX),
            grant("a", "k2", 1).expecting(0),
        ];
        let said: Vec<String> =
            commands.iter().map(|command| format!("{:?}", store.apply(command).unwrap_err())).collect();
        assert_eq!((held(&store), store.position()), before, "nothing is written");
        said
    };
    let others = [grant("ab", "k", 200), grant("b", "k", 200), redeem("b", "k", 200), grant("b", "k2", 7)];
    assert_eq!(refusals(&[]), refusals(&others));
    let saved = Refusal::KeyReused { saved: pts(100), given: pts(200), differs: Difference::Points };
    assert!(refusals(&others)[0].contains(&format!("{saved:?}")));
}

/// Asks in vain, and expects a kind of error and everything to be as it was: all that can be read, and each byte.
fn in_vain(
    disk: &SimDisk,
    store: &PointStore,
    what: &str,
    kind: ErrorKind,
    ask: impl Fn(&PointStore) -> ErrorKind,
) {
    let read = |store: &PointStore| (held(store), store.position(), disk.durable_pages());
    let before = read(store);
    assert_eq!(ask(store), kind, "{what}");
    assert!(read(store) == before, "{what} has left something behind");
}

#[test]
fn i6_an_error_of_any_kind_leaves_the_store_as_it_was() {
    let disk = SimDisk::new(42);
    let store = open(&disk);
    applied(store.apply(&grant("a", "k", 100)));
    applied(store.apply(&grant("top", "k", i64::MAX)));
    let one = |command: Command| move |store: &PointStore| store.apply(&command).unwrap_err().kind();
    let list =
        |commands: Vec<Command>| move |store: &PointStore| store.apply_atomic(&commands).unwrap_err().kind();
    let refusals = [
        ("another amount", ErrorKind::KeyReused, grant("a", "k", 101)),
        ("another memo", ErrorKind::KeyReused, grant("a", "k", 100).with_memo(Memo::new("m").unwrap())),
        ("another sequence", ErrorKind::Rejected, grant("a", "k2", 1).expecting(0)),
        ("too few points", ErrorKind::Rejected, redeem("a", "k", 101)),
        ("no account", ErrorKind::Rejected, redeem("nobody", "k", 1)),
        ("too many points", ErrorKind::Rejected, grant("top", "k2", 1)),
    ];
    for (what, kind, command) in refusals {
        in_vain(&disk, &store, what, kind, one(command.clone()));
        // At the end of a list that would have had an effect, on accounts old and new.
        let good = vec![grant("a", "x", 1), grant("new", "x", 1), redeem("a", "x", 1), command];
        in_vain(&disk, &store, what, kind, list(good));
    }
    let many: Vec<Command> = (0..5).map(|n| grant("a", &format!("m{n}"), 1)).collect();
    in_vain(&disk, &store, "a list too long", ErrorKind::Invalid, list(many));
    let large = vec![grant("a", &"K".repeat(255), 1), grant("a", &"L".repeat(255), 1), grant("a", "M", 1)];
    in_vain(&disk, &store, "a list too large", ErrorKind::Invalid, list(large));

    disk.fill(true);
    in_vain(&disk, &store, "a full disk", ErrorKind::NotAttempted, one(grant("a", "k3", 1)));
    in_vain(&disk, &store, "a full disk", ErrorKind::NotAttempted, list(vec![grant("new", "k3", 1)]));
    disk.fill(false);
    in_vain(&disk, &store, "an unreadable page", ErrorKind::Unavailable, |store| {
        disk.fail_reads(true);
        let kind = store.apply(&grant("a", "k", 100)).unwrap_err().kind();
        disk.fail_reads(false);
        kind
    });
    disk.fail(Step::Append, Failure::Before);
    in_vain(&disk, &store, "an unknown outcome", ErrorKind::OutcomeUnknown, one(grant("a", "k4", 1)));
    in_vain(&disk, &store, "a store that has failed", ErrorKind::Closed, one(grant("a", "k4", 1)));
    drop(store);

    let store = open(&disk);
    let position = store.position();
    store.close().unwrap();
    let pages = disk.durable_pages();
    assert_eq!(one(grant("a", "k5", 1))(&store), ErrorKind::Closed);
    assert_eq!(one(grant("a", "k", 100))(&store), ErrorKind::Closed);
    assert_eq!(list(vec![grant("a", "k5", 1)])(&store), ErrorKind::Closed);
    assert_eq!((store.position(), disk.durable_pages()), (position, pages));
    // None of the keys was used up.
    let store = open(&disk);
    for k in ["x", "k2", "k3", "k4", "k5", "m0"] {
        applied(store.apply(&grant("a", k, 2)));
    }
}
