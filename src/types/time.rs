//! Where time comes from: the system's clock, or one that is set by hand.
//!
//! The only file that reads the system's clock. A store asks its [`Clock`] and nothing else.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

use super::Timestamp;

/// A source of time for a store.
///
/// The wall clock dates receipts and may jump either way; the monotonic one measures waiting. A store calls it while
/// it holds no lock.
///
/// # Examples
///
/// ```
/// use pointstore::{Clock, Timestamp};
/// use std::time::Duration;
///
/// #[derive(Debug)]
/// struct Stopped;
///
/// impl Clock for Stopped {
///     fn wall(&self) -> Timestamp {
///         Timestamp::from_unix_millis(1_000)
///     }
///     fn monotonic(&self) -> Duration {
///         Duration::ZERO
///     }
/// }
///
/// assert_eq!(Stopped.wall().to_string(), "1.000");
/// ```
pub trait Clock: Send + Sync + Debug {
    /// The time of day. It may go backwards, as when the system's clock is corrected.
    fn wall(&self) -> Timestamp;

    /// The time since an arbitrary start. It never goes backwards.
    fn monotonic(&self) -> Duration;
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn wall(&self) -> Timestamp {
        (**self).wall()
    }

    fn monotonic(&self) -> Duration {
        (**self).monotonic()
    }
}

/// The clock of the operating system.
///
/// A wall clock that is set before 1970 reads as the Unix epoch.
///
/// # Examples
///
/// ```
/// use pointstore::{Clock, SystemClock};
///
/// let before = SystemClock.monotonic();
/// assert!(SystemClock.monotonic() >= before);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn wall(&self) -> Timestamp {
        #[allow(
            clippy::disallowed_methods,
            reason = "the one reading of the system's time of day"
        )]
        Timestamp::from_system(SystemTime::now())
    }

    fn monotonic(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(now);
        now().saturating_duration_since(*START)
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the one reading of the system's monotonic clock"
)]
fn now() -> Instant {
    Instant::now()
}

/// A clock that moves only when told to; for tests.
///
/// Clones are the same clock. The wall clock may be set backwards, the monotonic one only moves forwards, and stays
/// where it is once it has been moved by about 584 years in all (`u64::MAX` nanoseconds).
///
/// # Examples
///
/// ```
/// use pointstore::{Clock, ManualClock, Timestamp};
/// use std::time::Duration;
///
/// let clock = ManualClock::at(Timestamp::from_unix_millis(10_000));
/// let same = clock.clone();
/// clock.advance(Duration::from_secs(2));
/// assert_eq!(same.wall(), Timestamp::from_unix_millis(12_000));
/// assert_eq!(same.monotonic(), Duration::from_secs(2));
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock {
    shared: Arc<Hands>,
}

#[derive(Debug)]
struct Hands {
    wall_ms: AtomicU64,
    monotonic_ns: AtomicU64,
}

impl ManualClock {
    /// A clock that shows the given time of day, and zero on its monotonic side.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{Clock, ManualClock, Timestamp};
    ///
    /// let noon = Timestamp::from_unix_millis(43_200_000);
    /// assert_eq!(ManualClock::at(noon).wall(), noon);
    /// ```
    pub fn at(wall: Timestamp) -> Self {
        let shared = Arc::new(Hands {
            wall_ms: AtomicU64::new(wall.as_unix_millis()),
            monotonic_ns: AtomicU64::new(0),
        });
        Self { shared }
    }

    /// Sets the time of day, forwards or backwards; the monotonic side does not move.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{Clock, ManualClock, Timestamp};
    ///
    /// let clock = ManualClock::at(Timestamp::from_unix_millis(9_000));
    /// clock.set(Timestamp::from_unix_millis(1_000));
    /// assert_eq!(clock.wall(), Timestamp::from_unix_millis(1_000));
    /// ```
    pub fn set(&self, wall: Timestamp) {
        let ms = wall.as_unix_millis();
        self.shared.wall_ms.store(ms, Ordering::SeqCst);
    }

    /// Moves both sides forwards.
    ///
    /// Parts of a millisecond add up on the wall clock too: ten times 100 microseconds are one millisecond.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{Clock, ManualClock, Timestamp};
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::at(Timestamp::from_unix_millis(0));
    /// clock.advance(Duration::from_micros(600));
    /// clock.advance(Duration::from_micros(600));
    /// assert_eq!(clock.wall(), Timestamp::from_unix_millis(1));
    /// ```
    pub fn advance(&self, by: Duration) {
        const NS_PER_MS: u64 = 1_000_000;
        let by_ns = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let before = saturating_fetch_add(&self.shared.monotonic_ns, by_ns);
        let after = before.saturating_add(by_ns);
        let by_ms = (after / NS_PER_MS).saturating_sub(before / NS_PER_MS);
        saturating_fetch_add(&self.shared.wall_ms, by_ms);
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.shared.wall_ms.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.shared.monotonic_ns.load(Ordering::SeqCst))
    }
}

/// Adds, staying at the top, and returns what was there before.
fn saturating_fetch_add(cell: &AtomicU64, by: u64) -> u64 {
    let add = |now: u64| Some(now.saturating_add(by));
    match cell.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add) {
        Ok(before) | Err(before) => before,
    }
}
