//! One command on its way through the worker, and its answer on the way back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use futures_channel::oneshot;

use super::error::WorkerError;
use super::timer::{Deadline, is_over};
use crate::contain::contain;
use crate::{Command, Outcome};

/// What a caller is told.
pub(super) type Answer = Result<Outcome, WorkerError>;

/// Where the answer comes out.
pub(super) type Answers = oneshot::Receiver<Answer>;

const QUEUED: u8 = 0;
const TAKEN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// Who has the last word on a command with a limit: the caller whose time is over, or the worker that takes it.
#[derive(Debug, Default)]
pub(super) struct Claim(AtomicU8);

impl Claim {
    /// The caller gives up. True if the store will never see the command.
    pub(super) fn withdraw(&self) -> bool {
        self.move_on(WITHDRAWN) != TAKEN
    }

    /// The worker takes it. True unless the caller has given up.
    fn take(&self) -> bool {
        self.move_on(TAKEN) != WITHDRAWN
    }

    /// Where it is now; only the first call moves it.
    fn move_on(&self, to: u8) -> u8 {
        self.0.compare_exchange(QUEUED, to, Ordering::AcqRel, Ordering::Acquire).map_or_else(|is| is, |_| to)
    }
}

/// What waits in the queue.
#[derive(Debug)]
pub(super) struct Job {
    command: Command,
    answer: Reply,
    /// When its wait began, where somebody wants to know.
    begun: Option<Duration>,
    limit: Option<(Deadline, Arc<Claim>)>,
}

impl Job {
    /// A command whose caller waits as long as it takes.
    pub(super) fn new(command: Command, begun: Option<Duration>) -> (Self, Answers) {
        let (answer, answers) = oneshot::channel();
        (Self { command, answer: Reply(answer), begun, limit: None }, answers)
    }

    /// A command that is given to the store until a deadline, or never.
    pub(super) fn until(
        command: Command,
        begun: Option<Duration>,
        deadline: Deadline,
    ) -> (Self, Answers, Arc<Claim>) {
        let claim = Arc::new(Claim::default());
        let (mut job, answers) = Self::new(command, begun);
        job.limit = Some((deadline, Arc::clone(&claim)));
        (job, answers, claim)
    }

    /// When its wait began, if that was noted.
    pub(super) fn begun(&self) -> Option<Duration> {
        self.begun
    }

    /// Takes it for the store; or gives the way back alone, where its time is over.
    pub(super) fn take(self) -> Result<(Command, Reply), Reply> {
        let in_time = self.limit.as_ref().is_none_or(|(deadline, claim)| !is_over(*deadline) && claim.take());
        if in_time { Ok((self.command, self.answer)) } else { Err(self.answer) }
    }

    /// The way back alone: the store does not get it.
    pub(super) fn into_reply(self) -> Reply {
        self.answer
    }
}

/// The way back to one caller.
#[derive(Debug)]
pub(super) struct Reply(oneshot::Sender<Answer>);

impl Reply {
    /// Answers, and says whether anybody still listened. Waking a caller runs code of its runtime: a panic in it is that
    /// caller's.
    pub(super) fn send(self, answer: Answer) -> bool {
        contain(|| self.0.send(answer)).map_or(true, |sent| sent.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Points;

    fn command() -> Command {
        Command::grant("ada".parse().unwrap(), "k".parse().unwrap(), Points::MIN)
    }

    #[test]
    fn either_the_caller_or_the_worker_has_the_last_word() {
        let (job, _answers, claim) = Job::until(command(), None, None);
        assert!(claim.withdraw());
        assert!(claim.withdraw(), "it stays withdrawn");
        assert!(job.take().is_err());

        let (job, _answers, claim) = Job::until(command(), None, None);
        assert!(job.take().is_ok());
        assert!(!claim.withdraw());
    }

    #[test]
    fn a_command_whose_time_is_over_is_not_taken_though_its_caller_has_not_noticed() {
        let (job, mut answers, claim) = Job::until(command(), None, Some(Duration::ZERO));
        let reply = job.take().unwrap_err();
        assert!(claim.withdraw());
        assert!(reply.send(Err(WorkerError::Expired)));
        assert_eq!(answers.try_recv().unwrap(), Some(Err(WorkerError::Expired)));
    }

    #[test]
    fn an_answer_to_nobody_is_no_harm() {
        let (job, answers) = Job::new(command(), None);
        drop(answers);
        assert!(!job.into_reply().send(Err(WorkerError::Expired)));
    }
}
