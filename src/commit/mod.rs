//! Group commit: where the rules meet the journal (I1, I6, I7, I8, I10).
//!
//! Callers queue their requests; one of them leads, decides a group of them over the published state, appends
//! and syncs it, publishes it, and answers everyone in it. Nothing is visible to anyone before it is durable,
//! and after the first failure nothing more is written. `store` is the only caller.

mod group;
mod laps;
mod leader;
mod lookup;
mod queue;
mod request;
#[cfg(test)]
#[cfg(pointstore_shuttle)]
mod schedules;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::queue::Pace;
use self::queue::Queue;
use self::request::{Atomic, Each, Prepared, Work};
use crate::contain::contain;
use crate::engine::{Engine, Mark};
use crate::error::{ApplyError, AtomicError, Fault, ReadError, StorageError};
use crate::index::{Index, KeyHasher};
use crate::limits::Limits;
use crate::observe::Observers;
use crate::rules::{self, Known, ListKeys};
use crate::sync::{Mutex, RwLock, RwLockReadGuard};
use crate::types::{Clock, Command, Entry, InvalidCommand, Outcome};

pub(crate) use self::lookup::{Places, entry_in, read_bytes, read_page};

/// Independent commands looked up under one hold of the published state.
const LOOKUP_CHUNK: usize = 256;

/// How a committer behaves.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The bounds of pages, groups and lists.
    pub(crate) limits: Limits,
    /// Where the time comes from.
    pub(crate) clock: Arc<dyn Clock>,
    /// How long a caller waits while no group at all is finished.
    pub(crate) stall_limit: Duration,
    /// When a leader waits for callers.
    pub(crate) pace: Pace,
    /// Who is told what is done.
    pub(crate) observers: Observers,
}

/// How many groups were written, and how large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupCounts {
    /// Groups with at least one entry.
    pub(crate) groups: u64,
    /// Entries of the largest.
    pub(crate) largest: u64,
}

/// The published state, and the only way to change it.
#[derive(Debug)]
pub(crate) struct Committer {
    engine: Box<dyn Engine>,
    settings: Settings,
    published: RwLock<Index>,
    /// How the published state hashes names.
    hasher: KeyHasher,
    queue: Queue,
    /// How closing went, once it did.
    closed: Mutex<Option<Result<(), Fault>>>,
}

impl Committer {
    /// Takes over an engine whose journal folds into `index`.
    pub(crate) fn new(engine: Box<dyn Engine>, index: Index, settings: Settings) -> Self {
        let hasher = index.hasher().clone();
        Self {
            engine,
            queue: Queue::new(settings.pace),
            settings,
            hasher,
            published: RwLock::new(index),
            closed: Mutex::new(None),
        }
    }

