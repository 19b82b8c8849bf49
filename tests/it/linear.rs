//! What threads are answered fits one order of their calls, in which nobody's call comes before one that had ended
//! when it began (I1, I4, I5, I8).
//!
//! Short histories are recorded, many of them, and a checker looks for such an order. It knows the ledger by `spec`.

mod record;
mod spec;

use pointstore::PointStore;
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};

use self::record::{overlaps, record};
use self::spec::{Answer, Call, Kind, Ledger, Said, Saved};
use crate::concurrency::{simulated, watched};

/// Calls and answers, in the order of time, each with its thread.
type Events = Vec<(usize, Action<Said>)>;

fn is_linearizable(events: &Events) -> bool {
    WGLChecker::<Ledger>::is_linearizable(History::from_actions(events.clone()))
}

fn check(store: &PointStore, rounds: u64, threads: usize, calls: usize) {
    let mut met = 0;
    for round in 0..rounds {
        let events = record(store, round, threads, calls);
        assert_eq!(events.len(), 2 * threads * calls, "every call is answered");
        met += overlaps(&events);
        assert!(is_linearizable(&events), "no order explains round {round}: {events:#?}");
    }
    assert!(met > 0, "calls met at least once");
}

#[test]
fn answers_of_the_real_store_fit_one_order() {
    watched("histories on sled", || {
        let store = PointStore::temporary().unwrap();
        check(&store, 150, 4, 5);
        store.close().unwrap();
    });
}

#[test]
fn answers_of_a_store_in_memory_fit_one_order() {
    watched("histories in memory", || {
        let (_disk, store) = simulated(1);
        check(&store, 300, 4, 6);
        check(&store, 300, 3, 4);
    });
}

/// Events from `begin` and `end` in the order written; each thread has one call at a time.
fn history(events: &[(usize, Call, Option<Answer>)]) -> Events {
    events
        .iter()
        .map(|(thread, call, answer)| {
            let said = Said { call: call.clone(), answer: answer.clone() };
            (*thread, if answer.is_some() { Action::Response(said) } else { Action::Call(said) })
        })
        .collect()
}

fn saved(number: u64, points: i64, balance_after: i64, sequence: u64) -> Saved {
    Saved { number, points, balance_after, sequence }
}

fn grant(key: u64) -> Call {
    Call::Change { kind: Kind::Grant, account: 0, key, points: 5 }
}

fn receipt(key: u64) -> Call {
    Call::Receipt { kind: Kind::Grant, account: 0, key }
}

#[test]
fn the_checker_accepts_what_meets_and_fits() {
    let (mine, theirs) = (grant(1), Call::Balance { account: 0 });
    let applied = Some(Answer::Applied(saved(1, 5, 5, 1)));
    for balance in [0, 5] {
        let events = history(&[
            (0, mine.clone(), None),
            (1, theirs.clone(), None),
            (1, theirs.clone(), Some(Answer::Balance(balance))),
            (0, mine.clone(), applied.clone()),
        ]);
        assert!(is_linearizable(&events), "a read beside a grant sees it or not, balance={balance}");
    }
}

#[test]
fn the_checker_refuses_a_key_that_was_applied_twice() {
    let events = history(&[
        (0, grant(1), None),
        (1, grant(1), None),
        (0, grant(1), Some(Answer::Applied(saved(1, 5, 5, 1)))),
        (1, grant(1), Some(Answer::Applied(saved(2, 5, 10, 2)))),
    ]);
    assert!(!is_linearizable(&events), "I1");
}

#[test]
fn the_checker_refuses_a_balance_of_before_the_grant_was_answered() {
    let balance = Call::Balance { account: 0 };
    let events = history(&[
        (0, grant(1), None),
        (0, grant(1), Some(Answer::Applied(saved(1, 5, 5, 1)))),
        (1, balance.clone(), None),
        (1, balance, Some(Answer::Balance(0))),
    ]);
    assert!(!is_linearizable(&events), "a stale read");
}

#[test]
fn the_checker_refuses_a_receipt_that_was_seen_and_is_gone() {
    let events = history(&[
        (0, grant(1), None),
        (1, receipt(1), None),
        (1, receipt(1), Some(Answer::Receipt(Some(saved(1, 5, 5, 1))))),
        (2, receipt(1), None),
        (2, receipt(1), Some(Answer::Receipt(None))),
        (0, grant(1), Some(Answer::Applied(saved(1, 5, 5, 1)))),
    ]);
    assert!(!is_linearizable(&events), "I8: what was seen is not taken back");
}

#[test]
fn the_checker_refuses_a_replay_with_the_balance_of_now() {
    let events = history(&[
        (0, grant(1), None),
        (0, grant(1), Some(Answer::Applied(saved(1, 5, 5, 1)))),
        (0, grant(2), None),
        (0, grant(2), Some(Answer::Applied(saved(2, 5, 10, 2)))),
        (1, grant(1), None),
        (1, grant(1), Some(Answer::Replayed(saved(1, 5, 10, 1)))),
    ]);
    assert!(!is_linearizable(&events), "I4");
}
