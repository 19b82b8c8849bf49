//! Where time comes from: the trait that a store asks, and the system's clock behind it.
//!
//! The only file that reads the system's clock. A store asks its [`Clock`] and nothing else.

use std::fmt::Debug;
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
    #[allow(clippy::disallowed_methods, reason = "the one reading of the system's time of day")]
    fn wall(&self) -> Timestamp {
        Timestamp::from_system(SystemTime::now())
    }

    fn monotonic(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(now);
        // The start is fixed before this reading, so the difference is never cut off at zero.
        let start = *START;
        now().saturating_duration_since(start)
    }
}

#[allow(clippy::disallowed_methods, reason = "the one reading of the system's monotonic clock")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_shows_a_time_after_this_was_written() {
        let written = Timestamp::from_unix_millis(1_735_689_600_000);
        assert!(SystemClock.wall() > written);
    }

    #[test]
    fn the_monotonic_clock_never_goes_backwards() {
        let mut before = SystemClock.monotonic();
        for _ in 0..1_000 {
            let now = SystemClock.monotonic();
            assert!(now >= before);
            before = now;
        }
    }

    #[test]
    fn a_shared_clock_of_unknown_kind_is_a_clock() {
        let shared: Arc<dyn Clock> = Arc::new(SystemClock);
        let through: &dyn Clock = &shared;
        assert!(through.monotonic() <= shared.monotonic());
        assert!(through.wall() > Timestamp::default());
    }
}
