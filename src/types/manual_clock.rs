//! A clock that is set by hand, so that tests decide what time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Clock, Timestamp};

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> ManualClock {
        ManualClock::at(Timestamp::from_unix_millis(ms))
    }

    #[test]
    fn setting_the_time_of_day_leaves_the_monotonic_side_alone() {
        let clock = at(0);
        clock.advance(Duration::from_secs(5));
        clock.set(Timestamp::from_unix_millis(7));
        assert_eq!(clock.wall().as_unix_millis(), 7);
        assert_eq!(clock.monotonic(), Duration::from_secs(5));
    }

    #[test]
    fn the_wall_clock_stays_at_the_last_moment() {
        let clock = at(u64::MAX);
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.wall().as_unix_millis(), u64::MAX);
    }

    #[test]
    fn the_monotonic_side_stays_at_its_end() {
        let clock = at(0);
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        assert_eq!(clock.monotonic(), Duration::from_nanos(u64::MAX));
    }

    proptest! {
        #[test]
        fn many_small_steps_are_one_large_one(steps in prop::collection::vec(0_u64..3_000_000, 0..50)) {
            let (small, large) = (at(0), at(0));
            for ns in &steps {
                small.advance(Duration::from_nanos(*ns));
            }
            large.advance(Duration::from_nanos(steps.iter().sum()));
            prop_assert_eq!(small.wall(), large.wall());
            prop_assert_eq!(small.monotonic(), large.monotonic());
        }
    }
}
