//! The queue of requests, and who leads (I8, I10).
//!
//! At most one caller leads at a time. A leader serves one group and hands over to the first in the queue;
//! nobody's lead is lost, and nobody waits who has an answer.

mod ticket;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(super) use self::ticket::{Phase, Ticket, wake};
use super::GroupCounts;
use super::request::Work;
use crate::error::{Fault, StorageError};
use crate::sync::{AtomicBool, Condvar, Gate, Mutex, MutexGuard};

/// So many groups are not waited for after one that was waited for in vain.
const HURRIED_GROUPS: u32 = 15;

/// So many callers wait at one gate: to wake them together takes two thirds of the time that it takes one by one. With
/// more at a gate, groups of some dozens are slower.
const GATE_PLACES: usize = if cfg!(pointstore_shuttle) { 2 } else { 16 };

/// When a leader waits for callers who were answered just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// How long at most: long enough to wake more than a hundred threads, and no longer than a sync.
    pub(crate) moment: Duration,
    /// How many requests are worth a group without waiting: to wake as many callers takes about as long as a sync.
    pub(crate) crowd: usize,
}

impl Pace {
    /// What a store is built with.
    pub(crate) const STANDARD: Self = Self { moment: Duration::from_micros(200), crowd: 256 };
}

/// Why nothing more is accepted.
#[derive(Clone, Debug)]
enum Ended {
    Closed,
    Poisoned(Fault),
}

