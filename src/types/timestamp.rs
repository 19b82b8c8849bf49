//! A moment on the wall clock, as it is kept in receipts.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment: whole milliseconds since the Unix epoch, 1970-01-01 00:00 UTC.
///
/// Every `u64` is one. Shown as seconds with three decimals; an integer of milliseconds in serde.
///
/// # Examples
///
/// ```
/// use pointstore::Timestamp;
///
/// let new_year = Timestamp::from_unix_millis(1_767_225_600_123);
/// assert_eq!(new_year.to_string(), "1767225600.123");
/// assert!(new_year > Timestamp::from_unix_millis(0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The moment so many milliseconds after the Unix epoch.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::Timestamp;
    ///
    /// assert_eq!(Timestamp::from_unix_millis(0), Timestamp::default());
    /// ```
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// The milliseconds from the Unix epoch to this moment.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::Timestamp;
    ///
    /// assert_eq!(Timestamp::from_unix_millis(1_500).as_unix_millis(), 1_500);
    /// ```
    pub const fn as_unix_millis(self) -> u64 {
        self.0
    }

    /// The moment that the system's clock shows: zero before the epoch, the last one beyond `u64`.
    pub(super) fn from_system(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            Err(_before_the_epoch) => Self(0),
        }
    }
}

/// Seconds, a point, three decimals: `1767225600.123`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// A moment later than the platform's `SystemTime` can hold becomes the latest one that it can.
impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        latest_that_fits(time.0, |ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms))).unwrap_or(UNIX_EPOCH)
    }
}

/// `make(wanted)`, or else `make` of the largest smaller number for which it answers.
///
/// `make` answers for every number up to some limit and for none above it.
fn latest_that_fits<T>(wanted: u64, make: impl Fn(u64) -> Option<T>) -> Option<T> {
    if let Some(exact) = make(wanted) {
        return Some(exact);
    }
    let (mut fits, mut too_large) = (0, wanted);
    while too_large.abs_diff(fits) > 1 {
        let middle = u64::midpoint(fits, too_large);
        match make(middle) {
            Some(_) => fits = middle,
            None => too_large = middle,
        }
    }
    make(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_shown_with_three_decimals() {
        for (ms, shown) in [
            (0, "0.000"),
            (7, "0.007"),
            (1_000, "1.000"),
            (1_767_225_600_123, "1767225600.123"),
            (u64::MAX, "18446744073709551.615"),
        ] {
            assert_eq!(Timestamp::from_unix_millis(ms).to_string(), shown);
        }
    }

    #[test]
    fn a_system_time_before_the_epoch_is_zero() {
        let before = UNIX_EPOCH.checked_sub(Duration::from_secs(1)).unwrap();
        assert_eq!(Timestamp::from_system(before), Timestamp::default());
    }

    #[test]
    fn a_system_time_loses_what_is_finer_than_a_millisecond() {
        let time = UNIX_EPOCH.checked_add(Duration::from_micros(1_999)).unwrap();
        assert_eq!(Timestamp::from_system(time).as_unix_millis(), 1);
    }

    #[test]
    fn every_moment_converts_to_a_system_time_without_panic() {
        for ms in [0, 1, 1_767_225_600_123, u64::MAX] {
            let time = Timestamp::from_unix_millis(ms);
            assert!(SystemTime::from(time) >= UNIX_EPOCH);
        }
        let time = Timestamp::from_unix_millis(1_767_225_600_123);
        assert_eq!(Timestamp::from_system(time.into()), time);
    }

    #[test]
    fn a_platform_that_cannot_hold_a_moment_gets_its_latest_one() {
        for limit in [0, 1, 2, 1_000, u64::MAX - 1, u64::MAX] {
            let platform = |ms: u64| (ms <= limit).then_some(ms);
            assert_eq!(latest_that_fits(u64::MAX, platform), Some(limit));
            assert_eq!(latest_that_fits(0, platform), Some(0));
        }
    }

    #[test]
    fn a_timestamp_is_an_integer_in_serde() {
        let time = Timestamp::from_unix_millis(u64::MAX);
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, "18446744073709551615");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), time);
        assert!(serde_json::from_str::<Timestamp>("-1").is_err());
    }
}
