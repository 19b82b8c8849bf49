//! What a random history is made of: plain data, simplest first, so that a failing one shrinks well.

use pointstore::testing::{Failure, Step, Unsynced};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::model::{Change, Cmd, Draft, Look, Op};

/// Accounts that differ in the tenant, the name, or only in where one ends and the other begins (C09).
const ACCOUNTS: [(&str, &str); 6] =
    [("", "a"), ("", "ab"), ("a", "b"), ("t", "a"), ("t", "t/a"), ("ä", "€ & <b>")];

const LARGEST: u64 = i64::MAX as u64;

fn account() -> impl Strategy<Value = (String, String)> {
    // Mostly the first two.
    let account = prop_oneof![3 => select(&ACCOUNTS[..2]), 1 => select(&ACCOUNTS[..])];
    account.prop_map(|(tenant, name)| (tenant.to_owned(), name.to_owned()))
}

fn key() -> impl Strategy<Value = String> {
    let long = "K".repeat(255);
    let keys: Vec<String> =
        ["k1", "k2", "c", "bc", "b\u{2028}é"].into_iter().map(str::to_owned).chain([long]).collect();
    let more = (0..40_u8).prop_map(|n| format!("n{n}"));
    prop_oneof![3 => select(keys), 2 => more]
}

fn points() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => 1..=6_u64,
        2 => select(vec![100, 1_000]),
        1 => select(vec![LARGEST - 6, LARGEST - 1, LARGEST]),
    ]
}

fn memo() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just(String::new()), 1 => Just("m".into()), 1 => Just("M".repeat(128))]
}

fn draft() -> impl Strategy<Value = Draft> {
    let expect = prop_oneof![5 => Just(None), 2 => Just(Some(0)), 1 => (-1..=2_i8).prop_map(Some)];
    (account(), any::<bool>(), key(), points(), memo(), expect).prop_map(
        |((tenant, name), redeem, key, points, memo, expect)| {
            let cmd = Cmd { tenant, name, redeem, key, points, memo, expected: None };
            Draft { cmd, expect }
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    use Change::{Expectation, Memo, Nothing, Otherwise, Points, Reversed, Shorter};
    prop_oneof![
        4 => Just(Nothing),
        3 => select(vec![Points, Memo, Expectation, Shorter, Reversed, Otherwise]),
    ]
}

fn asking() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => draft().prop_map(Op::One),
        2 => vec(draft(), 0..8).prop_map(Op::Each),
        1 => vec(draft(), 0..70).prop_map(Op::Each),
        3 => vec(draft(), 0..5).prop_map(Op::Atomic),
        1 => vec(draft(), 0..9).prop_map(Op::Atomic),
        5 => (0..8_usize, change()).prop_map(|(back, change)| Op::Retry { back, change }),
        1 => (-2_000..5_000_i32).prop_map(Op::Clock),
    ]
}

fn looking() -> impl Strategy<Value = Op> {
    let look = prop_oneof![
        2 => account().prop_map(|(tenant, name)| Look::Account { tenant, name }),
        2 => (account(), any::<bool>(), key())
            .prop_map(|((tenant, name), redeem, key)| Look::Receipt { tenant, name, redeem, key }),
        2 => prop_oneof![0..60_u64, Just(u64::MAX)].prop_map(|from| Look::Journal { from }),
        1 => Just(Look::Accounts),
        1 => Just(Look::Stats),
        1 => Just(Look::Verify),
    ];
    look.prop_map(Op::Look)
}

/// A history without faults.
pub(super) fn history(len_max: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        16 => asking(),
        6 => looking(),
        1 => select(vec![Op::Reopen, Op::Drop]),
        1 => any::<bool>().prop_map(Op::FailReads),
        1 => any::<bool>().prop_map(Op::Fill),
    ];
    vec(op, 1..len_max)
}

/// A history for a real engine, where an opening takes its time.
pub(super) fn real_history(len_max: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        50 => asking(),
        20 => looking(),
        2 => select(vec![Op::Reopen, Op::Drop]),
        1 => Just(Op::Look(Look::Backup)),
    ];
    vec(op, 1..len_max)
}

/// A history in which everything may fail.
pub(super) fn faulty_history(len_max: usize) -> impl Strategy<Value = Vec<Op>> {
    let step = select(vec![Step::Append, Step::Sync, Step::Mark, Step::Accept]);
    let failure = select(vec![Failure::Before, Failure::After, Failure::Panic]);
    let op = prop_oneof![
        30 => asking(),
        6 => looking(),
        6 => select(vec![Op::Reopen, Op::Drop]),
        2 => (step, failure).prop_map(|(step, failure)| Op::Fail(step, failure)),
        1 => Just(Op::Fail(Step::Sync, Failure::Pretend)),
        1 => Just(Op::Kill),
        2 => unsynced().prop_map(Op::Cut),
        3 => (0..12_u64, unsynced()).prop_map(|(moments, unsynced)| Op::CutAfter(moments, unsynced)),
        1 => any::<bool>().prop_map(Op::FailReads),
        1 => any::<bool>().prop_map(Op::Fill),
    ];
    vec(op, 1..len_max)
}

pub(super) fn unsynced() -> impl Strategy<Value = Unsynced> {
    select(vec![Unsynced::Kept, Unsynced::Dropped, Unsynced::Torn])
}
