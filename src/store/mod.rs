//! The store that callers hold: opening, applying, reading, checking, copying, closing (I1 to I11).
//!
//! Everything a front needs is here; fronts use nothing below.

mod audit;
mod backup;
mod builder;
mod facts;
mod open;
mod read;
mod report;
mod salvage;
mod scan;
mod stats;
mod verify;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use self::stats::Counters;
use crate::commit::Committer;
use crate::error::{ApplyError, AtomicError, CloseError, OpenError};
use crate::observe::Answers;
use crate::types::{AccountId, Command, IdempotencyKey, Outcome, Points, Position};

pub use self::backup::BackupReport;
pub use self::builder::Builder;
pub use self::read::{Accounts, Journal, Statement};
pub use self::report::{OpenReport, Progress};
pub use self::salvage::SalvageReport;
pub use self::stats::Stats;
pub use self::verify::VerifyReport;

/// A durable ledger of points, in one directory.
///
/// Cloning is cheap, and all clones are the same store: share them between threads. A call that answers `Ok`
/// has its effect on the disk. A call that does not, for whatever reason, may be made again **with the same
/// key**, and has its effect once.
///
/// One process opens a directory at a time. The store is closed when the last clone is dropped, iterators over it
/// included, or by [`close`](Self::close), which can say what went wrong. Once it has been set up, open it with
/// [`create(false)`](Builder::create).
///
/// Calls block until the disk has answered. From async code, use the worker of the feature `worker`, or call them where
/// blocking is allowed, as in tokio's `spawn_blocking`: the store is `Send`, `Sync` and `Clone`.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::{AccountId, Balance, IdempotencyKey, PointStore, Points};
///
/// let folder = tempfile::tempdir()?;
/// let store = PointStore::open(folder.path().join("points"))?;
/// let (alice, order) = (AccountId::new("alice")?, IdempotencyKey::new("order-99")?);
///
/// let first = store.grant(&alice, &order, Points::new(100)?)?;
/// assert!(!first.is_replay());
///
/// // The answer was lost, so the job asks again. Nothing is granted twice.
/// let second = store.grant(&alice, &order, Points::new(100)?)?;
/// assert!(second.is_replay());
/// assert_eq!(second.receipt(), first.receipt());
/// assert_eq!(store.balance(&alice), Balance::new(100)?);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct PointStore {
    inner: Arc<Inner>,
}

/// Where the journal ends, and nothing of what is in it: names and keys do not belong into logs.
impl fmt::Debug for PointStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PointStore").field("position", &self.position()).finish_non_exhaustive()
    }
}

struct Inner {
    committer: Committer,
    counters: Counters,
    report: OpenReport,
    builder: Builder,
    /// Removed once the store is closed.
    _folder: Option<tempfile::TempDir>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody is left to be told. What was acknowledged is on the disk all the same; at worst the next
        // opening takes this for a crash.
        let _ = self.committer.close();
    }
}

