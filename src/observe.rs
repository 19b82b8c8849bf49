//! Who is told what a store does, and what it is told; for operators and their metrics, never with a name or a key.
//!
//! The trait is here so that nothing below the fronts knows of any of them. `commit` tells of groups and of the failure
//! that ends writing, `store` of answers.

use std::sync::Arc;
use std::time::Duration;

use crate::contain::contain;
use crate::error::{ApplyError, AtomicError, ErrorKind, Fault, Refusal};
use crate::types::Outcome;

/// Is told what a store does; set with [`Builder::observer`](crate::Builder::observer).
///
/// It is called by the threads that call the store, from several at once, with no lock held, and after everyone else
/// has been answered; the caller whose thread it is waits for it, so be quick. What it does not care for it leaves
/// out. If it panics, the panic goes no further. It must not keep the store itself, which then would never be closed.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use pointstore::{Answers, Observer, PointStore, Points};
///
/// #[derive(Default)]
/// struct Replays(AtomicU64);
///
/// impl Observer for Replays {
///     fn answered(&self, answers: &Answers) {
///         self.0.fetch_add(answers.replayed, Ordering::Relaxed);
///     }
/// }
///
/// let replays = Arc::new(Replays::default());
/// let folder = tempfile::tempdir()?;
/// let store = PointStore::builder().observer(Arc::clone(&replays)).open(folder.path())?;
/// for _ in 0..3 {
///     store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
/// }
/// assert_eq!(replays.0.load(Ordering::Relaxed), 2);
/// # Ok(()) }
/// ```
pub trait Observer: Send + Sync {
    /// A call was answered: once for each call of the store that applies commands, however many they are.
    fn answered(&self, answers: &Answers) {
        let _ = answers;
    }

    /// A group was written and is durable. Those without a new entry write nothing and are not told of.
    fn group_written(&self, group: &WrittenGroup) {
        let _ = group;
    }

    /// The store takes no more commands until it is opened again. Told once, with the first cause.
    fn poisoned(&self, cause: &Fault) {
        let _ = cause;
    }
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn answered(&self, answers: &Answers) {
        (**self).answered(answers);
    }

    fn group_written(&self, group: &WrittenGroup) {
        (**self).group_written(group);
    }

    fn poisoned(&self, cause: &Fault) {
        (**self).poisoned(cause);
    }
}

/// How the commands of one call were answered, by what became of them.
///
/// Commands of an atomic list count each; a list that is refused, or fails, counts once. See [`Observer`] for an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answers {
    /// They had their effect.
    pub applied: u64,
    /// They had had their effect before.
    pub replayed: u64,
    /// Their key had been used for something else.
    pub key_reused: u64,
    /// They expected another sequence.
    pub sequence_mismatch: u64,
    /// There were fewer points than they redeem.
    pub insufficient_points: u64,
    /// They would have made a balance too large.
    pub balance_overflow: u64,
    /// Their list was out of bounds.
    pub invalid: u64,
    /// Nothing was written, for want of room or because the store failed just before.
    pub not_attempted: u64,
    /// They may have had their effect.
    pub outcome_unknown: u64,
    /// What they needed to know could not be read.
    pub unavailable: u64,
    /// What they needed to know is damaged.
    pub corrupt: u64,
    /// The store was closed, or had failed earlier.
    pub closed: u64,
}

impl Answers {
    /// Counts one answer.
    pub(crate) fn count(&mut self, answer: &Result<Outcome, ApplyError>) {
        match answer {
            Ok(outcome) => self.count_outcome(outcome),
            Err(error) => self.count_error(error),
        }
    }

    /// Counts the answer to a list.
    pub(crate) fn count_list(&mut self, answer: &Result<Vec<Outcome>, AtomicError>) {
        match answer {
            Ok(outcomes) => outcomes.iter().for_each(|outcome| self.count_outcome(outcome)),
            Err(error) => self.count_error(error.error()),
        }
    }

    fn count_outcome(&mut self, outcome: &Outcome) {
        add(if outcome.is_replay() { &mut self.replayed } else { &mut self.applied });
    }

