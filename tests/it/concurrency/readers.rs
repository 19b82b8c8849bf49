//! Readers beside writers: what they see adds up, and was never taken back (I3, I8).

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use pointstore::testing::{Failure, SimDisk, Step, Unsynced};
use pointstore::{Command, Operation, Outcome, PointStore, Receipt};

use super::{account, check_whole, key, patient, points, signed, simulated, together, watched};

const MOVED: i64 = 10;
const MOVES: i64 = 600;

fn transfer(key_text: &str) -> [Command; 2] {
    [
        Command::redeem(account("from"), key(key_text), points(MOVED)),
        Command::grant(account("to"), key(key_text), points(MOVED)),
    ]
}

/// A statement goes back to the account's first receipt, one by one, and adds up.
fn check_statement(store: &PointStore, name: &str) -> u64 {
    let mut later: Option<Receipt> = None;
    let mut len = 0;
    for receipt in store.statement(&account(name)) {
        let receipt = receipt.unwrap();
        if let Some(later) = &later {
            assert_eq!(later.sequence(), receipt.sequence() + 1, "I3: no gap");
            assert_eq!(later.balance_after().get() - signed(later), receipt.balance_after().get(), "I3");
            assert!(later.number() > receipt.number() && later.recorded_at() >= receipt.recorded_at());
        }
        later = Some(receipt);
        len += 1;
    }
    assert_eq!(later.map_or(1, |first| first.sequence()), 1, "it goes back to the first");
    len
}

/// Looks at two accounts between which points only move from one to the other.
fn look(store: &PointStore, total: i64) {
    let balance = |name| store.balance(&account(name)).get();
    // What left the first account by the time it is read has arrived when the other is read …
    let (from, to) = (balance("from"), balance("to"));
    assert!(from + to >= total, "I8: from={from} to={to}");
    // … and what had arrived before has left by then.
    let (to, from) = (balance("to"), balance("from"));
    assert!(from + to <= total, "I8: from={from} to={to}");
    assert_eq!((from % MOVED, to % MOVED), (0, 0), "never half of a list");
    let seen = store.account(&account("to")).map_or(0, |account| account.sequence());
    assert!(check_statement(store, "to") >= seen, "what an account shows, its statement has");
    assert!(store.journal(0).map(Result::unwrap).zip(1..).all(|(receipt, n)| receipt.number() == n));
}

fn read_beside_writers(store: &PointStore, moves: i64) {
    let total = moves * MOVED;
    store.grant(&account("from"), &key("start"), points(total)).unwrap();
    let writing = AtomicBool::new(true);
    let looks = thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut looks = 0;
                    while writing.load(Ordering::SeqCst) || looks == 0 {
                        look(store, total);
                        looks += 1;
                    }
                    looks
                })
            })
            .collect();
        together(6, |writer| {
            for i in 0..moves / 6 {
                store.apply_atomic(&transfer(&format!("w{writer}-{i}"))).unwrap();
            }
        });
        writing.store(false, Ordering::SeqCst);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum::<u64>()
    });
    assert!(looks >= 3);
    assert_eq!(store.balance(&account("to")).get(), total);
    assert_eq!(check_whole(store), i128::from(total));
}

#[test]
fn i8_readers_beside_transfers_see_only_what_adds_up() {
    let (_disk, store) = simulated(8);
    watched("readers", || read_beside_writers(&store, MOVES));
}

#[test]
fn i8_readers_beside_transfers_see_only_what_adds_up_on_sled() {
    let store = PointStore::temporary().unwrap();
    watched("readers on sled", || read_beside_writers(&store, 120));
}

#[test]
fn the_store_may_be_called_inside_its_own_loops() {
    let (_disk, store) = simulated(9);
    for name in ["a", "b", "c"] {
        store.grant(&account(name), &key("start"), points(5)).unwrap();
    }
    watched("loops", || {
        let add = |account_name: &str, key_text: String| {
            store.grant(&account(account_name), &key(key_text), points(1)).unwrap()
        };
        let writes = |n: usize| {
            add("a", format!("in-loop-{n}"));
            store.verify().unwrap();
        };
        for (n, receipt) in store.statement(&account("a")).enumerate() {
            writes(n + receipt.unwrap().sequence() as usize);
        }
        for (n, receipt) in store.journal(1).enumerate() {
            writes(100 + n);
            let receipt = receipt.unwrap();
            let again = store.receipt(receipt.account(), receipt.operation(), receipt.key()).unwrap();
            assert_eq!(again, Some(receipt));
        }
        let mut seen = 0;
        for (n, found) in store.accounts().enumerate() {
            add(&format!("new-{n}"), "start".into());
            assert!(store.statement(found.id()).count() > 0);
            seen += 1;
        }
        assert_eq!(seen, 3, "accounts that came later are not in it");
    });
    // One in the statement, four in the journal; loops end where they began to.
    assert_eq!(store.account(&account("a")).unwrap().sequence(), 1 + 1 + 4);
}

