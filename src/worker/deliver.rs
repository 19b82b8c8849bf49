//! The worker's thread: takes what has queued, gives it to the store in one call, and answers (I1, I6, I10).
//!
//! Nothing that happens in a delivery ends it: a refusal, an error and a panic are the answer of that delivery.

use std::convert::Infallible;
use std::sync::Arc;

use async_channel::Sender;

use super::error::{Doubt, WorkerError};
use super::job::Reply;
use super::shared::Shared;
use crate::contain::contain;
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

type StoreAnswer = Result<Outcome, ApplyError>;

/// What the store has answered, and the way back to its caller.
struct Answered {
    command: Command,
    answer: StoreAnswer,
    reply: Reply,
}

impl Answered {
    fn is_closed(&self) -> bool {
        self.answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Closed)
    }
}

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
        let Some(answers) = self.deliver(&commands) else { return };
        let failure = answers.iter().filter_map(|answer| answer.as_ref().err()).find(|e| e.needs_reopen());
        let failure = failure.filter(|_| self.on_poisoned.is_some()).cloned();
        let answered = self.landed(commands, answers);
        let Some(failure) = failure else {
            self.answer(answered);
            return;
        };
        // What was answered *closed* came after the failure, was not attempted, and waits for the store.
        let (waiting, told): (Vec<_>, Vec<_>) = answered.into_iter().partition(Answered::is_closed);
        let waiting = self.keep(waiting);
        self.answer(told);
        let reopened = self.reopen(&failure);
        let Some((commands, errors)) = waiting else { return };
        let answers = if reopened { self.deliver(&commands) } else { Some(errors) };
        if let Some(answers) = answers {
            self.answer(self.landed(commands, answers));
        }
    }

    /// Gives a batch to the store. Nothing comes back where something panicked; then its callers are answered.
    fn deliver(&self, commands: &[Command]) -> Option<Vec<StoreAnswer>> {
        self.shared.counters.batches.add(1);
        self.shared.counters.largest_batch.at_least(commands.len());
        let store = self.shared.store.lock().clone();
        let delivered = contain(|| store.apply_each(commands));
        if delivered.is_err() {
            self.shared.doubt(self.shared.landed(), Doubt::Panicked);
        }
        delivered.ok()
    }

    /// Puts together what belongs together, in order. Nothing is left where a shutdown did not wait for it.
    fn landed(&self, commands: Vec<Command>, answers: Vec<StoreAnswer>) -> Vec<Answered> {
        let replies = self.shared.landed();
        let together = commands.into_iter().zip(answers).zip(replies);
        together.map(|((command, answer), reply)| Answered { command, answer, reply }).collect()
    }

    /// Keeps what is to be delivered once more: the commands, and their answers for the case that it cannot be.
    fn keep(&self, waiting: Vec<Answered>) -> Option<(Vec<Command>, Vec<StoreAnswer>)> {
        let (mut commands, mut errors, mut replies) = (Vec::new(), Vec::new(), Vec::new());
        for Answered { command, answer, reply } in waiting {
            commands.push(command);
            errors.push(answer);
            replies.push(reply);
        }
        (!commands.is_empty() && self.shared.take_off_again(replies)).then_some((commands, errors))
    }

    /// Hands out answers in order.
    fn answer(&self, answered: Vec<Answered>) {
        // A test's own code.
        let lost = contain(|| self.lost(&answered));
        let Ok(lost) = lost else {
            let replies = answered.into_iter().map(|answered| answered.reply).collect();
            self.shared.doubt(replies, Doubt::Panicked);
            return;
        };
        for (Answered { answer, reply, .. }, lost) in answered.into_iter().zip(lost) {
            if lost {
                self.lose(reply);
            } else {
                self.shared.counters.answered.add(1);
                reply.send(answer.map_err(|error| WorkerError::of_store(error, self.on_poisoned.is_some())));
            }
        }
    }

    /// Which of these answers get lost. Asked only of those that would be told.
    fn lost(&self, answered: &[Answered]) -> Vec<bool> {
        let loses =
            |answered: &Answered| self.acks.as_ref().is_some_and(|acks| acks.loses(&answered.command));
        answered.iter().map(loses).collect()
    }

    fn lose(&self, reply: Reply) {
        if self.acks.as_ref().is_some_and(|acks| acks.is_silent()) {
            self.shared.leave_unheard(reply);
        } else {
            self.shared.doubt(vec![reply], Doubt::Lost);
        }
    }

    /// Has the program open the store again.
    fn reopen(&mut self, failure: &ApplyError) -> bool {
        let Some(on_poisoned) = &mut self.on_poisoned else { return false };
        let failed = self.shared.store.lock().clone();
        let opened = contain(|| on_poisoned(&failed, failure));
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
