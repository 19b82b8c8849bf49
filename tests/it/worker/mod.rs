//! The worker through its public interface: many callers, a bounded queue, limits, shutdowns, failures, lost answers.
//!
//! A gate holds the store where a test wants it; nothing waits for a time to go by, except where a limit is to be over.

mod callers;
mod limits;
mod lost;
mod memory;
mod observed;
mod poisoned;
mod queue;
mod retries;
mod stopping;
mod wakers;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pointstore::testing::SimDisk;
use pointstore::worker::{Worker, WorkerError};
use pointstore::{Clock, Command, Outcome, PointStore, Timestamp};

use crate::concurrency::{account, key, points, watched};

type Answer = Result<Outcome, WorkerError>;

/// A clock that holds whoever writes, while it is shut: a disk that is as slow as a test wants it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<(Mutex<Held>, Condvar)>);

#[derive(Debug, Default)]
struct Held {
    shut: bool,
    waiting: usize,
}

impl Gate {
    pub(crate) fn shut(&self) {
        self.0.0.lock().unwrap().shut = true;
    }

    pub(crate) fn open(&self) {
        self.0.0.lock().unwrap().shut = false;
        self.0.1.notify_all();
    }

    /// Waits until somebody is held.
    fn wait_until_held(&self) {
        let held = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(held, |held| held.waiting == 0).unwrap());
    }
}

impl Clock for Gate {
    fn wall(&self) -> Timestamp {
        let mut held = self.0.0.lock().unwrap();
        held.waiting += 1;
        self.0.1.notify_all();
        held = self.0.1.wait_while(held, |held| held.shut).unwrap();
        held.waiting -= 1;
        Timestamp::from_unix_millis(1)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// A store on a simulated disk behind a gate.
pub(crate) fn gated(seed: u64) -> (SimDisk, Gate, PointStore) {
    let (disk, gate) = (SimDisk::new(seed), Gate::default());
    let store = PointStore::builder().clock(gate.clone()).open_simulated(&disk).unwrap();
    (disk, gate, store)
}

/// One point for an account that all tests use.
pub(crate) fn grant(k: impl AsRef<str>) -> Command {
    Command::grant(account("ada"), key(k), points(1))
}

/// Shuts the gate, and has the worker's thread wait at it with one command.
pub(crate) fn held(gate: &Gate, worker: &Worker) -> pointstore::worker::Ticket {
    gate.shut();
    let ticket = worker.try_apply(grant("held")).unwrap();
    gate.wait_until_held();
    ticket
}

/// An apply that has been polled once, and was not done.
fn begun(worker: &Worker, k: impl AsRef<str>) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
    let mut apply: Pin<Box<dyn Future<Output = Answer> + Send + '_>> = Box::pin(worker.apply(grant(k)));
    assert!(poll_once(&mut apply).is_pending());
    apply
}

fn poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Poll<T> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Ends the test program where somebody waits for ever.
pub(crate) fn in_time<T>(act: impl FnOnce() -> T) -> T {
    watched("a worker", act)
}

#[track_caller]
fn applied(answer: Answer) -> Outcome {
    let outcome = answer.unwrap();
    assert!(!outcome.is_replay(), "not attempted before: {outcome:?}");
    outcome
}

#[track_caller]
fn replayed(answer: Answer) -> Outcome {
    let outcome = answer.unwrap();
    assert!(outcome.is_replay(), "attempted before: {outcome:?}");
    outcome
}
