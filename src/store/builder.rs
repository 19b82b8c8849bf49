//! How a store is opened: where, with which clock and bounds, and who is told of progress.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::report::Progress;
use super::{PointStore, open};
use crate::engine::{Engine, Mark, Missing, SledEngine, SledOptions};
use crate::error::OpenError;
use crate::journal::Chain;
use crate::limits::Limits;
use crate::observe::{Observer, Observers};
use crate::types::{Clock, Position, SystemClock};

const CACHE_BYTES: u64 = 64 << 20;

/// The engine's own least; below it, it does not start.
const CACHE_BYTES_MIN: u64 = 1 << 20;

const STALL_LIMIT: Duration = Duration::from_secs(60);

/// Less than this is no sign of a disk that hangs.
const STALL_LIMIT_MIN: Duration = Duration::from_secs(1);

type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Options for opening a store; [`PointStore::builder`] starts one.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use pointstore::{OpenError, PointStore};
///
/// let folder = tempfile::tempdir()?;
/// // Nothing is there yet, and nothing is to be made.
/// let error = PointStore::builder().create(false).open(folder.path().join("points")).unwrap_err();
/// assert!(matches!(error, OpenError::Missing { .. }));
///
/// let store = PointStore::builder().cache_bytes(16 << 20).open(folder.path().join("points"))?;
/// assert!(store.opened().created());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Builder {
    create: bool,
    cache_bytes: u64,
    clock: Arc<dyn Clock>,
    least: Option<Position>,
    on_progress: Option<OnProgress>,
    stall_limit: Duration,
    observers: Observers,
    limits: Limits,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            create: true,
            cache_bytes: CACHE_BYTES,
            clock: Arc::new(SystemClock),
            least: None,
            on_progress: None,
            stall_limit: STALL_LIMIT,
            observers: Observers::default(),
            limits: Limits::STANDARD,
        }
    }
}

