//! What an account holds: zero points or more.

use serde::{Deserialize, Serialize};

use super::amount::amount_conversions;
use super::{Field, InvalidCommand, Points};

/// The points an account holds: 0 to `i64::MAX`.
///
/// It changes by [`Points`] and only by checked operations: it can neither wrap around nor go below zero. Totals over
/// many accounts can exceed it and are `u128`. Conversions and serde keep the same bounds.
///
/// # Examples
///
/// ```
/// use pointstore::{Balance, Points};
///
/// let balance = Balance::ZERO.checked_add(Points::new(500)?);
/// assert_eq!(balance, Some(Balance::new(500)?));
/// assert_eq!(Balance::default(), Balance::ZERO);
/// # Ok::<(), pointstore::InvalidCommand>(())
/// ```
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "i64", into = "i64")]
pub struct Balance(i64);

impl Balance {
    /// No points: what an account holds before its first receipt.
    pub const ZERO: Self = Self(0);

    /// The largest balance: `i64::MAX` points.
    pub const MAX: Self = Self(i64::MAX);

    /// The lower bound, under the name that the shared conversions use.
    const MIN: Self = Self::ZERO;

    /// Checks a number and keeps it as a balance.
    ///
    /// # Errors
    ///
    /// [`InvalidCommand::OutOfRange`] when the number is negative. The same number is refused every time.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::Balance;
    ///
    /// assert_eq!(Balance::new(0)?, Balance::ZERO);
    /// assert!(Balance::new(-1).is_err());
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
    /// assert_eq!(pointstore::Balance::ZERO.get(), 0);
    /// ```
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The balance after a grant, or `None` when it would be larger than [`MAX`](Self::MAX).
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{Balance, Points};
    ///
    /// assert_eq!(Balance::ZERO.checked_add(Points::MAX), Some(Balance::MAX));
    /// assert_eq!(Balance::MAX.checked_add(Points::MIN), None);
    /// ```
    pub fn checked_add(self, points: Points) -> Option<Self> {
        self.0.checked_add(points.get()).map(Self)
    }

    /// The balance after redeeming, or `None` when it would be less than zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::{Balance, Points};
    ///
    /// assert_eq!(Balance::MAX.checked_sub(Points::MAX), Some(Balance::ZERO));
    /// assert_eq!(Balance::ZERO.checked_sub(Points::MIN), None);
    /// ```
    pub fn checked_sub(self, points: Points) -> Option<Self> {
        let rest = self.0.checked_sub(points.get())?;
        (rest >= 0).then_some(Self(rest))
    }
}

impl From<Points> for Balance {
    fn from(points: Points) -> Self {
        Self(points.get())
    }
}

amount_conversions!(Balance, Field::Balance);