    fn count_error(&mut self, error: &ApplyError) {
        add(match error {
            ApplyError::Invalid(_) => &mut self.invalid,
            ApplyError::Refused(Refusal::KeyReused { .. }) => &mut self.key_reused,
            ApplyError::Refused(Refusal::SequenceMismatch { .. }) => &mut self.sequence_mismatch,
            ApplyError::Refused(Refusal::InsufficientPoints { .. }) => &mut self.insufficient_points,
            ApplyError::Refused(Refusal::BalanceOverflow { .. }) => &mut self.balance_overflow,
            ApplyError::Storage(error) => match error.kind() {
                ErrorKind::OutcomeUnknown => &mut self.outcome_unknown,
                ErrorKind::Unavailable => &mut self.unavailable,
                ErrorKind::Corrupt => &mut self.corrupt,
                ErrorKind::Closed => &mut self.closed,
                // A store's failures have no other kind.
                ErrorKind::NotAttempted
                | ErrorKind::Invalid
                | ErrorKind::KeyReused
                | ErrorKind::Rejected
                | ErrorKind::Busy => &mut self.not_attempted,
            },
        });
    }
}

fn add(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

/// A group that was written: what shares one transaction and one sync.
///
/// Times are measured by the store's [`Clock`](crate::Clock).
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::{Arc, Mutex};
/// use pointstore::{Observer, PointStore, Points, WrittenGroup};
///
/// #[derive(Default)]
/// struct Slowest(Mutex<Option<WrittenGroup>>);
///
/// impl Observer for Slowest {
///     fn group_written(&self, group: &WrittenGroup) {
///         let mut slowest = self.0.lock().unwrap();
///         if slowest.is_none_or(|slowest| slowest.committing() < group.committing()) {
///             *slowest = Some(*group);
///         }
///     }
/// }
///
/// let slowest = Arc::new(Slowest::default());
/// let folder = tempfile::tempdir()?;
/// let store = PointStore::builder().observer(Arc::clone(&slowest)).open(folder.path())?;
/// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
/// let group = slowest.0.lock().unwrap().unwrap();
/// assert_eq!((group.entries, group.requests), (1, 1));
/// assert!(group.committing() >= group.syncing);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenGroup {
    /// Entries that were written: commands that had their effect.
    pub entries: u64,
    /// Requests that were decided with it, refusals and replays too.
    pub requests: u64,
    /// Deciding the requests and packing their entries.
    pub deciding: Duration,
    /// The engine's transaction.
    pub appending: Duration,
    /// Making it durable: the sync.
    pub syncing: Duration,
    /// Writing the watermark.
    pub marking: Duration,
}

impl WrittenGroup {
    /// From handing the group to the engine until it is durable and marked: appending, syncing and marking.
    #[must_use]
    pub fn committing(&self) -> Duration {
        self.appending.saturating_add(self.syncing).saturating_add(self.marking)
    }
}

/// The observer of a store, if it has one. Its panics end here.
#[derive(Clone, Default)]
pub(crate) struct Observers(Option<Arc<dyn Observer>>);

impl Observers {
    /// Tells this one.
    pub(crate) fn new(observer: impl Observer + 'static) -> Self {
        Self(Some(Arc::new(observer)))
    }

    /// Whether anybody is told.
    pub(crate) fn any(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn answered(&self, answers: &Answers) {
        self.tell(|observer| observer.answered(answers));
    }

    pub(crate) fn group_written(&self, group: &WrittenGroup) {
        self.tell(|observer| observer.group_written(group));
    }

    pub(crate) fn poisoned(&self, cause: &Fault) {
        self.tell(|observer| observer.poisoned(cause));
    }

    fn tell(&self, tell: impl FnOnce(&dyn Observer)) {
        if let Some(observer) = &self.0 {
            // Nothing of the store is half done while it is told of, and whoever called has its answer coming.
            let _ = contain(|| tell(&**observer));
        }
    }
}

impl std::fmt::Debug for Observers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Observers").field(&self.any()).finish()
    }
}
