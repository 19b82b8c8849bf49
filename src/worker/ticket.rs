//! An accepted command, whose answer is still to come.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::block::block_on;
use super::error::{Doubt, WorkerError};
use super::job::Answers;
use crate::Outcome;

/// An accepted command: a future of its answer, on any runtime.
///
/// Dropping it takes nothing back: the command is applied all the same, and a retry with its key is told so.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::worker::Worker;
/// use pointstore::{Command, PointStore, Points};
///
/// let worker = Worker::builder(PointStore::temporary()?).spawn()?;
/// let order = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
/// let gift = Command::redeem("alice".parse()?, "gift-1".parse()?, Points::new(2)?);
/// // Accepted in this order, and so applied in it.
/// let (first, second) = (worker.try_apply(order)?, worker.try_apply(gift)?);
/// assert_eq!(second.wait()?.receipt().balance_after().get(), 3);
/// assert_eq!(first.wait()?.receipt().balance_after().get(), 5);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "the answer says whether the command stands"]
pub struct Ticket {
    answers: Answers,
}

impl Ticket {
    pub(super) fn new(answers: Answers) -> Self {
        Self { answers }
    }

    /// Waits for the answer on this thread, which must not be one that drives async tasks.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Apply`] with what the store answered; [`WorkerError::OutcomeUnknown`] or
    /// [`WorkerError::Expired`] where the worker was stopped first, or could not say.
    pub fn wait(self) -> Result<Outcome, WorkerError> {
        block_on(self)
    }

    /// The answer if it is there; from here on none will come.
    pub(super) fn answered(&mut self) -> Option<Result<Outcome, WorkerError>> {
        self.answers.close();
        self.answers.try_recv().ok().flatten()
    }
}

impl Future for Ticket {
    type Output = Result<Outcome, WorkerError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answers).poll(context).map(|answered| {
            // Not answered at all: whoever was to do it is gone.
            answered.unwrap_or(Err(WorkerError::OutcomeUnknown(Doubt::Lost)))
        })
    }
}
