//! A queued request, where its caller waits, and how callers who wait together are woken together.

use std::sync::Arc;
use std::time::Duration;

use crate::commit::request::{Shape, Work};
use crate::error::StorageError;
use crate::sync::{Gate, Mutex, MutexGuard};

/// A queued request and its caller's place to wait.
#[derive(Debug)]
pub(in crate::commit) struct Ticket {
    work: Mutex<Work>,
    /// The request with an answer missing everywhere, for a caller who cannot wait for the leader any longer.
    shape: Shape,
    phase: Mutex<Phase>,
    pub(super) gate: Arc<Gate>,
    entered: u64,
}

/// What a waiting caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commit) enum Phase {
    /// Wait.
    Waiting,
    /// Lead a group.
    Lead,
    /// Take the answer.
    Done,
}

impl Ticket {
    pub(super) fn new(work: Work, gate: Arc<Gate>, entered: u64) -> Self {
        Self { shape: work.shape(), work: Mutex::new(work), phase: Mutex::new(Phase::Waiting), gate, entered }
    }

    /// How many commands the request had when it was queued; a list counts as one.
    pub(in crate::commit) fn commands(&self) -> usize {
        self.shape.commands()
    }

    /// The request itself; only whoever leads, or gives up on it, touches it.
    pub(in crate::commit) fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock()
    }

    /// Says what its caller does next, who is still to be [woken](wake). Who has an answer leads no more: a leader may
    /// choose the next one just before the queue is poisoned, and tell it just after.
    pub(in crate::commit) fn tell(&self, next: Phase) {
        let mut phase = self.phase.lock();
        if *phase != Phase::Done {
            *phase = next;
        }
    }

    /// What its caller was told, once.
    pub(super) fn told(&self) -> Option<Phase> {
        match std::mem::replace(&mut *self.phase.lock(), Phase::Waiting) {
            Phase::Waiting => None,
            told => Some(told),
        }
    }

    /// Waits until its caller is told something, for `limit` at most.
    pub(super) fn wait(&self, limit: Duration) -> Option<Phase> {
        self.gate.wait_for(limit, || self.told())
    }

    /// Groups that were finished when it was queued.
    pub(super) fn entered(&self) -> u64 {
        self.entered
    }

    /// Takes the answered request out.
    pub(in crate::commit) fn take(&self) -> Work {
        std::mem::replace(&mut *self.work.lock(), Shape::NOTHING.answered(&StorageError::Closed))
    }

    /// The request as if every answer in it were `error`, without touching what the leader may hold.
    pub(in crate::commit) fn answered(&self, error: &StorageError) -> Work {
        self.shape.answered(error)
    }
}

/// Wakes those who were told something, and who else waits with them. These wait on, in vain hardly ever: a request that
/// needs several groups may lead from among others.
pub(in crate::commit) fn wake<'a>(told: impl IntoIterator<Item = &'a Ticket>) {
    let mut last: Option<&Arc<Gate>> = None;
    for Ticket { gate, .. } in told {
        // Those of a gate stand side by side.
        if !last.is_some_and(|last| Arc::ptr_eq(last, gate)) {
            gate.wake_all();
        }
        last = Some(gate);
    }
}
