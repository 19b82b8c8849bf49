//! Acknowledged, and then the process or the power is gone in the same instant: C12.

use pointstore::testing::{SimDisk, Unsynced};
use pointstore::{Operation, PointStore};

use super::{applied, balance, grant, held, id, key, redeem, replayed};

/// What ends the store: a kill, or a power cut with what it leaves of what was not synced.
fn end(disk: &SimDisk, how: Option<Unsynced>) {
    match how {
        None => disk.kill(),
        Some(unsynced) => disk.cut_power(unsynced),
    }
}

// C12
#[test]
fn what_is_acknowledged_is_there_after_a_kill_or_a_power_cut_in_the_same_instant() {
    for how in [None, Some(Unsynced::Kept), Some(Unsynced::Dropped), Some(Unsynced::Torn)] {
        let disk = SimDisk::new(11);
        let open = || PointStore::builder().small_limits().open_simulated(&disk).unwrap();
        let mut expected = held(&open());
        for round in 0..20 {
            let store = open();
            held(&store).must_equal(&expected, "after the end of the last life");
            let k = format!("k{round}");
            let receipt = match round % 3 {
                0 => applied(store.apply(&grant("a", &k, 10))).into_receipt(),
                1 => applied(store.apply(&redeem("a", &k, 1))).into_receipt(),
                _ => {
                    let list = [redeem("a", &k, 1), grant("b", &k, 1)];
                    store.apply_atomic(&list).unwrap().remove(0).into_receipt()
                }
            };
            expected = held(&store);
            end(&disk, how);
            drop(store);

            let store = open();
            assert_eq!(
                store.receipt(&id("a"), receipt.operation(), &key(&k)).unwrap(),
                Some(receipt.clone())
            );
            assert_eq!(store.balance(&id("a")), receipt.balance_after());
            assert!(!store.opened().was_clean());
            // A kill leaves the watermark as it was written: everything acknowledged lies before it.
            assert!(how.is_some() || store.opened().unconfirmed() == 0);
            end(&disk, how);
        }
    }
}

// C12
#[test]
fn each_group_of_a_long_list_is_durable_before_any_answer() {
    for how in [None, Some(Unsynced::Dropped), Some(Unsynced::Torn)] {
        let disk = SimDisk::new(12);
        let open = || PointStore::builder().small_limits().open_simulated(&disk).unwrap();
        let commands: Vec<_> = (1..200).map(|n| grant("a", &format!("k{n}"), n)).collect();
        let store = open();
        for answer in store.apply_each(&commands) {
            applied(answer);
        }
        assert!(store.stats().groups > 3);
        end(&disk, how);
        drop(store);
        let store = open();
        assert_eq!(balance(&store, "a"), (1..200).sum::<i64>());
        for answer in store.apply_each(&commands) {
            replayed(answer);
        }
        assert_eq!(store.statement(&id("a")).count(), commands.len());
        assert_eq!(store.receipt(&id("a"), Operation::Redeem, &key("k1")).unwrap(), None);
    }
}
