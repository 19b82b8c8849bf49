//! What a key stands for, and what a retry gets: C01, C04, C05, C08, C09, C15.

use pointstore::{AccountId, Command, Difference, IdempotencyKey, Memo, Operation, Points, Refusal};

use super::{applied, balance, grant, held, id, key, on_both, pts, redeem, refused, replayed};

// C01
#[test]
fn an_event_delivered_again_is_credited_once() {
    on_both(|shelf, store| {
        let first = applied(store.grant(&id("a"), &key("order-99"), pts(500)));
        for _ in 0..3 {
            let second = replayed(store.grant(&id("a"), &key("order-99"), pts(500)));
            assert_eq!(second.receipt(), first.receipt());
        }
        assert_eq!(balance(&store, "a"), 500);
        assert_eq!(held(&store).journal.len(), 1);
        let store = shelf.reopen(store);
        assert_eq!(replayed(store.apply(&grant("a", "order-99", 500))).receipt(), first.receipt());
        assert_eq!(held(&store).journal.len(), 1);
    });
}

// C04
#[test]
fn a_retry_is_a_replay_whatever_a_rule_would_say_by_now() {
    on_both(|shelf, store| {
        let granted = grant("a", "k", 100).expecting(0);
        let first = applied(store.apply(&granted));
        let taken = redeem("a", "k", 40).expecting(1);
        let second = applied(store.apply(&taken));
        // To the top: granting 100 again would overflow, and the expectations no longer hold.
        applied(store.apply(&grant("a", "top", i64::MAX - 60)));
        let again = replayed(store.apply(&granted));
        assert_eq!(again.receipt(), first.receipt());
        assert_eq!(again.receipt().balance_after().get(), 100);
        // To the bottom: redeeming 40 again would be too much.
        applied(store.apply(&redeem("a", "bottom", i64::MAX)));
        let store = shelf.reopen(store);
        assert_eq!(replayed(store.apply(&taken)).receipt(), second.receipt());
        assert_eq!(replayed(store.apply(&granted)).receipt(), first.receipt());
        // Another expectation is no other payload.
        replayed(store.apply(&grant("a", "k", 100).expecting(77)));
        replayed(store.apply(&grant("a", "k", 100)));
        assert_eq!(balance(&store, "a"), 0);
    });
}

// C05
#[test]
fn the_same_key_with_another_amount_is_refused_and_names_both_amounts_alone() {
    on_both(|shelf, store| {
        applied(store.apply(&grant("rich-neighbour", "k", 777_777)));
        applied(store.apply(&grant("a", "k", 100)));
        let store = shelf.reopen(store);
        for given in [200, 99, 101, 1, i64::MAX] {
            let refusal = refused(&store, &grant("a", "k", given));
            let (saved, given) = (pts(100), pts(given));
            assert_eq!(refusal, Refusal::KeyReused { saved, given, differs: Difference::Points });
            let said = format!("{refusal} {refusal:?}");
            assert!(said.contains("100") && said.contains(&given.to_string()), "{said}");
            // I5
            assert!(!said.contains("neighbour") && !said.contains("777777"), "{said}");
        }
        assert_eq!(balance(&store, "a"), 100);
        replayed(store.apply(&grant("a", "k", 100)));
    });
}

// C05
#[test]
fn the_same_key_with_another_memo_or_none_is_refused() {
    let memo = |text: &str| Memo::new(text).unwrap();
    on_both(|_, store| {
        let with = grant("a", "with", 5).with_memo(memo("spring"));
        applied(store.apply(&with));
        applied(store.apply(&grant("a", "without", 5)));
        for changed in [
            grant("a", "with", 5),
            grant("a", "with", 5).with_memo(memo("Spring")),
            grant("a", "with", 5).with_memo(memo("spring ")),
            grant("a", "without", 5).with_memo(memo("spring")),
        ] {
            let (saved, given) = (pts(5), pts(5));
            let refusal = refused(&store, &changed);
            assert_eq!(refusal, Refusal::KeyReused { saved, given, differs: Difference::Memo });
        }
        replayed(store.apply(&with));
        replayed(store.apply(&grant("a", "without", 5)));
    });
}

