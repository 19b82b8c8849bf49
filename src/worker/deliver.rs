//! The worker's thread: takes what has queued, gives it to the store in one call, and answers (I1, I6, I10).
//!
//! Nothing that happens in a delivery ends it: a refusal, an error and a panic are the answer of that delivery.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_channel::Sender;

use super::error::{Doubt, WorkerError};
use super::job::Reply;
use super::shared::Shared;
use crate::{ApplyError, Command, ErrorKind, OpenError, Outcome, PointStore};

/// What opens a store again that takes no more commands.
pub(super) type OnPoisoned = Box<dyn FnMut(&PointStore, &ApplyError) -> Result<PointStore, OpenError> + Send>;

/// Which answers get lost between the store and their callers.
pub(super) trait Acks: Send + Sync {
    /// Whether the answer to a command that the store has answered gets lost.
    fn loses(&self, command: &Command) -> bool;

    /// Whether its caller is not even told that.
    fn is_silent(&self) -> bool;
}

type Answered = Vec<Result<Outcome, ApplyError>>;

/// A worker's thread, before and while it runs.
pub(super) struct Delivery {
    pub(super) shared: Arc<Shared>,
    pub(super) batch_most: usize,
    pub(super) on_poisoned: Option<OnPoisoned>,
    pub(super) acks: Option<Arc<dyn Acks>>,
    /// Dropped last, which tells those who wait for the end.
    pub(super) _ended: Sender<Infallible>,
}

impl Drop for Delivery {
    fn drop(&mut self) {
        // However the thread ends, nobody is left waiting for it.
        self.shared.jobs.close();
        self.shared.stop();
    }
}

impl Delivery {
    /// Works until the queue is closed and empty.
    pub(super) fn run(mut self) {
        while let Ok(first) = self.shared.jobs.recv_blocking() {
            let commands = self.shared.gather(first, self.batch_most);
            if !commands.is_empty() {
                self.serve(commands);
            }
        }
    }

    /// Delivers a batch, opens the store again if it has failed, and then delivers once more what it did not look at.
    fn serve(&mut self, commands: Vec<Command>) {
        let Some((answers, lost)) = self.deliver(&commands) else { return };
        let failure = answers.iter().filter_map(|answer| answer.as_ref().err()).find(|e| e.needs_reopen());
        let Some(failure) = failure.filter(|_| self.on_poisoned.is_some()).cloned() else {
            self.answer(self.shared.landed(), answers, &lost);
            return;
        };
        let (waiting, errors) = self.answer_but_closed(commands, answers, &lost);
        let reopened = self.reopen(&failure);
        if waiting.is_empty() {
            return;
        }
        if !reopened {
            self.answer(self.shared.landed(), errors, &[]);
        } else if let Some((answers, lost)) = self.deliver(&waiting) {
            self.answer(self.shared.landed(), answers, &lost);
        }
    }

    /// Gives a batch to the store. Nothing comes back where something panicked; then its callers are answered.
    fn deliver(&self, commands: &[Command]) -> Option<(Answered, Vec<bool>)> {
        self.shared.counters.batches.add(1);
        self.shared.counters.largest_batch.at_least(commands.len());
        let store = self.shared.store.lock().clone();
        let delivered = catch_unwind(AssertUnwindSafe(|| {
            let answers = store.apply_each(commands);
            let lost = self.acks.iter().flat_map(|acks| commands.iter().map(|c| acks.loses(c))).collect();
            (answers, lost)
        }));
        if delivered.is_err() {
            self.shared.doubt(self.shared.landed(), Doubt::Panicked);
        }
        delivered.ok()
    }

    /// Hands out answers in order. There are no replies where a shutdown did not wait for them.
    fn answer(&self, replies: Vec<Reply>, answers: Answered, lost: &[bool]) {
        let mut lost = lost.iter().copied().chain(std::iter::repeat(false));
        for ((reply, answer), lost) in replies.into_iter().zip(answers).zip(&mut lost) {
            if lost {
                self.lose(reply);
            } else {
                self.shared.counters.answered.add(1);
                reply.send(answer.map_err(|error| WorkerError::of_store(error, self.on_poisoned.is_some())));
            }
        }
    }

    fn lose(&self, reply: Reply) {
        if self.acks.as_ref().is_some_and(|acks| acks.is_silent()) {
            self.shared.leave_unheard(reply);
        } else {
            self.shared.doubt(vec![reply], Doubt::Lost);
        }
    }

    /// Answers those whom the failure of the store concerns. The others came after it, were not attempted, and wait for
    /// the store to be opened again: their commands, and their answers for the case that it is not.
    fn answer_but_closed(
        &self,
        commands: Vec<Command>,
        answers: Answered,
        lost: &[bool],
    ) -> (Vec<Command>, Answered) {
        let (mut waiting, mut closed, mut waiting_replies) = (Vec::new(), Vec::new(), Vec::new());
        let (mut replies, mut told, mut told_lost) = (Vec::new(), Vec::new(), Vec::new());
        let lost = lost.iter().copied().chain(std::iter::repeat(false));
        for (((command, reply), answer), lost) in
            commands.into_iter().zip(self.shared.landed()).zip(answers).zip(lost)
        {
            if answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Closed) {
                waiting.push(command);
                waiting_replies.push(reply);
                closed.push(answer);
            } else {
                replies.push(reply);
                told.push(answer);
                told_lost.push(lost);
            }
        }
        let waits = self.shared.take_off_again(waiting_replies);
        self.answer(replies, told, &told_lost);
        if waits { (waiting, closed) } else { (Vec::new(), Vec::new()) }
    }

    /// Has the program open the store again.
    fn reopen(&mut self, failure: &ApplyError) -> bool {
        let Some(on_poisoned) = &mut self.on_poisoned else { return false };
        let failed = self.shared.store.lock().clone();
        let opened = catch_unwind(AssertUnwindSafe(|| on_poisoned(&failed, failure)));
        match opened {
            Ok(Ok(store)) => {
                let before = std::mem::replace(&mut *self.shared.store.lock(), store);
                // Perhaps the last clone, and then it takes a while.
                drop(before);
                self.shared.counters.reopened.add(1);
                self.shared.observers.reopened(true);
                true
            }
            Ok(Err(_)) | Err(_) => {
                self.shared.counters.reopen_failures.add(1);
                self.shared.observers.reopened(false);
                false
            }
        }
    }
}