impl Ended {
    fn error(&self) -> StorageError {
        match self {
            Self::Closed => StorageError::Closed,
            Self::Poisoned(fault) => StorageError::Poisoned(fault.clone()),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Arc<Ticket>>,
    /// Where the last one who came waits, and for how many more there is place.
    gate: Arc<Gate>,
    places: usize,
    /// Somebody leads, or was told to.
    leading: bool,
    /// Somebody who leads has begun.
    serving: bool,
    /// No request is accepted any more.
    closing: bool,
    poison: Option<Fault>,
    counts: GroupCounts,
    /// Groups finished, those without entries too: whether anything moves.
    finished: u64,
    /// Requests that may be in the next group: those that waited when the last one was finished, and as many as are woken
    /// before it is handed over. No more than a crowd.
    expected: usize,
    /// Somebody who leads waits until that many are there.
    gathering: bool,
    /// So many groups more are not waited for.
    hurried: u32,
}

impl State {
    fn ended(&self) -> Option<Ended> {
        if self.closing { Some(Ended::Closed) } else { self.poison.clone().map(Ended::Poisoned) }
    }

    /// Where the next one waits: who will be the first in the queue by itself, because it leads next and is woken alone,
    /// the others with those who are woken when they are.
    fn gate(&mut self) -> Arc<Gate> {
        if self.waiting.is_empty() || self.places == 0 {
            self.gate = Arc::default();
            self.places = GATE_PLACES;
        }
        self.places = if self.waiting.is_empty() { 0 } else { self.places.saturating_sub(1) };
        Arc::clone(&self.gate)
    }
}

/// The queue.
#[derive(Debug)]
pub(super) struct Queue {
    pace: Pace,
    state: Mutex<State>,
    /// The same as `closing` in the state, to look at without waiting.
    closed: AtomicBool,
    /// It is poisoned, and nobody was told yet.
    news: AtomicBool,
    /// Nobody leads and nothing waits.
    idle: Condvar,
    /// As many wait as were expected.
    gathered: Condvar,
}

impl Queue {
    /// An empty queue.
    pub(super) fn new(pace: Pace) -> Self {
        Self {
            pace,
            state: Mutex::default(),
            closed: AtomicBool::default(),
            news: AtomicBool::default(),
            idle: Condvar::default(),
            gathered: Condvar::default(),
        }
    }

    /// Queues a request and says whether its caller leads at once; or gives it back, answered, where nothing is
    /// accepted any more.
    pub(super) fn enter(&self, work: Work) -> Result<(Arc<Ticket>, Phase), Work> {
        let mut state = self.state.lock();
        if let Some(ended) = state.ended() {
            return Err(work.shape().answered(&ended.error()));
        }
        let ticket = Arc::new(Ticket::new(work, state.gate(), state.finished));
        state.waiting.push_back(Arc::clone(&ticket));
        if state.gathering && state.waiting.len() >= state.expected {
            self.gathered.notify_one();
        }
        let phase = if state.leading { Phase::Waiting } else { Phase::Lead };
        state.leading = true;
        Ok((ticket, phase))
    }

    /// Waits until the ticket's caller has something to do. A queue in which no group is finished for
    /// `stall_limit` is poisoned: its leader hangs where nothing can wake it, and with it whatever is in its group.
    pub(super) fn wait(&self, ticket: &Ticket, stall_limit: Duration) -> Result<Phase, Fault> {
        let mut finished = ticket.entered();
        loop {
            if let Some(told) = ticket.wait(stall_limit) {
                return Ok(told);
            }
            match self.give_up_unless_moved(finished) {
                Ok(now) => finished = now,
                // What still waited was told that it was not attempted, this caller perhaps among it.
                Err(stalled) => return ticket.told().ok_or(stalled),
            }
        }
    }

    /// How many groups are finished, if they are more than before. If not, the leader hangs, and the queue is
    /// poisoned.
    fn give_up_unless_moved(&self, before: u64) -> Result<u64, Fault> {
        let state = self.state.lock();
        if state.finished != before {
            return Ok(state.finished);
        }
        let stalled = Fault::new("no group was finished for as long as callers may wait");
        self.poison_in(state, &stalled);
        Err(stalled)
    }

    /// How many of those who have an answer are to be woken before the lead is handed over: as many as make a crowd with
    /// those who wait, and with `left` that go back. They are expected to ask again. Who else waits at the last one's gate
    /// is woken with it.
    pub(super) fn expect(&self, left: usize, answered: usize) -> usize {
        let mut state = self.state.lock();
        let waiting = state.waiting.len().saturating_add(left);
        let first = answered.min(self.pace.crowd.saturating_sub(waiting));
        // Told before anybody is woken: whoever then asks again is counted once.
        state.expected = waiting.saturating_add(first).min(self.pace.crowd);
        first
    }

    /// Gives callers who were answered just now a moment to ask again: a group of twice as many costs hardly more. If
    /// they do not come, the next few groups do without.
    pub(super) fn gather(&self) {
        let mut state = self.state.lock();
        if state.hurried > 0 {
            state.hurried = state.hurried.saturating_sub(1);
        } else if state.waiting.len() < state.expected {
            state.gathering = true;
            let timed_out = self.gathered.wait_for(&mut state, self.pace.moment).timed_out();
            if timed_out && state.waiting.len() < state.expected {
                state.hurried = HURRIED_GROUPS;
            }
            state.gathering = false;
        }
    }

    /// Takes all that waits, first come first.
    pub(super) fn take_waiting(&self) -> VecDeque<Arc<Ticket>> {
        let mut state = self.state.lock();
        state.serving = true;
        std::mem::take(&mut state.waiting)
    }

    /// Puts back what a group had no room for: `first` before all others, `last` behind them. Whoever is then
    /// first leads.
    pub(super) fn hand_over(
        &self,
        first: impl DoubleEndedIterator<Item = Arc<Ticket>>,
        last: Option<Arc<Ticket>>,
        entries: u64,
    ) {
        let mut state = self.state.lock();
        for ticket in first.rev() {
            state.waiting.push_front(ticket);
        }
        state.waiting.extend(last);
        state.serving = false;
        state.finished = state.finished.wrapping_add(1);
        if entries > 0 {
            let counts = &mut state.counts;
            counts.groups = counts.groups.saturating_add(1);
            counts.largest = counts.largest.max(entries);
        }
        if let Some(cause) = state.poison.clone() {
            // I10: somebody took this leader for hanging meanwhile. Nobody leads after that.
            state.leading = false;
            self.idle.notify_all();
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            give_up(waiting, &cause);
            return;
        }
        match state.waiting.front().map(Arc::clone) {
            Some(next) => {
                drop(state);
                next.tell(Phase::Lead);
                wake([&*next]);
            }
            None => {
                state.leading = false;
                self.idle.notify_all();
            }
        }
    }

    /// Accepts nothing more, ever; what waited is told that it was not attempted. The first cause is kept.
    pub(super) fn poison(&self, cause: &Fault) {
        self.poison_in(self.state.lock(), cause);
    }

    fn poison_in(&self, mut state: MutexGuard<'_, State>, cause: &Fault) {
        if state.poison.is_none() {
            self.news.store(true, Ordering::SeqCst);
        }
        let cause = state.poison.get_or_insert_with(|| cause.clone()).clone();
        if !state.serving {
            // Whoever was told to lead is among those who waited.
            state.leading = false;
            self.idle.notify_all();
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        give_up(waiting, &cause);
    }

    /// The first cause, for the first who asks after it was poisoned.
    pub(super) fn poison_news(&self) -> Option<Fault> {
        let news = self.news.load(Ordering::SeqCst) && self.news.swap(false, Ordering::SeqCst);
        if news { self.poisoned() } else { None }
    }

    /// Why nothing may be written any more, if that is so.
    pub(super) fn poisoned(&self) -> Option<Fault> {
        self.state.lock().poison.clone()
    }

    /// The leader leaves after a failure, with the queue poisoned and so empty.
    pub(super) fn leave(&self) {
        let mut state = self.state.lock();
        state.serving = false;
        state.leading = false;
        self.idle.notify_all();
    }

    /// Accepts nothing more, waits until what waits is served, and gives the first cause if it was poisoned.
    pub(super) fn close(&self, stall_limit: Duration) -> Result<Option<Fault>, Fault> {
        let mut state = self.state.lock();
        state.closing = true;
        self.closed.store(true, Ordering::SeqCst);
        while state.leading {
            let finished = state.finished;
            let timed_out = self.idle.wait_for(&mut state, stall_limit).timed_out();
            if timed_out && state.leading && state.finished == finished {
                return Err(Fault::new("a group is still being written"));
            }
        }
        Ok(state.poison.clone())
    }

    /// Whether it was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// What was written.
    pub(super) fn counts(&self) -> GroupCounts {
        self.state.lock().counts
    }
}

/// Tells those who waited that they were not attempted.
fn give_up(waiting: VecDeque<Arc<Ticket>>, cause: &Fault) {
    for ticket in &waiting {
        ticket.work().give_up(&StorageError::NotAttempted(cause.clone()));
        ticket.tell(Phase::Done);
    }
    wake(waiting.iter().map(Arc::as_ref));
}

#[cfg(test)]
mod tests;
