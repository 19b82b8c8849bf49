//! Amounts and balances at and beyond their bounds: C02, C03, C06.

use pointstore::{Balance, Command, ErrorKind, InvalidCommand, Points, Refusal};

use super::{applied, balance, grant, on_both, pts, redeem, refused, replayed};

fn is_invalid(made: Result<Points, InvalidCommand>) {
    let error = made.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(!error.is_transient(), "no retry is ever made: {error}");
}

// C02
#[test]
fn an_amount_that_is_not_positive_or_too_large_cannot_be_made_from_any_number() {
    is_invalid(Points::new(0));
    is_invalid(Points::new(-1));
    is_invalid(Points::new(i64::MIN));
    macro_rules! refused {
        ($($number:expr),* $(,)?) => { $(is_invalid(Points::try_from($number));)* };
    }
    refused![0_i8, -1_i8, i8::MIN, 0_i16, -1_i16, i16::MIN, 0_i32, -1_i32, i32::MIN, 0_i64, -1_i64, i64::MIN];
    refused![
        0_i128,
        -1_i128,
        i128::MIN,
        0_isize,
        -1_isize,
        isize::MIN,
        0_u8,
        0_u16,
        0_u32,
        0_u64,
        0_u128,
        0_usize
    ];
    refused![1_u64 << 63, u64::MAX, 1_u128 << 63, u128::MAX, 1_i128 << 63, i128::MAX, usize::MAX];
    // Bits beyond the lowest 64 are not cut off.
    refused![(1_i128 << 64) + 5, -(1_i128 << 64) + 5, (1_u128 << 64) + 5];
    assert_eq!(Points::try_from(i64::MAX as u64).unwrap(), Points::MAX);
}

// C02
#[test]
fn an_amount_that_is_not_positive_or_too_large_cannot_be_read_from_any_text() {
    for text in ["", "0", "-0", "-1", "+1", " 1", "1 ", "00", "1.0", "1e3", "0x1", "٣", "9223372036854775808"]
    {
        is_invalid(text.parse::<Points>());
    }
    for json in [
        "0",
        "-1",
        "-9223372036854775808",
        "9223372036854775808",
        "18446744073709551616",
        "1.5",
        "1e300",
        "\"5\"",
        "null",
    ] {
        assert!(serde_json::from_str::<Points>(json).is_err(), "{json}");
        let command =
            format!(r#"{{"account":{{"name":"a"}},"operation":"grant","key":"k","points":{json}}}"#);
        assert!(serde_json::from_str::<Command>(&command).is_err(), "{json}");
    }
    assert_eq!(serde_json::from_str::<Points>("9223372036854775807").unwrap(), Points::MAX);
}

// C03
#[test]
fn a_grant_beyond_the_largest_balance_is_refused_and_its_key_stays_unused() {
    for (has, more) in
        [(i64::MAX, 1), (i64::MAX, i64::MAX), (i64::MAX - 1, 2), (1, i64::MAX), (2, i64::MAX - 1)]
    {
        on_both(|_, store| {
            applied(store.apply(&grant("a", "start", has)));
            let too_much = grant("a", "k", more);
            let refusal = refused(&store, &too_much);
            let (has_now, requested) = (Balance::new(has).unwrap(), pts(more));
            assert_eq!(refusal, Refusal::BalanceOverflow { balance: has_now, requested });
            assert_eq!(balance(&store, "a"), has);

            let room = has.checked_sub(i64::MAX - more).unwrap();
            applied(store.apply(&redeem("a", "room", room)));
            applied(store.apply(&too_much));
            assert_eq!(balance(&store, "a"), i64::MAX);
            replayed(store.apply(&too_much));
        });
    }
}

// C03
#[test]
fn totals_over_accounts_go_beyond_the_largest_balance_without_wrapping() {
    on_both(|shelf, store| {
        for name in ["a", "b", "c"] {
            applied(store.apply(&grant(name, "k", i64::MAX)));
            applied(store.apply(&redeem(name, "k", i64::MAX)));
            applied(store.apply(&grant(name, "again", i64::MAX)));
        }
        let store = shelf.reopen(store);
        let largest = u128::from(i64::MAX.unsigned_abs());
        let stats = store.stats();
        assert_eq!((stats.points_granted, stats.points_redeemed), (6 * largest, 3 * largest));
        store.verify().unwrap();
    });
}

// C06
#[test]
fn a_redemption_without_enough_points_is_refused_until_there_are_and_then_applied() {
    on_both(|_, store| {
        applied(store.apply(&grant("a", "k1", 50)));
        let gift = redeem("a", "k", 100);
        for _ in 0..2 {
            let refusal = refused(&store, &gift);
            let (has, requested) = (Balance::new(50).unwrap(), pts(100));
            assert_eq!(refusal, Refusal::InsufficientPoints { balance: has, requested });
        }
        applied(store.apply(&grant("a", "k2", 100)));
        assert_eq!(applied(store.apply(&gift)).receipt().balance_after().get(), 50);
        // Applied, it stays a replay when there is not enough any more.
        replayed(store.apply(&gift));
        assert_eq!(balance(&store, "a"), 50);
    });
}

// C06
#[test]
fn a_refused_command_leaves_its_key_to_a_command_with_another_payload() {
    on_both(|shelf, store| {
        refused(&store, &redeem("a", "k", 100));
        refused(&store, &grant("a", "k", 1).expecting(1));
        // Nothing of the refused ones is kept, not even over a reopening.
        let store = shelf.reopen(store);
        applied(store.apply(&grant("a", "k", 7)));
        applied(store.apply(&redeem("a", "k", 7).expecting(1)));
        let mismatch = Refusal::SequenceMismatch { expected: 1, actual: 2 };
        assert_eq!(refused(&store, &redeem("a", "k2", 1).expecting(1)), mismatch);
    });
}
