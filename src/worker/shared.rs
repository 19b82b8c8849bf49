//! What the handles and the delivering thread of a worker have in common.

use std::convert::Infallible;
use std::fmt;

use async_channel::Receiver;
use parking_lot::Mutex;

use super::error::{Doubt, WorkerError};
use super::job::{Job, Reply};
use super::observe::Observers;
use super::stats::{Counters, WorkerStats};
use super::timer::Timer;
use crate::{Command, PointStore};

/// One for each worker.
pub(super) struct Shared {
    /// The far end of the queue, for the thread and for a shutdown whose time is over.
    pub(super) jobs: Receiver<Job>,
    pub(super) flight: Mutex<Flight>,
    /// The store that commands are given to now.
    pub(super) store: Mutex<PointStore>,
    pub(super) counters: Counters,
    pub(super) observers: Observers,
    pub(super) timer: Timer,
    /// Ends when the thread has answered everything.
    pub(super) ended: Receiver<Infallible>,
}

/// The commands that the store is at work on, or rather their callers.
#[derive(Debug, Default)]
pub(super) struct Flight {
    replies: Vec<Reply>,
    /// Callers whose answer is lost, and who are not told so before the worker ends.
    unheard: Vec<Reply>,
    /// Nothing more is given to the store.
    stopped: bool,
}

impl Shared {
    /// Takes a job and those behind it, in order, so many at most: gives the commands, and keeps the ways back.
    pub(super) fn gather(&self, first: Job, most: usize) -> Vec<Command> {
        let (mut commands, mut late, mut begun) = (Vec::new(), Vec::new(), Vec::new());
        // Each place that gets free wakes a caller, which is not done under a lock.
        let behind = std::iter::from_fn(|| self.jobs.try_recv().ok());
        let jobs: Vec<Job> = std::iter::once(first).chain(behind).take(most).collect();
        let mut flight = self.flight.lock();
        for job in jobs {
            let since = job.begun();
            match if flight.stopped { Err(job.into_reply()) } else { job.take() } {
                Ok((command, reply)) => {
                    commands.push(command);
                    flight.replies.push(reply);
                    begun.extend(since);
                }
                Err(reply) => late.push(reply),
            }
        }
        // Answers wake callers, too, and whoever observes does as it likes.
        drop(flight);
        self.observers.taken(&begun);
        self.expire(late);
        commands
    }

    /// The ways back for the batch that was gathered last; none if a shutdown has used them.
    pub(super) fn landed(&self) -> Vec<Reply> {
        std::mem::take(&mut self.flight.lock().replies)
    }

    /// Keeps ways back for another delivery of their commands; false, and they are answered, after a shutdown's limit.
    pub(super) fn take_off_again(&self, replies: Vec<Reply>) -> bool {
        let mut flight = self.flight.lock();
        if flight.stopped {
            drop(flight);
            self.doubt(replies, Doubt::Stopped);
            return false;
        }
        flight.replies = replies;
        true
    }

    /// Leaves a caller without an answer until the worker ends.
    pub(super) fn leave_unheard(&self, reply: Reply) {
        self.flight.lock().unheard.push(reply);
    }

    /// The time of a shutdown is over: whoever still waits is answered now. How many of them were not attempted, and
    /// of how many that is not known.
    pub(super) fn stop(&self) -> (usize, usize) {
        let mut flight = self.flight.lock();
        flight.stopped = true;
        let (replies, unheard) = (std::mem::take(&mut flight.replies), std::mem::take(&mut flight.unheard));
        drop(flight);
        let in_doubt = replies.len().saturating_add(unheard.len());
        self.doubt(replies, Doubt::Stopped);
        self.doubt(unheard, Doubt::Lost);
        let late: Vec<Reply> =
            std::iter::from_fn(|| self.jobs.try_recv().ok()).map(Job::into_reply).collect();
        let expired = late.len();
        self.expire(late);
        (expired, in_doubt)
    }

    /// A command was accepted.
    pub(super) fn accepted(&self) {
        self.counters.accepted.add(1);
        self.observers.accepted();
    }

    /// A command met a full queue.
    pub(super) fn busy(&self) {
        self.counters.busy.add(1);
        self.observers.busy();
    }

    /// So many callers were told that the outcome of their command is not known.
    pub(super) fn in_doubt(&self, commands: usize, why: Doubt) {
        self.counters.in_doubt.add(commands);
        self.observers.in_doubt(why, commands);
    }

    /// Answers callers of whose commands nothing is known.
    pub(super) fn doubt(&self, replies: Vec<Reply>, why: Doubt) {
        self.counters.answered.add(replies.len());
        // Whoever went away, or was told by its own limit, is not told again.
        let told = replies.into_iter().map(|reply| reply.send(Err(WorkerError::OutcomeUnknown(why))));
        self.in_doubt(told.filter(|told| *told).count(), why);
    }

    /// Answers callers whose commands were not given to the store.
    fn expire(&self, replies: Vec<Reply>) {
        self.counters.expired.add(replies.len());
        self.observers.expired(replies.len());
        self.counters.answered.add(replies.len());
        for reply in replies {
            reply.send(Err(WorkerError::Expired));
        }
    }

    pub(super) fn stats(&self) -> WorkerStats {
        let counters = &self.counters;
        WorkerStats {
            capacity: self.jobs.capacity().map_or(0, |capacity| capacity as u64),
            queued: self.jobs.len() as u64,
            delivering: self.flight.lock().replies.len() as u64,
            accepted: counters.accepted.get(),
            answered: counters.answered.get(),
            busy: counters.busy.get(),
            expired: counters.expired.get(),
            in_doubt: counters.in_doubt.get(),
            batches: counters.batches.get(),
            largest_batch: counters.largest_batch.get(),
            reopened: counters.reopened.get(),
            reopen_failures: counters.reopen_failures.get(),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Points;
    use crate::worker::block::block_on;
    use crate::worker::ticket::Ticket;

    fn shared() -> Shared {
        Shared {
            jobs: async_channel::bounded(1).1,
            flight: Mutex::default(),
            store: Mutex::new(PointStore::temporary().unwrap()),
            counters: Counters::default(),
            observers: Observers::default(),
            timer: Timer::spawn("test").unwrap(),
            ended: async_channel::bounded(1).1,
        }
    }

    fn job() -> (Job, Ticket) {
        let command = Command::grant("ada".parse().unwrap(), "k".parse().unwrap(), Points::MIN);
        let (job, answers) = Job::new(command, None);
        (job, Ticket::new(answers))
    }

    // The limit of a shutdown is over just while the worker's thread has the ways back in hand, on their way to a store
    // that is opened again: neither the shutdown nor a delivery would answer them any more.
    #[test]
    fn whoever_is_to_be_delivered_again_after_a_shutdowns_limit_is_told_so() {
        let shared = shared();
        let (job, ticket) = job();
        assert_eq!(shared.gather(job, 1).len(), 1);
        let replies = shared.landed();
        assert_eq!(shared.stop(), (0, 0));
        assert!(!shared.take_off_again(replies));
        assert_eq!(block_on(ticket), Err(WorkerError::OutcomeUnknown(Doubt::Stopped)));
        assert_eq!((shared.stats().in_doubt, shared.stats().answered), (1, 1));
    }

    #[test]
    fn nothing_is_taken_for_the_store_after_a_shutdowns_limit() {
        let shared = shared();
        shared.stop();
        let (job, ticket) = job();
        assert!(shared.gather(job, 1).is_empty());
        assert_eq!(block_on(ticket), Err(WorkerError::Expired));
        assert_eq!((shared.stats().expired, shared.stats().delivering), (1, 0));
    }
}
