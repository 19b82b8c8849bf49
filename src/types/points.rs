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
    pub const fn new(points: i64) -> Result<Self, InvalidCommand> {
        if points >= Self::MIN.0 {
            return Ok(Self(points));
        }
        let (min, max) = (Self::MIN.0, Self::MAX.0);
        Err(InvalidCommand::OutOfRange { field: Field::Points, given: points as i128, min, max })
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(given: i128) -> Result<Points, InvalidCommand> {
        let (field, min, max) = (Field::Points, 1, i64::MAX);
        Err(InvalidCommand::OutOfRange { field, given, min, max })
    }

    // C02
    #[test]
    fn numbers_below_the_smallest_are_refused_from_every_signed_type() {
        assert_eq!(Points::new(0), refused(0));
        assert_eq!(Points::new(i64::MIN), refused(i64::MIN.into()));
        assert_eq!(Points::try_from(-1_i8), refused(-1));
        assert_eq!(Points::try_from(i8::MIN), refused(i8::MIN.into()));
        assert_eq!(Points::try_from(i16::MIN), refused(i16::MIN.into()));
        assert_eq!(Points::try_from(i32::MIN), refused(i32::MIN.into()));
        assert_eq!(Points::try_from(i128::MIN), refused(i128::MIN));
        assert_eq!(Points::try_from(-1_isize), refused(-1));
    }

    // C02
    #[test]
    fn numbers_above_the_largest_are_refused_from_every_wide_type() {
        assert_eq!(Points::try_from(i64::MAX.unsigned_abs() + 1), refused(1 << 63));
        assert_eq!(Points::try_from(u64::MAX), refused(u64::MAX.into()));
        assert_eq!(Points::try_from(1_i128 << 63), refused(1 << 63));
        assert_eq!(Points::try_from(1_u128 << 63), refused(1 << 63));
        assert_eq!(Points::try_from(u128::MAX), refused(i128::MAX));
        assert_eq!("9223372036854775808".parse::<Points>(), refused(1 << 63));
    }

    #[test]
    fn the_bounds_are_accepted_from_every_type_that_holds_them() {
        let max = Points::MAX;
        assert_eq!(max.get(), i64::MAX);
        assert_eq!(Points::new(i64::MAX), Ok(max));
        assert_eq!(Points::try_from(i64::MAX.unsigned_abs()), Ok(max));
        assert_eq!(Points::try_from(i128::from(i64::MAX)), Ok(max));
        assert_eq!(Points::try_from(u128::from(i64::MAX.unsigned_abs())), Ok(max));
        assert_eq!("9223372036854775807".parse(), Ok(max));
        let min = Points::MIN;
        assert_eq!(min.get(), 1);
        assert_eq!(
            [Points::try_from(1_u8), Points::try_from(1_u16), Points::try_from(1_u32)],
            [const { Ok(Points::MIN) }; 3]
        );
        assert_eq!(
            [Points::try_from(1_usize), Points::try_from(1_isize), "1".parse()],
            [const { Ok(Points::MIN) }; 3]
        );
    }

    #[test]
    fn a_text_that_is_not_a_number_is_not_repeated_in_the_error() {
        let error = "12 secret".parse::<Points>().unwrap_err();
        assert_eq!(error, InvalidCommand::NotANumber { field: Field::Points });
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn reading_goes_through_the_bounds() {
        for json in ["0", "-9223372036854775808", "9223372036854775808", "1.0", "1e2", "\"1\"", "null"] {
            assert!(serde_json::from_str::<Points>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn any_number_in_bounds_is_kept_and_any_other_refused(number: i64) {
            match Points::new(number) {
                Ok(made) => {
                    prop_assert!(number >= 1);
                    prop_assert_eq!(i64::from(made), number);
                    prop_assert_eq!(made.to_string().parse::<Points>(), Ok(made));
                    let json = serde_json::to_string(&made).unwrap();
                    prop_assert_eq!(&json, &number.to_string());
                    prop_assert_eq!(serde_json::from_str::<Points>(&json).unwrap(), made);
                }
                Err(error) => {
                    prop_assert!(number < 1);
                    prop_assert_eq!(Err(error), refused(number.into()));
                }
            }
        }

        #[test]
        fn sum_and_difference_are_exact_or_none(a in 1..=i64::MAX, b in 1..=i64::MAX) {
            let (x, y) = (Points::new(a).unwrap(), Points::new(b).unwrap());
            let exact = |n: Option<i128>| i64::try_from(n?).ok().filter(|n| *n >= 1);
            let (a, b) = (i128::from(a), i128::from(b));
            prop_assert_eq!(x.checked_add(y).map(Points::get), exact(a.checked_add(b)));
            prop_assert_eq!(x.checked_sub(y).map(Points::get), exact(a.checked_sub(b)));
        }
    }
}
