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
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
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
        latest_that_fits(time.0, |ms| {
            UNIX_EPOCH.checked_add(Duration::from_millis(ms))
        })
        .unwrap_or(UNIX_EPOCH)
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
