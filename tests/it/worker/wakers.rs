//! Wakers that drop the very task that they were to wake, as those of an executor do that has ended (C11).

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Wake, Waker};

use pointstore::worker::Worker;

use super::{applied, begun, gated, grant, held, in_time, poll_once};

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task whose executor has ended while it waited: whoever wakes it drops it.
struct Orphan(Mutex<Option<Task>>);

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        let task = self.0.lock().unwrap().take();
        drop(task);
    }
}

/// Polls a task once, and leaves it to its waker alone.
fn orphan(task: impl Future<Output = ()> + Send + 'static) -> Weak<Orphan> {
    let orphan = Arc::new(Orphan(Mutex::new(None)));
    let mut task: Task = Box::pin(task);
    let waker = Waker::from(Arc::clone(&orphan));
    assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    *orphan.0.lock().unwrap() = Some(task);
    Arc::downgrade(&orphan)
}

/// A task that waits for room, with a handle of its own.
fn applies(worker: &Worker, k: &'static str) -> Weak<Orphan> {
    let worker = worker.clone();
    orphan(async move {
        let _ = worker.apply(grant(k)).await;
    })
}

/// Waits until a task was woken, and so dropped.
fn wait_until_gone(task: &Weak<Orphan>) {
    while task.strong_count() > 0 {
        std::thread::yield_now();
    }
}

// The channel ran the waker under the lock that the task's drop needs: the worker's thread waited for itself.
#[test]
fn c11_a_waker_that_drops_who_waits_for_room_holds_up_nobody() {
    let (_disk, gate, store) = gated(120);
    let worker = Worker::builder(store.clone()).capacity(1).batch_at_most(1).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued = worker.try_apply(grant("queued")).unwrap();
    let gone = [applies(&worker, "gone"), applies(&worker, "gone too")];
    let stays = begun(&worker, "stays");
    in_time(|| {
        gate.open();
        applied(held.wait());
        applied(queued.wait());
        // Each that goes away hands its place on.
        gone.iter().for_each(wait_until_gone);
        applied(smol::block_on(stays));
        applied(worker.apply_blocking(grant("next")));
        worker.shutdown_blocking();
    });
    assert_eq!((worker.stats().accepted, worker.stats().answered), (4, 4));
    assert!(!store.apply(&grant("gone")).unwrap().is_replay(), "it was never accepted");
}

#[test]
fn c11_wakers_that_drop_who_waits_for_the_end_keep_no_shutdown_from_it() {
    let (_disk, gate, store) = gated(121);
    let worker = Worker::builder(store).capacity(1).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued = worker.try_apply(grant("queued")).unwrap();
    let waits = applies(&worker, "waits for room");
    in_time(|| {
        let own = worker.clone();
        // This one closes the queue, and so wakes the one who waits for room.
        let ends = orphan(async move { own.shutdown().await });
        wait_until_gone(&waits);
        let mut other = Box::pin(worker.shutdown());
        assert!(poll_once(&mut other).is_pending());
        gate.open();
        smol::block_on(other);
        wait_until_gone(&ends);
        applied(held.wait());
        applied(queued.wait());
    });
}

#[test]
fn c11_the_last_handle_may_go_with_a_task_that_is_dropped_when_it_is_woken() {
    let (_disk, gate, store) = gated(122);
    let worker = Worker::builder(store.clone()).capacity(1).spawn().unwrap();
    let held = held(&gate, &worker);
    let queued = worker.try_apply(grant("queued")).unwrap();
    let last = applies(&worker, "last");
    drop(worker);
    in_time(|| {
        gate.open();
        applied(held.wait());
        applied(queued.wait());
        wait_until_gone(&last);
    });
    assert!(!store.apply(&grant("last")).unwrap().is_replay(), "it was never accepted");
}