    /// The state that everyone may see.
    pub(crate) fn published(&self) -> RwLockReadGuard<'_, Index> {
        self.published.read()
    }

    /// What keeps the pages.
    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// What was written since the store was opened.
    pub(crate) fn group_counts(&self) -> GroupCounts {
        self.queue.counts()
    }

    /// Whether it was closed, after which nothing is read from the engine either.
    pub(crate) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    /// Applies one command.
    pub(crate) fn apply(&self, command: &Command) -> Result<Outcome, ApplyError> {
        let mut answers = self.apply_each(std::slice::from_ref(command));
        answers.pop().unwrap_or_else(|| Err(not_attempted("the command got no answer")))
    }

    /// Applies commands in order, each on its own.
    pub(crate) fn apply_each(&self, commands: &[Command]) -> Vec<Result<Outcome, ApplyError>> {
        let mut open = Vec::new();
        // Each with its place among all.
        let mut known = Vec::new();
        // In pieces: what was looked up is small, and handed on while it is near.
        for (piece, at) in commands.chunks(LOOKUP_CHUNK).zip((0_usize..).step_by(LOOKUP_CHUNK)) {
            for ((prepared, places), place) in self.look_up(piece).into_iter().zip(at..) {
                match self.answer_known(&prepared, &places) {
                    Some(answer) => known.push((place, answer)),
                    None => {
                        if open.is_empty() {
                            open.reserve_exact(commands.len().saturating_sub(known.len()));
                        }
                        open.push(prepared);
                    }
                }
            }
        }
        let decided = if open.is_empty() { Vec::new() } else { self.submit_each(open) };
        if decided.len() == commands.len() {
            return decided;
        }
        let (mut known, mut decided) = (known.into_iter().peekable(), decided.into_iter());
        (0..commands.len())
            .map(|place| {
                let known = known.next_if(|(at, _)| *at == place).map(|(_, answer)| answer);
                known
                    .or_else(|| decided.next())
                    .unwrap_or_else(|| Err(not_attempted("the command got no answer")))
            })
            .collect()
    }

    /// Where the keys of some commands may be saved, and the accounts of those whose keys are new, as everyone may see it
    /// now.
    fn look_up(&self, commands: &[Command]) -> Vec<(Prepared, Places)> {
        let mut looked_up: Vec<_> =
            commands.iter().map(|c| (Prepared::new(c, &self.hasher), Places::default())).collect();
        let index = self.published();
        // First all keys and then all accounts: none waits for another to come from far away.
        for (prepared, places) in &mut looked_up {
            *places = Places::of(&index, prepared.receipt_hash);
        }
        for (prepared, _) in looked_up.iter_mut().filter(|(_, places)| places.is_empty()) {
            prepared.find_account(&index);
        }
        looked_up
    }

    fn submit_each(&self, commands: Vec<Prepared>) -> Vec<Result<Outcome, ApplyError>> {
        match self.submit(Work::Each(Each::new(commands))) {
            Work::Each(each) => each.into_answers(),
            // A request comes back as what it was handed in as.
            Work::Atomic(_) => Vec::new(),
        }
    }

    /// Applies a list as a whole or not at all.
    pub(crate) fn apply_atomic(&self, commands: &[Command]) -> Result<Vec<Outcome>, AtomicError> {
        self.check_list(commands).map_err(|error| AtomicError::new(None, error))?;
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        if self.is_closed() {
            return Err(AtomicError::new(None, StorageError::Closed));
        }
        let mut prepared = Vec::with_capacity(commands.len());
        let mut saved = Vec::with_capacity(commands.len());
        for (command, places) in self.look_up(commands) {
            let found = self.read_saved(&command, &places).map_err(|e| AtomicError::new(None, e))?;
            prepared.push(command);
            saved.push(found);
        }
        match rules::resolve_list(commands.iter().zip(saved)) {
            ListKeys::New => {}
            ListKeys::Replay(receipts) => {
                return Ok(receipts.into_iter().map(Outcome::Replayed).collect());
            }
            ListKeys::Reused(at, refusal) => return Err(AtomicError::new(Some(at), refusal)),
        }
        match self.submit(Work::Atomic(Atomic::new(prepared))) {
            Work::Atomic(atomic) => atomic.into_answer(),
            // A request comes back as what it was handed in as.
            Work::Each(_) => Err(AtomicError::new(None, not_attempted("the list got no answer"))),
        }
    }

    fn check_list(&self, commands: &[Command]) -> Result<(), InvalidCommand> {
        let (len, max) = (commands.len(), self.settings.limits.list_len);
        if len > max {
            return Err(InvalidCommand::ListTooLong { len, max });
        }
        let bytes = commands.iter().fold(0, |sum: usize, c| sum.saturating_add(c.stored_len_max()));
        let max = self.settings.limits.list_bytes;
        if bytes > max {
            return Err(InvalidCommand::ListTooLarge { bytes, max });
        }
        Ok(())
    }

    /// Answers a command whose key is used, from the published state alone.
    fn answer_known(&self, prepared: &Prepared, places: &Places) -> Option<Result<Outcome, ApplyError>> {
        if self.is_closed() {
            return Some(Err(StorageError::Closed.into()));
        }
        match self.read_saved(prepared, places) {
            Err(error) => Some(Err(error.into())),
            Ok(saved) => match rules::resolve(saved, &prepared.command) {
                Known::New => None,
                Known::Replay(receipt) => Some(Ok(Outcome::Replayed(receipt))),
                Known::Reused(refusal) => Some(Err(refusal.into())),
            },
        }
    }

    /// A read that failed while the store was being closed failed because of that.
    pub(crate) fn closed_or<T>(&self, read: Result<T, ReadError>) -> Result<T, ReadError> {
        read.map_err(|error| if self.is_closed() { ReadError::Closed } else { error })
    }

    /// Reads what is saved under a command's key.
    fn read_saved(&self, prepared: &Prepared, places: &Places) -> Result<Option<Entry>, StorageError> {
        match self.closed_or(prepared.read_saved(&*self.engine, places)) {
            Err(ReadError::Closed) => Err(StorageError::Closed),
            read => Ok(read?),
        }
    }

    /// Ends it: what is queued is still served, then the engine is closed. Further calls get the same answer; only where
    /// a group is still being written they try again, since it may come to its end.
    pub(crate) fn close(&self) -> Result<(), Fault> {
        let mut closed = self.closed.lock();
        if let Some(ended) = &*closed {
            return ended.clone();
        }
        let ended = self.end(self.queue.close(self.settings.stall_limit)?);
        *closed = Some(ended.clone());
        ended
    }

    fn end(&self, poison: Option<Fault>) -> Result<(), Fault> {
        match poison {
            None => {
                let tail = self.published().tail;
                self.close_engine(Some(Mark { next: tail.next, chain: tail.chain.get() }))
            }
            Some(first_cause) => {
                // Nothing may be written any more, so all that can fail here is letting go.
                let let_go = self.close_engine(None);
                Err(let_go.err().unwrap_or(first_cause))
            }
        }
    }

    /// This runs when the last clone is dropped, where a panic could end the process.
    fn close_engine(&self, mark: Option<Mark>) -> Result<(), Fault> {
        contain(|| self.engine.close(mark))
            .unwrap_or_else(|_| Err(Fault::new("a panic while the engine was closed")))
    }
}

fn not_attempted(what: &str) -> ApplyError {
    StorageError::NotAttempted(Fault::new(what)).into()
}
