//! What a caller queues, and the answers it gets back.

use super::lookup::Places;
use crate::engine::Engine;
use crate::error::{ApplyError, AtomicError, ReadError, StorageError};
use crate::index::{Index, KeyHasher};
use crate::types::{Command, Entry, Outcome};

/// A command with what the caller's own thread can find out about it, so that the leader need not.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) command: Command,
    pub(super) account_hash: u64,
    pub(super) receipt_hash: u64,
    /// Where its account is among all; it stays there. `None` if it was not there yet, or not looked for.
    pub(super) account_place: Option<usize>,
}

impl Prepared {
    pub(super) fn new(command: &Command, hasher: &KeyHasher) -> Self {
        let account_hash = hasher.account(command.account());
        Self {
            account_hash,
            receipt_hash: hasher.receipt(account_hash, command.operation(), command.key().as_str()),
            account_place: None,
            command: command.clone(),
        }
    }

    /// Looks for its account.
    pub(super) fn find_account(&mut self, index: &Index) {
        let (tenant, name) = self.command.account().parts();
        self.account_place = index.accounts.place(self.account_hash, tenant, name);
    }

    /// Reads what is saved under its key, given where that may be.
    pub(super) fn read_saved(
        &self,
        engine: &dyn Engine,
        places: &Places,
    ) -> Result<Option<Entry>, ReadError> {
        let command = &self.command;
        places.read(engine, command.account(), command.operation(), command.key())
    }
}

/// A request: commands each on their own, or a list as a whole.
#[derive(Debug)]
pub(super) enum Work {
    Each(Each),
    Atomic(Atomic),
}

impl Work {
    /// What kind of request it is, and how long.
    pub(super) fn shape(&self) -> Shape {
        match self {
            Self::Each(each) => Shape::Each(each.commands.len()),
            Self::Atomic(_) => Shape::Atomic,
        }
    }

    /// Answers what has no answer yet.
    pub(super) fn give_up(&mut self, error: &StorageError) {
        match self {
            Self::Each(each) => each.give_up(error),
            Self::Atomic(atomic) => {
                atomic.answer.get_or_insert_with(|| Err(AtomicError::new(None, error.clone())));
            }
        }
    }

    /// How much has an answer, to take it back later.
    pub(super) fn progress(&self) -> usize {
        match self {
            Self::Each(each) => each.answers.len(),
            Self::Atomic(_) => 0,
        }
    }

    /// Puts an error in the place of every answer given since `progress`, because they rest on what failed.
    pub(super) fn take_back(&mut self, progress: usize, error: &StorageError) {
        match self {
            Self::Each(each) => {
                for answer in each.answers.iter_mut().skip(progress) {
                    *answer = Err(error.clone().into());
                }
            }
            Self::Atomic(atomic) => {
                if let Some(answer) = &mut atomic.answer {
                    *answer = Err(AtomicError::new(None, error.clone()));
                }
            }
        }
    }
}

/// What kind of request it is, and how many answers it gets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Each(usize),
    Atomic,
}

impl Shape {
    /// A request of nothing.
    pub(super) const NOTHING: Self = Self::Each(0);

    /// How many commands it has; a list counts as one.
    pub(super) fn commands(self) -> usize {
        match self {
            Self::Each(len) => len,
            Self::Atomic => 1,
        }
    }

    /// Such a request, with `error` for every answer.
    pub(super) fn answered(self, error: &StorageError) -> Work {
        match self {
            Self::Each(len) => {
                let answers = std::iter::repeat_with(|| Err(error.clone().into())).take(len).collect();
                Work::Each(Each { commands: Vec::new(), answers })
            }
            Self::Atomic => Work::Atomic(Atomic {
                commands: Vec::new(),
                answer: Some(Err(AtomicError::new(None, error.clone()))),
            }),
        }
    }
}

/// Commands in order, each with an answer of its own.
#[derive(Debug)]
pub(super) struct Each {
    commands: Vec<Prepared>,
    answers: Vec<Result<Outcome, ApplyError>>,
}

impl Each {
    pub(super) fn new(commands: Vec<Prepared>) -> Self {
        let answers = Vec::with_capacity(commands.len());
        Self { commands, answers }
    }

    /// The first command without an answer.
    pub(super) fn next(&self) -> Option<&Prepared> {
        self.commands.get(self.answers.len())
    }

    /// Answers it.
    pub(super) fn answer(&mut self, answer: Result<Outcome, ApplyError>) {
        self.answers.push(answer);
    }

    fn give_up(&mut self, error: &StorageError) {
        self.answers.resize_with(self.commands.len(), || Err(error.clone().into()));
    }

    pub(super) fn into_answers(self) -> Vec<Result<Outcome, ApplyError>> {
        self.answers
    }
}

/// A list that is applied as a whole or not at all.
#[derive(Debug)]
pub(super) struct Atomic {
    pub(super) commands: Vec<Prepared>,
    pub(super) answer: Option<Result<Vec<Outcome>, AtomicError>>,
}

impl Atomic {
    pub(super) fn new(commands: Vec<Prepared>) -> Self {
        Self { commands, answer: None }
    }

    pub(super) fn into_answer(self) -> Result<Vec<Outcome>, AtomicError> {
        self.answer
            .unwrap_or_else(|| Err(AtomicError::new(None, super::not_attempted("the list got no answer"))))
    }
}

#[cfg(test)]
mod tests;