impl Builder {
    /// Whether a store is made where there is none; it is, unless this says otherwise.
    ///
    /// Once a store has been set up, open it with `create(false)`, above all when opening it again after a failure:
    /// where its volume is not mounted, a new and empty store would grant everything a second time.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Bytes of pages that the engine keeps in memory: 64 MiB unless set, 1 MiB at least.
    ///
    /// Balances and the index of keys are in memory whatever this is. The cache is for receipts and statements;
    /// what it takes can be several times this figure, since the engine counts bytes of its log.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes.max(CACHE_BYTES_MIN);
        self
    }

    /// Where the store reads the time; the system's clock unless set.
    ///
    /// Receipts are dated by it, and [`OpenReport::took`](crate::OpenReport::took) is measured by it; waiting is not.
    /// A store's time never goes back: after one wrong reading in the far future, everything is dated then.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{ManualClock, Points, PointStore, Timestamp};
    ///
    /// let clock = ManualClock::at(Timestamp::from_unix_millis(5_000));
    /// let folder = tempfile::tempdir()?;
    /// let store = PointStore::builder().clock(clock.clone()).open(folder.path())?;
    /// let first = store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
    /// clock.set(Timestamp::from_unix_millis(1_000)); // The wall clock is put back …
    /// let second = store.grant(&"alice".parse()?, &"order-2".parse()?, Points::new(5)?)?;
    /// assert_eq!(first.receipt().recorded_at(), second.receipt().recorded_at()); // … the store's time is not.
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Refuses a store whose journal does not reach a position that the caller remembers, or differs before it.
    ///
    /// The store itself sees when files of it are lost or put back. It cannot see when the whole directory is
    /// replaced by an older copy of itself: for that, keep [`PointStore::position`] somewhere else. Where entries are
    /// expected, no new store is made, whatever [`create`](Self::create) says.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use pointstore::{OpenError, Points, PointStore};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let (live, copy) = (folder.path().join("live"), folder.path().join("copy"));
    /// let store = PointStore::open(&live)?;
    /// store.backup(&copy)?;
    /// store.grant(&"alice".parse()?, &"order-1".parse()?, Points::new(5)?)?;
    /// let remembered = store.position();
    ///
    /// let error = PointStore::builder().expect_at_least(remembered).open(&copy).unwrap_err();
    /// assert!(matches!(error, OpenError::RolledBack { expected: 1, found: 0, .. }));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn expect_at_least(mut self, position: Position) -> Self {
        self.least = Some(position);
        self
    }

    /// Calls `report` now and then while the store is opened, on the opening thread.
    ///
    /// A large store takes a while: everything in it is read and checked. If it panics, opening is given up as if
    /// the process had ended. See [`Progress`] for an example.
    #[must_use]
    pub fn on_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(report));
        self
    }

    /// How long a caller waits while not a single group is finished: 60 seconds unless set, 1 second at least.
    ///
    /// A disk that hangs cannot be told from a slow one. After this long the store takes no more commands,
    /// and those who wait for the caller that writes are told that their outcome is unknown. That one itself comes
    /// back when the system answers it.
    #[must_use]
    pub fn wait_at_most(mut self, limit: Duration) -> Self {
        self.stall_limit = limit.max(STALL_LIMIT_MIN);
        self
    }

    /// Tells an observer what the store does; nobody unless set. See [`Observer`] for an example.
    ///
    /// Without one nothing is measured. A second one takes the place of the first.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers = Observers::new(observer);
        self
    }

    /// Opens the store in a directory, or makes it.
    ///
    /// Everything in it is read and checked before this returns; see [`OpenReport`](crate::OpenReport).
    ///
    /// # Errors
    ///
    /// [`OpenError`] says what is wrong with the directory and what to do about it. Whatever it is, the bytes
    /// that were there stay as they were.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<PointStore, OpenError> {
        let nothing_expected = self.least.is_none_or(|least| least.entries() == 0);
        let missing = if self.create && nothing_expected { Missing::Create } else { Missing::Refuse };
        let start = self.clock.monotonic();
        let engine = self.engine(path.as_ref(), missing)?;
        self.open_on(Box::new(engine), start)
    }

    /// The engine in a directory, not judged yet.
    pub(super) fn engine(&self, path: &Path, missing: Missing) -> Result<SledEngine, OpenError> {
        let least = self.least.map(|least| Mark { next: least.next(), chain: least.chain() });
        let options = SledOptions { path: path.into(), cache_bytes: self.cache_bytes, missing, least };
        SledEngine::open(&options, |store| Mark { next: 1, chain: Chain::seed(store).get() })
    }

    /// Opens what an engine holds.
    fn open_on(&self, engine: Box<dyn Engine>, start: Duration) -> Result<PointStore, OpenError> {
        let (committer, report) = open::open(engine, self, start)?;
        Ok(PointStore::new(committer, report, self.clone()))
    }

    /// Opens the store on a simulated disk.
    ///
    /// # Errors
    ///
    /// As [`Builder::open`], and whatever the disk was told to do.
    #[cfg(any(test, feature = "testing"))]
    pub fn open_simulated(&self, disk: &crate::testing::SimDisk) -> Result<PointStore, OpenError> {
        let start = self.clock.monotonic();
        self.open_on(Box::new(disk.open()?), start)
    }

    /// Makes pages, groups and lists as small as they can be, so that a test meets their edges soon.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn small_limits(mut self) -> Self {
        self.limits = Limits::SMALL;
        self
    }

    pub(super) fn time(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(super) fn least(&self) -> Option<Position> {
        self.least
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    pub(super) fn stall_limit(&self) -> Duration {
        self.stall_limit
    }

    pub(super) fn observers(&self) -> &Observers {
        &self.observers
    }

    pub(super) fn report(&self, progress: Progress) {
        if let Some(report) = &self.on_progress {
            report(progress);
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("create", &self.create)
            .field("cache_bytes", &self.cache_bytes)
            .field("clock", &self.clock)
            .field("least", &self.least)
            .field("on_progress", &self.on_progress.is_some())
            .field("stall_limit", &self.stall_limit)
            .field("observers", &self.observers)
            .field("limits", &self.limits)
            .finish()
    }
}
