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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(given: i128) -> Result<Balance, InvalidCommand> {
        let (field, min, max) = (Field::Balance, 0, i64::MAX);
        Err(InvalidCommand::OutOfRange { field, given, min, max })
    }

    // C02
    #[test]
    fn numbers_below_the_smallest_are_refused_from_every_signed_type() {
        assert_eq!(Balance::new(-1), refused(-1));
        assert_eq!(Balance::new(i64::MIN), refused(i64::MIN.into()));
        assert_eq!(Balance::try_from(-1_i8), refused(-1));
        assert_eq!(Balance::try_from(i8::MIN), refused(i8::MIN.into()));
        assert_eq!(Balance::try_from(i16::MIN), refused(i16::MIN.into()));
        assert_eq!(Balance::try_from(i32::MIN), refused(i32::MIN.into()));
        assert_eq!(Balance::try_from(i128::MIN), refused(i128::MIN));
        assert_eq!(Balance::try_from(-1_isize), refused(-1));
    }

    // C02
    #[test]
    fn numbers_above_the_largest_are_refused_from_every_wide_type() {
        assert_eq!(Balance::try_from(i64::MAX.unsigned_abs() + 1), refused(1 << 63));
        assert_eq!(Balance::try_from(u64::MAX), refused(u64::MAX.into()));
        assert_eq!(Balance::try_from(1_i128 << 63), refused(1 << 63));
        assert_eq!(Balance::try_from(1_u128 << 63), refused(1 << 63));
        assert_eq!(Balance::try_from(u128::MAX), refused(i128::MAX));
        assert_eq!("9223372036854775808".parse::<Balance>(), refused(1 << 63));
    }

    #[test]
    fn the_bounds_are_accepted_from_every_type_that_holds_them() {
        let max = Balance::MAX;
        assert_eq!(max.get(), i64::MAX);
        assert_eq!(Balance::new(i64::MAX), Ok(max));
        assert_eq!(Balance::try_from(i64::MAX.unsigned_abs()), Ok(max));
        assert_eq!(Balance::try_from(i128::from(i64::MAX)), Ok(max));
        assert_eq!(Balance::try_from(u128::from(i64::MAX.unsigned_abs())), Ok(max));
        assert_eq!("9223372036854775807".parse(), Ok(max));
        let min = Balance::MIN;
        assert_eq!(min.get(), 0);
        assert_eq!(
            [Balance::try_from(0_u8), Balance::try_from(0_u16), Balance::try_from(0_u32)],
            [const { Ok(Balance::MIN) }; 3]
        );
        assert_eq!(
            [Balance::try_from(0_usize), Balance::try_from(0_isize), "0".parse()],
            [const { Ok(Balance::MIN) }; 3]
        );
    }

    #[test]
    fn a_text_that_is_not_a_number_is_not_repeated_in_the_error() {
        let error = "12 secret".parse::<Balance>().unwrap_err();
        assert_eq!(error, InvalidCommand::NotANumber { field: Field::Balance });
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn reading_goes_through_the_bounds() {
        for json in ["-1", "-9223372036854775808", "9223372036854775808", "1.0", "1e2", "\"1\"", "null"] {
            assert!(serde_json::from_str::<Balance>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn any_number_in_bounds_is_kept_and_any_other_refused(number: i64) {
            match Balance::new(number) {
                Ok(made) => {
                    prop_assert!(number >= 0);
                    prop_assert_eq!(i64::from(made), number);
                    prop_assert_eq!(made.to_string().parse::<Balance>(), Ok(made));
                    let json = serde_json::to_string(&made).unwrap();
                    prop_assert_eq!(&json, &number.to_string());
                    prop_assert_eq!(serde_json::from_str::<Balance>(&json).unwrap(), made);
                }
                Err(error) => {
                    prop_assert!(number < 0);
                    prop_assert_eq!(Err(error), refused(number.into()));
                }
            }
        }

        #[test]
        fn sum_and_difference_are_exact_or_none(a in 0..=i64::MAX, b in 1..=i64::MAX) {
            let (x, y) = (Balance::new(a).unwrap(), Points::new(b).unwrap());
            let exact = |n: Option<i128>| i64::try_from(n?).ok().filter(|n| *n >= 0);
            let (a, b) = (i128::from(a), i128::from(b));
            prop_assert_eq!(x.checked_add(y).map(Balance::get), exact(a.checked_add(b)));
            prop_assert_eq!(x.checked_sub(y).map(Balance::get), exact(a.checked_sub(b)));
        }

        #[test]
        fn points_as_a_balance_are_as_many(points in 1..=i64::MAX) {
            let points = Points::new(points).unwrap();
            prop_assert_eq!(Balance::from(points).get(), points.get());
        }
    }
}
