//! Answers that get lost between the store and their callers, on cue.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::types::Command;

type Picks = Arc<dyn Fn(&Command) -> bool + Send + Sync>;

/// Says which acknowledgements get lost: the effect is there, its caller does not learn of it. Clones are the same.
///
/// For tests of how a program retries. A worker that was told of it with `Builder::lose_acks` asks it after the store has
/// answered a command and before the caller is told; so can a front that a test makes, with [`loses`](Self::loses).
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "worker")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::testing::{LostAcks, SimDisk};
/// use pointstore::worker::Worker;
/// use pointstore::{Command, ErrorKind, PointStore, Points};
///
/// let (disk, acks) = (SimDisk::new(1), LostAcks::new());
/// let store = PointStore::builder().open_simulated(&disk)?;
/// let worker = Worker::builder(store).lose_acks(&acks).spawn()?;
/// let grant = Command::grant("alice".parse()?, "order-1".parse()?, Points::new(5)?);
///
/// acks.lose_next(1);
/// let error = worker.apply_blocking(grant.clone()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
/// // It happened all the same, and a retry with the same key learns of it.
/// assert!(worker.apply_blocking(grant)?.is_replay());
/// assert_eq!(acks.lost(), 1);
/// # Ok(()) }
/// # #[cfg(not(feature = "worker"))]
/// # fn main() {}
/// ```
#[derive(Clone, Default)]
pub struct LostAcks {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    next: u64,
    picks: Option<Picks>,
    silent: bool,
    lost: u64,
}

impl LostAcks {
    /// Nothing gets lost yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next so many get lost, in place of what an earlier call said.
    pub fn lose_next(&self, acks: u64) {
        self.state.lock().next = acks;
    }

    /// Those of commands that `picks` says yes to get lost, too, from now on.
    ///
    /// Each attempt is asked about, so it decides how many of them are lost. `|_| false` ends it.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::testing::LostAcks;
    /// use pointstore::{Command, Points};
    ///
    /// let acks = LostAcks::new();
    /// acks.lose_where(|command| command.key().as_str() == "order-1");
    /// let grant = |key: &str| -> Result<_, pointstore::InvalidCommand> {
    ///     Ok(Command::grant("alice".parse()?, key.parse()?, Points::new(5)?))
    /// };
    /// assert!(acks.loses(&grant("order-1")?) && !acks.loses(&grant("order-2")?));
    /// # Ok(()) }
    /// ```
    pub fn lose_where(&self, picks: impl Fn(&Command) -> bool + Send + Sync + 'static) {
        let before = self.state.lock().picks.replace(Arc::new(picks));
        drop(before);
    }

    /// Whether callers whose answer is lost hear nothing at all, instead of *outcome unknown*.
    ///
    /// Then they wait until a limit of their own is over, or the worker ends.
    pub fn keep_silent(&self, silent: bool) {
        self.state.lock().silent = silent;
    }

    /// Whether callers hear nothing of a loss.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.state.lock().silent
    }

    /// Whether the acknowledgement of this command gets lost now; a yes counts.
    #[must_use]
    pub fn loses(&self, command: &Command) -> bool {
        let mut state = self.state.lock();
        let is_next = state.next > 0;
        state.next = state.next.saturating_sub(1);
        let picks = state.picks.clone();
        drop(state);
        // The test's own code, called without the lock.
        let lost = is_next || picks.is_some_and(|picks| picks(command));
        let mut state = self.state.lock();
        state.lost = state.lost.saturating_add(u64::from(lost));
        lost
    }

    /// How many got lost so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.state.lock().lost
    }
}

impl fmt::Debug for LostAcks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("LostAcks")
            .field("next", &state.next)
            .field("silent", &state.silent)
            .field("lost", &state.lost)
            .finish_non_exhaustive()
    }
}