// C08
#[test]
fn names_keys_and_memos_of_any_letters_mean_the_same_after_reopening() {
    let texts = [
        "ä/€",
        "<b>é & \u{2028}</b>",
        "\u{feff}k",
        "e\u{301}",
        "é",
        "\u{1f469}\u{200d}\u{1f680}",
        "\"quoted\" \\u00e9 %C3%A9 &eacute;",
        "a\u{a0}b",
        "ﬀ",
        "ff",
        "\u{10ffff}",
    ];
    on_both(|shelf, store| {
        let commands: Vec<Command> = texts
            .iter()
            .flat_map(|name| texts.iter().map(move |k| (name, k)))
            .map(|(name, k)| grant(name, k, 5).with_memo(Memo::new(*k).unwrap()))
            .collect();
        let first = store.apply_each(&commands);
        // No two are taken for each other, however alike they look.
        let receipts: Vec<_> = first.into_iter().map(|answer| applied(answer).into_receipt()).collect();
        let again = |answers: Vec<_>| {
            for (answer, first) in answers.into_iter().zip(&receipts) {
                assert_eq!(replayed(answer).receipt(), first);
            }
        };
        again(store.apply_each(&commands));
        let store = shelf.reopen(store);
        again(store.apply_each(&commands));
        // Sent through JSON, they are what they were.
        let json = serde_json::to_string(&commands).unwrap();
        again(store.apply_each(&serde_json::from_str::<Vec<Command>>(&json).unwrap()));
    });
}

// C09
#[test]
fn tenants_names_keys_and_operations_are_never_glued_into_one_another() {
    let tenants = ["", "a", "ab", "a/b"];
    let names = ["a", "ab", "b", "a/b", "b/a"];
    let keys = ["c", "bc", "b", "/c", "a"];
    on_both(|shelf, store| {
        let mut commands = Vec::new();
        for (tenant, name) in tenants.iter().flat_map(|t| names.map(|n| (*t, n))) {
            let account = AccountId::in_tenant(tenant, name).unwrap();
            for k in keys {
                let (account, k) = (account.clone(), IdempotencyKey::new(k).unwrap());
                commands.push(Command::grant(account.clone(), k.clone(), Points::new(2).unwrap()));
                commands.push(Command::redeem(account, k, Points::new(1).unwrap()));
            }
        }
        for answer in store.apply_each(&commands) {
            applied(answer);
        }
        let store = shelf.reopen(store);
        for command in &commands {
            let account = command.account();
            assert_eq!(store.balance(account).get(), 5, "{account}");
            assert_eq!(store.statement(account).count(), 2 * keys.len());
            let saved = store.receipt(account, command.operation(), command.key()).unwrap().unwrap();
            assert_eq!((saved.account(), saved.key()), (account, command.key()));
            assert_eq!(saved.operation() == Operation::Grant, saved.points().get() == 2);
        }
        assert_eq!(store.accounts().count(), tenants.len() * names.len());
    });
}

// C15
#[test]
fn two_purchases_alike_in_all_but_the_key_are_both_granted() {
    on_both(|_, store| {
        let memo = || Memo::new("2026-01-01").unwrap();
        let first = applied(store.apply(&grant("a", "order-1", 12).with_memo(memo())));
        let second = applied(store.apply(&grant("a", "order-2", 12).with_memo(memo())));
        assert_ne!(first.receipt(), second.receipt());
        assert_eq!(first.receipt().recorded_at(), second.receipt().recorded_at());
        let list = [grant("a", "order-3", 12).with_memo(memo()), grant("a", "order-4", 12).with_memo(memo())];
        assert!(store.apply_atomic(&list).unwrap().iter().all(|outcome| !outcome.is_replay()));
        assert_eq!(balance(&store, "a"), 48);
        // A grant and a redemption under one key are two operations, too.
        applied(store.apply(&redeem("a", "order-1", 12).with_memo(memo())));
        assert_eq!(balance(&store, "a"), 36);
    });
}
