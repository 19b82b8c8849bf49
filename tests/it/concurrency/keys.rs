//! One key, fifty threads: exactly one of them has the effect (C14, I1, I4, I5).

use std::sync::Barrier;
use std::thread;

use pointstore::{ApplyError, Command, Difference, ErrorKind, Outcome, PointStore, Receipt, Refusal};

use super::{account, check_whole, key, patient, points, simulated, together, watched};

const THREADS: usize = 50;

type Answer = Result<Outcome, ApplyError>;

/// Lets all threads ask at once for one key in each round, with the amount that `amount` gives a thread.
fn race(store: &PointStore, rounds: usize, amount: impl Fn(usize) -> i64 + Sync) -> Vec<Vec<Answer>> {
    let start = Barrier::new(THREADS);
    let (start, amount) = (&start, &amount);
    let by_thread: Vec<Vec<Answer>> = thread::scope(|scope| {
        let running: Vec<_> = (0..THREADS)
            .map(|i| {
                scope.spawn(move || {
                    (0..rounds)
                        .map(|round| {
                            start.wait();
                            store.grant(&account("hot"), &key(format!("k{round}")), points(amount(i)))
                        })
                        .collect()
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (0..rounds).map(|round| by_thread.iter().map(|answers| answers[round].clone()).collect()).collect()
}

/// The one that had the effect; every other answer must say the same, or that its own amount lost.
fn winner(answers: &[Answer]) -> Receipt {
    let mut applied = answers.iter().filter_map(|answer| match answer {
        Ok(Outcome::Applied(receipt)) => Some(receipt),
        _ => None,
    });
    let winner = applied.next().expect("somebody has the effect");
    assert_eq!(applied.next(), None, "I1: nobody else has it");
    winner.clone()
}

#[test]
fn c14_i1_fifty_threads_with_one_key_and_one_amount_have_one_effect() {
    let rounds = 300;
    let (_disk, store) = simulated(14);
    for answers in watched("one amount", || race(&store, rounds, |_| 5)) {
        let winner = winner(&answers);
        for answer in answers {
            assert_eq!(answer.unwrap().into_receipt(), winner, "I4");
        }
    }
    assert_eq!(check_whole(&store), 5 * rounds as i128);
    let stats = store.stats();
    assert_eq!((stats.applied, stats.replayed), (rounds as u64, (rounds * (THREADS - 1)) as u64));
}

#[test]
fn c14_i5_fifty_threads_with_one_key_and_two_amounts_settle_on_one() {
    let rounds = 1000;
    let (_disk, store) = simulated(15);
    let amount = |thread: usize| if thread.is_multiple_of(2) { 100 } else { 200 };
    let mut sum = 0;
    for answers in watched("two amounts", || race(&store, rounds, amount)) {
        let winner = winner(&answers);
        sum += i128::from(winner.points().get());
        for (thread, answer) in answers.into_iter().enumerate() {
            let given = points(amount(thread));
            if given == winner.points() {
                assert_eq!(answer.unwrap().into_receipt(), winner, "I4");
            } else {
                let error = answer.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::KeyReused);
                let saved = winner.points();
                let differs = Difference::Points;
                assert_eq!(error.refusal(), Some(&Refusal::KeyReused { saved, given, differs }), "I5");
            }
        }
    }
    assert_eq!(check_whole(&store), sum);
}

#[test]
fn c14_i1_one_key_has_one_effect_on_sled_and_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = patient().open(folder.path()).unwrap();
    let rounds = 20;
    let amount = |thread: usize| if thread < THREADS / 2 { 100 } else { 200 };
    let answers = watched("on sled", || race(&store, rounds, amount));
    let winners: Vec<Receipt> = answers.iter().map(|answers| winner(answers)).collect();
    store.close().unwrap();

    let store = patient().open(folder.path()).unwrap();
    for (round, winner) in winners.iter().enumerate() {
        let again = store.grant(&account("hot"), &key(format!("k{round}")), winner.points()).unwrap();
        assert_eq!(again, Outcome::Replayed(winner.clone()));
    }
    assert_eq!(check_whole(&store), winners.iter().map(|r| i128::from(r.points().get())).sum());
}

#[test]
fn c16_i1_one_atomic_list_sent_by_many_threads_has_one_effect_as_a_whole() {
    let (_disk, store) = simulated(16);
    let list = |round: usize, other: &str| {
        let key = key(format!("move-{round}"));
        [
            Command::grant(account("from"), key.clone(), points(7)),
            Command::grant(account(other), key, points(7)),
        ]
    };
    for round in 0..100 {
        // Half of them send another list, with the same first item.
        let others = ["to", "elsewhere"];
        let answers =
            watched("lists", || together(12, |thread| store.apply_atomic(&list(round, others[thread % 2]))));
        let applied: Vec<usize> = (0..answers.len())
            .filter(|thread| answers[*thread].as_ref().is_ok_and(|list| list.iter().all(|o| !o.is_replay())))
            .collect();
        assert_eq!(applied.len(), 1, "I1: {answers:?}");
        for (thread, answer) in answers.iter().enumerate() {
            match answer {
                Ok(outcomes) => {
                    assert_eq!(thread % 2, applied[0] % 2);
                    let same = |(a, b): (&Outcome, &Outcome)| a.receipt() == b.receipt();
                    assert!(outcomes.iter().zip(answers[applied[0]].as_ref().unwrap()).all(same), "I4");
                }
                Err(error) => {
                    assert_ne!(thread % 2, applied[0] % 2);
                    assert_eq!((error.index(), error.kind()), (Some(0), ErrorKind::KeyReused));
                }
            }
        }
    }
    assert_eq!(check_whole(&store), 100 * 14);
}
