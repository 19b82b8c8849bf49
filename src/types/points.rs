//! The amount of a request: at least one point.

use serde::{Deserialize, Serialize};

use super::amount::amount_conversions;
use super::{Field, InvalidCommand};

/// An amount of points to grant or to redeem: 1 to `i64::MAX`.
///
/// Neither zero nor a negative amount exists; which way points move is said by the operation. All arithmetic is
/// checked. It converts from every integer type with [`TryFrom`], from digits with [`FromStr`](std::str::FromStr), and
/// is an integer in serde, always within the same bounds.
///
/// # Examples
///
/// ```
/// use pointstore::Points;
///
/// let points = Points::new(500)?;
/// assert_eq!(points.get(), 500);
/// assert_eq!(Points::try_from(500_u32)?, points);
/// assert_eq!("500".parse::<Points>()?, points);
/// assert!(Points::new(0).is_err());
/// # Ok::<(), pointstore::InvalidCommand>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Points(i64);

impl Points {
    /// The smallest amount: one point.
    pub const MIN: Self = Self(1);

    /// The largest amount: `i64::MAX` points.
    pub const MAX: Self = Self(i64::MAX);

    /// Checks a number and keeps it as an amount.
    ///
    /// # Errors
    ///
    /// [`InvalidCommand::OutOfRange`] when the number is zero or negative. The same number is refused every time.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::Points;
    ///
    /// assert_eq!(Points::new(1)?, Points::MIN);
    /// assert!(Points::new(i64::MIN).is_err());
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn new(points: i64) -> Result<Self, InvalidCommand> {
        Self::try_from(points)
    }

    /// The number of points.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(pointstore::Points::MAX.get(), i64::MAX);
    /// ```
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The sum, or `None` when it would be larger than [`MAX`](Self::MAX).
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::Points;
    ///
    /// assert_eq!(Points::new(2)?.checked_add(Points::MIN), Some(Points::new(3)?));
    /// assert_eq!(Points::MAX.checked_add(Points::MIN), None);
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference, or `None` when it would be less than [`MIN`](Self::MIN).
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::Points;
    ///
    /// assert_eq!(Points::new(3)?.checked_sub(Points::MIN), Some(Points::new(2)?));
    /// assert_eq!(Points::MIN.checked_sub(Points::MIN), None);
    /// # Ok::<(), pointstore::InvalidCommand>(())
    /// ```
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let rest = self.0.checked_sub(other.0)?;
        (rest >= Self::MIN.0).then_some(Self(rest))
    }
}

amount_conversions!(Points, Field::Points);
