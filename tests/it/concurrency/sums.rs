//! Many accounts and a hot one, singles, batches and atomic lists at once: everything adds up (I1, I3, C07).

use std::collections::HashMap;

use pointstore::{ApplyError, Command, Outcome, PointStore, Receipt, Refusal};

use super::{Random, account, check_whole, key, patient, points, signed, simulated, together, watched};

const THREADS: usize = 16;

/// What one thread was told that it did, by name of the account.
type Tally = HashMap<String, i64>;

fn note(tally: &mut Tally, receipt: &Receipt) {
    *tally.entry(receipt.account().name().to_owned()).or_default() += signed(receipt);
}

/// Sends commands of all kinds, some of them twice, and tallies what had an effect.
fn work(store: &PointStore, thread: usize, steps: u64) -> Tally {
    let mut random = Random(thread as u64);
    let mut tally = Tally::new();
    for step in 0..steps {
        let name = match random.below(3) {
            0 => "hot".to_owned(),
            _ => format!("a{}", random.below(40)),
        };
        let id = key(format!("t{thread}-{step}"));
        let amount = points(1 + random.below(50) as i64);
        match random.below(5) {
            0 => {
                let redeem = Command::redeem(account(&name), id, amount);
                match store.apply(&redeem) {
                    Ok(Outcome::Applied(receipt)) => note(&mut tally, &receipt),
                    Err(ApplyError::Refused(Refusal::InsufficientPoints { .. })) => {}
                    other => panic!("unexpected: {other:?}"),
                }
            }
            1 => {
                // One of them is refused, and takes nobody with it.
                let list = [
                    Command::grant(account(&name), id.clone(), amount),
                    Command::redeem(account(format!("empty-{thread}-{step}")), id.clone(), amount),
                    Command::grant(account("hot"), key(format!("b{thread}-{step}")), amount),
                ];
                let answers = store.apply_each(&list);
                assert!(answers[0].is_ok() && answers[1].is_err() && answers[2].is_ok());
                for outcome in answers.into_iter().flatten() {
                    note(&mut tally, outcome.receipt());
                }
            }
            2 => {
                // C07: as a whole or not at all, whatever its neighbours do.
                let list = [
                    Command::grant(account(&name), id.clone(), amount),
                    Command::redeem(account("hot"), id.clone(), points(400)),
                    Command::grant(account(format!("own{thread}")), id, amount),
                ];
                match store.apply_atomic(&list) {
                    Ok(outcomes) => outcomes.iter().for_each(|o| note(&mut tally, o.receipt())),
                    Err(error) => assert_eq!(error.index(), Some(1)),
                }
            }
            _ => {
                let grant = Command::grant(account(&name), id, amount);
                let first = store.apply(&grant).unwrap();
                assert!(!first.is_replay());
                note(&mut tally, first.receipt());
                assert_eq!(store.apply(&grant).unwrap(), Outcome::Replayed(first.into_receipt()));
            }
        }
    }
    tally
}

fn check_sums(store: &PointStore, tallies: Vec<Tally>) {
    let mut sums = Tally::new();
    for (name, sum) in tallies.into_iter().flatten() {
        *sums.entry(name).or_default() += sum;
    }
    let total = check_whole(store);
    assert_eq!(total, sums.values().map(|sum| i128::from(*sum)).sum());
    for (name, sum) in sums {
        assert_eq!(store.balance(&account(&name)).get(), sum, "{name}");
    }
}

#[test]
fn i3_many_accounts_and_a_hot_one_add_up() {
    let (_disk, store) = simulated(1);
    let tallies = watched("sums", || together(THREADS, |thread| work(&store, thread, 300)));
    check_sums(&store, tallies);
    assert!(store.stats().largest_group > 1, "threads shared groups");
}

#[test]
fn i3_the_same_adds_up_where_groups_are_full_after_a_few_entries() {
    let disk = pointstore::testing::SimDisk::new(2);
    let store = patient().small_limits().open_simulated(&disk).unwrap();
    let tallies = watched("small", || together(THREADS, |thread| work(&store, thread, 200)));
    check_sums(&store, tallies);
    let entries = store.position().entries();
    store.close().unwrap();
    let store = patient().small_limits().open_simulated(&disk).unwrap();
    assert_eq!(store.opened().entries(), entries);
    check_whole(&store);
}

#[test]
fn i3_the_same_adds_up_on_sled_and_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = patient().open(folder.path()).unwrap();
    let tallies = watched("sled", || together(THREADS, |thread| work(&store, thread, 40)));
    store.close().unwrap();
    let store = patient().open(folder.path()).unwrap();
    check_sums(&store, tallies);
}

#[test]
fn long_lists_of_many_threads_are_answered_in_order_over_many_groups() {
    let disk = pointstore::testing::SimDisk::new(3);
    let store = patient().small_limits().open_simulated(&disk).unwrap();
    let len = 120;
    let answers = watched("long lists", || {
        together(8, |thread| {
            let list: Vec<Command> = (0..len)
                .map(|i| Command::grant(account("hot"), key(format!("t{thread}-{i}")), points(i + 1)))
                .collect();
            store.apply_each(&list)
        })
    });
    for (thread, answers) in answers.into_iter().enumerate() {
        let receipts: Vec<Receipt> =
            answers.into_iter().map(|answer| answer.unwrap().into_receipt()).collect();
        assert_eq!(receipts.len(), len as usize);
        for (i, receipt) in receipts.iter().enumerate() {
            assert_eq!(receipt.key().as_str(), format!("t{thread}-{i}"));
            assert_eq!(receipt.points().get(), i as i64 + 1);
        }
        assert!(receipts.is_sorted_by_key(Receipt::number));
    }
    assert_eq!(check_whole(&store), 8 * i128::from(len * (len + 1) / 2));
    assert!(store.stats().groups > 8);
}

/// The accounts of one group used to be published in the order of a hash table, so that `accounts` gave them
/// in another order than the next opening did, and `verify` took that for damage. Their order is that of their
/// first receipts, in memory as in the journal.
#[test]
fn accounts_that_are_new_in_one_group_keep_the_order_of_their_first_receipts() {
    let (disk, store) = simulated(4);
    let list: Vec<Command> =
        (0..64).map(|i| Command::grant(account(format!("a{}", i * 7 % 64)), key("k"), points(1))).collect();
    assert!(store.apply_each(&list).iter().all(Result::is_ok));
    assert_eq!(store.stats().groups, 1);
    let order = |store: &PointStore| store.accounts().map(|a| a.id().clone()).collect::<Vec<_>>();
    let expected: Vec<_> = list.iter().map(|command| command.account().clone()).collect();
    assert_eq!(order(&store), expected);
    check_whole(&store);
    store.close().unwrap();
    assert_eq!(order(&patient().open_simulated(&disk).unwrap()), expected);
}