/// What a store with a failed group still shows: exactly what is on the disk for good.
fn shows_only_what_is_durable(disk: &SimDisk, store: &PointStore) {
    // The tenth byte of a page is the number of its entries, where they are few.
    let end = disk.durable_pages().last_key_value().map_or(1, |(first, page)| first + u64::from(page[9]));
    assert_eq!(store.position().entries(), end - 1, "I8");
    for found in store.accounts() {
        assert!(found.last() < end, "I8: {found:?}");
    }
    assert_eq!(store.journal(0).map(Result::unwrap).count() as u64, end - 1);
}

#[test]
fn i8_c17_no_reader_and_no_answer_rests_on_a_group_whose_sync_failed() {
    for failure in [Failure::Before, Failure::Pretend, Failure::Panic] {
        let (disk, store) = simulated(17);
        let (alice, one, two) = (account("alice"), key("one"), key("two"));
        let first = store.grant(&alice, &one, points(100)).unwrap();
        disk.fail(Step::Sync, failure);
        // In one group: a new key twice with two amounts, a replay, a refusal that rests on the new balance.
        let answers = store.apply_each(&[
            Command::grant(alice.clone(), two.clone(), points(100)),
            Command::grant(alice.clone(), two.clone(), points(200)),
            Command::grant(alice.clone(), two.clone(), points(100)),
            Command::redeem(alice.clone(), one.clone(), points(201)),
        ]);
        for answer in answers {
            let error = answer.unwrap_err();
            assert_eq!(error.kind(), pointstore::ErrorKind::OutcomeUnknown, "{failure:?}: {error}");
        }
        shows_only_what_is_durable(&disk, &store);
        assert_eq!(store.receipt(&alice, Operation::Grant, &two).unwrap(), None);
        assert_eq!(store.balance(&alice).get(), 100);
        // Known keys still replay, unknown ones are told that it is over.
        assert_eq!(
            store.grant(&alice, &one, points(100)).unwrap(),
            Outcome::Replayed(first.into_receipt()),
            "I4"
        );
        let error = store.grant(&alice, &two, points(100)).unwrap_err();
        assert_eq!(error.kind(), pointstore::ErrorKind::Closed);

        // The power takes what was not synced, and either retry is consistent.
        disk.cut_power(Unsynced::Dropped);
        let store = patient().open_simulated(&disk).unwrap();
        assert_eq!(store.balance(&alice).get(), 100);
        assert!(!store.grant(&alice, &two, points(200)).unwrap().is_replay());
        let error = store.grant(&alice, &two, points(100)).unwrap_err();
        assert_eq!(error.kind(), pointstore::ErrorKind::KeyReused);
    }
}

#[test]
fn i8_nothing_that_a_reader_saw_beside_failing_writers_is_gone_after_the_power_cut() {
    for seed in 0..30_u64 {
        let (disk, store) = simulated(seed);
        store.grant(&account("hot"), &key("start"), points(1)).unwrap();
        let writing = AtomicBool::new(true);
        let (seen, acknowledged) = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut seen: Option<Receipt> = None;
                while writing.load(Ordering::SeqCst) || seen.is_none() {
                    seen = store.statement(&account("hot")).next().transpose().unwrap().max_by(seen);
                }
                seen
            });
            let acknowledged = watched("failing writers", || {
                together(8, |writer| {
                    let mut done = Vec::new();
                    for i in 0..200 {
                        if writer == 0 && i == 5 + 3 * seed {
                            disk.fail(Step::Sync, Failure::Before);
                        }
                        match store.grant(&account("hot"), &key(format!("w{writer}-{i}")), points(1)) {
                            Ok(outcome) => done.push(outcome.into_receipt()),
                            Err(_) => break,
                        }
                    }
                    done
                })
            });
            writing.store(false, Ordering::SeqCst);
            (reader.join().unwrap(), acknowledged.into_iter().flatten().collect::<Vec<_>>())
        });
        shows_only_what_is_durable(&disk, &store);
        disk.cut_power(Unsynced::Dropped);
        let store = patient().open_simulated(&disk).unwrap();
        for receipt in acknowledged.into_iter().chain(seen) {
            let kept = store.receipt(receipt.account(), receipt.operation(), receipt.key()).unwrap();
            assert_eq!(kept, Some(receipt), "I7, I8: seed={seed}");
        }
    }
}

/// The later of two receipts.
trait Later {
    fn max_by(self, other: Self) -> Self;
}

impl Later for Option<Receipt> {
    fn max_by(self, other: Self) -> Self {
        match (self, other) {
            (Some(a), Some(b)) => Some(if a.number() >= b.number() { a } else { b }),
            (a, b) => a.or(b),
        }
    }
}
