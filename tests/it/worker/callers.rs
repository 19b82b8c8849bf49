//! Many callers at once, on two runtimes and on threads; callers that go away (I1, I3, C14).

use std::sync::Arc;

use pointstore::testing::SimDisk;
use pointstore::worker::Worker;
use pointstore::{Command, PointStore};
use tokio::runtime::Builder;

use super::{Answer, account, applied, begun, gated, grant, held, in_time, key, points, replayed};
use crate::concurrency::together;

const CALLERS: usize = 300;

fn tokio() -> tokio::runtime::Runtime {
    Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

/// What one caller does: some grants of its own, each asked for twice.
async fn call(worker: Worker, caller: usize) {
    for i in 0..10 {
        let command =
            Command::grant(account(format!("a{}", caller % 7)), key(format!("{caller}-{i}")), points(3));
        let first = applied(worker.apply(command.clone()).await);
        assert_eq!(replayed(worker.apply(command).await).receipt(), first.receipt(), "I4");
    }
}

fn check(worker: &Worker, callers: usize) {
    worker.shutdown_blocking();
    let (store, stats) = (worker.store(), worker.stats());
    assert_eq!(store.verify().unwrap().entries(), 10 * callers as u64, "I1");
    assert_eq!(store.stats().points_granted, 30 * callers as u128, "I3");
    assert_eq!((stats.accepted, stats.answered), (20 * callers as u64, 20 * callers as u64));
    assert_eq!((stats.queued, stats.delivering, stats.busy, stats.in_doubt), (0, 0, 0, 0));
}

#[test]
fn hundreds_of_callers_on_tokio_have_each_effect_once() {
    let store = PointStore::temporary().unwrap();
    let worker = Worker::builder(store).capacity(64).spawn().unwrap();
    in_time(|| {
        let runtime = tokio();
        let callers: Vec<_> = (0..CALLERS).map(|i| runtime.spawn(call(worker.clone(), i))).collect();
        for caller in callers {
            runtime.block_on(caller).unwrap();
        }
    });
    check(&worker, CALLERS);
}

#[test]
fn hundreds_of_callers_on_smol_have_each_effect_once() {
    let store = PointStore::builder().open_simulated(&SimDisk::new(1)).unwrap();
    let worker = Worker::builder(store).capacity(16).spawn().unwrap();
    in_time(|| {
        let callers: Vec<_> = (0..CALLERS).map(|i| smol::spawn(call(worker.clone(), i))).collect();
        callers.into_iter().for_each(smol::block_on);
    });
    check(&worker, CALLERS);
}

// C14
#[test]
fn c14_one_key_from_hundreds_of_callers_of_every_kind_has_one_effect() {
    let worker = Worker::builder(PointStore::temporary().unwrap()).capacity(32).spawn().unwrap();
    let answers: Vec<Answer> = in_time(|| {
        let runtime = tokio();
        let ask = |worker: Worker| async move { worker.apply(grant("one")).await };
        let on_tokio: Vec<_> = (0..CALLERS).map(|_| runtime.spawn(ask(worker.clone()))).collect();
        let on_smol: Vec<_> = (0..CALLERS).map(|_| smol::spawn(ask(worker.clone()))).collect();
        let mut answers = together(16, |_| worker.apply_blocking(grant("one")));
        answers.extend(on_tokio.into_iter().map(|task| runtime.block_on(task).unwrap()));
        answers.extend(on_smol.into_iter().map(smol::block_on));
        answers
    });
    assert_eq!(answers.len(), 2 * CALLERS + 16);
    let outcomes: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(outcomes.iter().filter(|outcome| !outcome.is_replay()).count(), 1, "I1");
    assert!(outcomes.iter().all(|outcome| outcome.receipt() == outcomes[0].receipt()), "I4");
    assert_eq!(worker.store().balance(&account("ada")).get(), 1);
}

#[test]
fn a_caller_that_goes_away_leaves_the_effect_of_what_was_accepted() {
    let (_disk, gate, store) = gated(2);
    let worker = Worker::builder(store.clone()).capacity(2).spawn().unwrap();
    let held = held(&gate, &worker);
    // One with the store, two accepted, one that waits for room: all of them go away.
    let (first, second) = (begun(&worker, "first"), begun(&worker, "second"));
    let waiting = begun(&worker, "waiting");
    assert_eq!(worker.stats().queued, 2);
    drop((held, waiting, first, second));
    gate.open();
    in_time(|| worker.shutdown_blocking());
    for accepted in ["held", "first", "second"] {
        assert!(store.apply(&grant(accepted)).unwrap().is_replay(), "{accepted}");
    }
    assert!(!store.apply(&grant("waiting")).unwrap().is_replay(), "it was never accepted");
    assert_eq!((worker.stats().accepted, worker.stats().answered), (3, 3));
}

#[test]
fn the_place_of_a_caller_that_went_away_goes_to_another() {
    let (_disk, gate, store) = gated(3);
    let worker = Worker::builder(store).capacity(1).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued = worker.try_apply(grant("queued")).unwrap();
    let (gone, stays) = (begun(&worker, "gone"), begun(&worker, "stays"));
    drop(gone);
    gate.open();
    in_time(|| {
        applied(held.wait());
        applied(queued.wait());
        applied(smol::block_on(stays));
    });
}

#[test]
fn a_handle_goes_to_any_thread_and_its_futures_too() {
    fn anywhere<T: Send + Sync + Clone + 'static>(_: &T) {}
    fn sent<T: Send>(value: T) -> T {
        value
    }
    let worker = Worker::builder(PointStore::temporary().unwrap()).spawn().unwrap();
    anywhere(&worker);
    let shared = Arc::new(worker);
    let limit = std::time::Duration::from_secs(60);
    in_time(|| {
        applied(smol::block_on(sent(shared.apply(grant("k")))));
        replayed(smol::block_on(sent(shared.apply_within(grant("k"), limit))));
        let ticket = smol::block_on(sent(shared.submit(grant("k")))).unwrap();
        replayed(smol::block_on(sent(ticket)));
        assert!(smol::block_on(sent(shared.shutdown_within(limit))).is_complete());
    });
}