impl PointStore {
    /// Opens the store in a directory, or makes it, with the options as they are in [`Builder`].
    ///
    /// # Errors
    ///
    /// As [`Builder::open`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{OpenError, PointStore};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let store = PointStore::open(folder.path())?;
    /// // A store is open once at a time; clones share it.
    /// let error = PointStore::open(folder.path()).unwrap_err();
    /// assert!(matches!(error, OpenError::AlreadyOpen { .. }));
    /// # Ok(()) }
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::builder().open(path)
    }

    /// Options for opening a store.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Opens a new store in a temporary directory, which is removed with the last clone.
    ///
    /// It is a real store, on the disk, for tests and trials.
    ///
    /// # Errors
    ///
    /// As [`Builder::open`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = pointstore::PointStore::temporary()?;
    /// assert_eq!(store.opened().entries(), 0);
    /// # Ok(()) }
    /// ```
    pub fn temporary() -> Result<Self, OpenError> {
        let folder = tempfile::Builder::new().prefix("pointstore-").tempdir().map_err(|error| {
            OpenError::Io(crate::error::Fault::io("cannot make a temporary folder", &error))
        })?;
        let mut store = Self::open(folder.path())?;
        if let Some(inner) = Arc::get_mut(&mut store.inner) {
            inner._folder = Some(folder);
        }
        Ok(store)
    }

    fn new(committer: Committer, report: OpenReport, builder: Builder) -> Self {
        let counters = Counters::default();
        Self { inner: Arc::new(Inner { committer, counters, report, builder, _folder: None }) }
    }

    /// Grants points to an account, once for each key.
    ///
    /// `Ok` means that the grant is on the disk, whether this call made it or an earlier one.
    ///
    /// # Errors
    ///
    /// [`ApplyError::Refused`] where a rule of the ledger is against it: the key was used for another amount,
    /// or the balance would become too large. That is final, and nothing has changed. [`ApplyError::Storage`]
    /// where the store could not do it: [`ErrorKind`](crate::ErrorKind) says whether and how to try again.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{ErrorKind, PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// let (alice, order) = ("alice".parse()?, "order-99".parse()?);
    /// let outcome = store.grant(&alice, &order, Points::new(100)?)?;
    /// assert_eq!(outcome.receipt().balance_after().get(), 100);
    ///
    /// let error = store.grant(&alice, &order, Points::new(200)?).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::KeyReused);
    /// assert_eq!(store.balance(&alice).get(), 100);
    /// # Ok(()) }
    /// ```
    pub fn grant(
        &self,
        account: &AccountId,
        key: &IdempotencyKey,
        points: Points,
    ) -> Result<Outcome, ApplyError> {
        self.apply(&Command::grant(account.clone(), key.clone(), points))
    }

    /// Redeems points of an account, once for each key; never more than it has.
    ///
    /// # Errors
    ///
    /// As [`grant`](Self::grant). An account without enough points is refused, and the key stays unused: the
    /// same redemption may be asked for again when there are more.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{ApplyError, PointStore, Points, Refusal};
    ///
    /// let store = PointStore::temporary()?;
    /// let (alice, gift) = ("alice".parse()?, "gift-7".parse()?);
    /// store.grant(&alice, &"order-1".parse()?, Points::new(50)?)?;
    ///
    /// let error = store.redeem(&alice, &gift, Points::new(80)?).unwrap_err();
    /// assert!(matches!(error, ApplyError::Refused(Refusal::InsufficientPoints { .. })));
    ///
    /// store.grant(&alice, &"order-2".parse()?, Points::new(50)?)?;
    /// let outcome = store.redeem(&alice, &gift, Points::new(80)?)?;
    /// assert_eq!(outcome.receipt().balance_after().get(), 20);
    /// # Ok(()) }
    /// ```
    pub fn redeem(
        &self,
        account: &AccountId,
        key: &IdempotencyKey,
        points: Points,
    ) -> Result<Outcome, ApplyError> {
        self.apply(&Command::redeem(account.clone(), key.clone(), points))
    }

    /// Applies a command.
    ///
    /// # Errors
    ///
    /// As [`grant`](Self::grant), and [`Refusal::SequenceMismatch`](crate::Refusal::SequenceMismatch) where the
    /// command expects the account to stand elsewhere.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{Command, Memo, PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// let command = Command::grant("alice".parse()?, "order-99".parse()?, Points::new(100)?)
    ///     .with_memo(Memo::new("spring campaign")?)
    ///     .expecting(0);
    /// let outcome = store.apply(&command)?;
    /// assert_eq!(outcome.receipt().memo().map(Memo::as_str), Some("spring campaign"));
    ///
    /// // The key is looked at before the expectation, so a retry is a replay.
    /// assert!(store.apply(&command)?.is_replay());
    /// # Ok(()) }
    /// ```
    pub fn apply(&self, command: &Command) -> Result<Outcome, ApplyError> {
        let answer = self.inner.committer.apply(command);
        self.count(|answers| answers.count(&answer));
        answer
    }

    /// Applies commands in order, each on its own: one that is refused does not hold up the others.
    ///
    /// The fast way to write many. A later command sees what an earlier one did. The answers are in the order
    /// of the commands, as many as there are commands, and the same that single calls would give.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{Command, PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// let five = Points::new(5)?;
    /// let answers = store.apply_each(&[
    ///     Command::grant("alice".parse()?, "order-1".parse()?, five),
    ///     Command::redeem("bob".parse()?, "gift-1".parse()?, five),
    ///     Command::grant("carol".parse()?, "order-2".parse()?, five),
    /// ]);
    /// assert!(answers[0].is_ok() && answers[1].is_err() && answers[2].is_ok());
    /// # Ok(()) }
    /// ```
    pub fn apply_each(&self, commands: &[Command]) -> Vec<Result<Outcome, ApplyError>> {
        let answers = self.inner.committer.apply_each(commands);
        self.count(|counted| answers.iter().for_each(|answer| counted.count(answer)));
        answers
    }

    /// Applies a list of commands as a whole, or none of them.
    ///
    /// Asked for again, the whole list is a replay. A list that shares a key with another list is not that one's
    /// retry and is refused; so is a list of more than one command that shares one with a command applied alone, and
    /// a list in which two commands have one account, operation and key. An empty list has no effect.
    ///
    /// # Errors
    ///
    /// [`AtomicError::index`] names the command that decided, where one did. A list of more than
    /// [`ATOMIC_LIST_LEN_MAX`](crate::ATOMIC_LIST_LEN_MAX) commands or
    /// [`ATOMIC_LIST_BYTES_MAX`](crate::ATOMIC_LIST_BYTES_MAX) bytes is invalid. Otherwise as
    /// [`grant`](Self::grant). Nothing of the list has been applied, unless the outcome is unknown; then it is
    /// all of it or nothing.
    ///
    /// # Examples
    ///
    /// Moving points from one account to another:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{Command, PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(30)?)?;
    /// let gift = |points| -> Result<_, pointstore::InvalidCommand> {
    ///     Ok(Command::transfer("alice".parse()?, "bob".parse()?, "gift-1".parse()?, Points::new(points)?))
    /// };
    /// let error = store.apply_atomic(&gift(40)?).unwrap_err();
    /// assert_eq!(error.index(), Some(0));
    /// assert_eq!(store.balance(&"bob".parse()?).get(), 0);
    ///
    /// store.apply_atomic(&gift(30)?)?;
    /// assert!(store.apply_atomic(&gift(30)?)?.iter().all(|outcome| outcome.is_replay()));
    /// assert_eq!(store.balance(&"bob".parse()?).get(), 30);
    /// # Ok(()) }
    /// ```
    pub fn apply_atomic(&self, commands: &[Command]) -> Result<Vec<Outcome>, AtomicError> {
        let answer = self.inner.committer.apply_atomic(commands);
        self.count(|answers| answers.count_list(&answer));
        answer
    }

    /// Counts the answers of one call.
    fn count(&self, count: impl FnOnce(&mut Answers)) {
        let mut answers = Answers::default();
        count(&mut answers);
        self.inner.counters.add(&answers);
        self.inner.builder.observers().answered(&answers);
    }

    /// Where the journal ends now: everything acknowledged so far lies before it.
    ///
    /// Kept outside the store, it lets [`Builder::expect_at_least`] see that the whole directory was replaced
    /// by an older copy.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{PointStore, Points, Position};
    ///
    /// let store = PointStore::temporary()?;
    /// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
    /// let position = store.position();
    /// assert_eq!(position.entries(), 1);
    /// assert_eq!(position.to_string().parse::<Position>()?, position);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn position(&self) -> Position {
        open::position_of(&self.inner.committer.published().tail)
    }

    /// What was found when the store was opened. See [`OpenReport`] for an example.
    #[must_use]
    pub fn opened(&self) -> &OpenReport {
        &self.inner.report
    }

    /// Closes the store, for every clone of it.
    ///
    /// What was asked for before is still answered. Afterwards, commands and reads of receipts are answered
    /// with *closed*; balances stay what they were. The directory may be opened again when this returns.
    /// Calling it again gives the same answer.
    ///
    /// # Errors
    ///
    /// [`CloseError`] says what kept it from being closed in order, or what the store had failed with before.
    /// Everything acknowledged is on the disk nevertheless: the next opening treats this as a crash. Only where a
    /// caller is still writing after [`wait_at_most`](Builder::wait_at_most), the store is not closed yet, and the
    /// directory stays in use: call it again.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{ErrorKind, PointStore, Points};
    ///
    /// let store = PointStore::temporary()?;
    /// let clone = store.clone();
    /// store.close()?;
    /// let error = clone.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Closed);
    /// # Ok(()) }
    /// ```
    pub fn close(&self) -> Result<(), CloseError> {
        self.inner.committer.close().map_err(CloseError::new)
    }
}
