//! The conversions that both amounts share, so that a bound is written once for each of them.
//!
//! Keeps C02: no integer type, sign or size finds a way around the bounds.

/// Reads digits and nothing else; `None` when there is anything else, or nothing. Beyond `i128` it saturates.
pub(super) fn parse_digits(text: &str) -> Option<i128> {
    if text.is_empty() {
        return None;
    }
    text.chars().try_fold(0_i128, |sum, c| {
        let digit = i128::from(c.to_digit(10)?);
        Some(sum.saturating_mul(10).saturating_add(digit))
    })
}

/// Conversions of a newtype over `i64` that has `MIN`, `MAX`, `get` and a private `in_bounds(i64) -> bool`.
macro_rules! amount_conversions {
    ($type:ident, $field:expr) => {
        impl $type {
            fn from_i128(given: i128) -> Result<Self, $crate::types::InvalidCommand> {
                let (min, max) = (Self::MIN.get(), Self::MAX.get());
                match i64::try_from(given) {
                    Ok(value) if (min..=max).contains(&value) => Ok(Self(value)),
                    _ => Err($crate::types::InvalidCommand::OutOfRange {
                        field: $field,
                        given,
                        min,
                        max,
                    }),
                }
            }
        }

        $crate::types::amount::amount_conversions!(@from $type, i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 isize usize);

        impl From<$type> for i64 {
            fn from(amount: $type) -> Self {
                amount.get()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.get(), f)
            }
        }

        /// Reads a whole decimal number: digits only, no sign, no separators. Leading zeros change nothing.
        impl std::str::FromStr for $type {
            type Err = $crate::types::InvalidCommand;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let given = $crate::types::amount::parse_digits(text)
                    .ok_or($crate::types::InvalidCommand::NotANumber { field: $field })?;
                Self::from_i128(given)
            }
        }
    };
    (@from $type:ident, $($integer:ident)+) => {$(
        impl TryFrom<$integer> for $type {
            type Error = $crate::types::InvalidCommand;

            fn try_from(given: $integer) -> Result<Self, Self::Error> {
                // Of all these only a u128 can be beyond i128, and only upwards.
                Self::from_i128(i128::try_from(given).unwrap_or(i128::MAX))
            }
        }
    )+};
}

pub(super) use amount_conversions;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_digits_are_a_number() {
        for text in ["", " ", "-1", "+1", "1 ", "1.0", "1e3", "0x1", "1_000", "١", "५", "１", "1\0"] {
            assert_eq!(parse_digits(text), None, "{text:?}");
        }
    }

    #[test]
    fn leading_zeros_change_nothing() {
        assert_eq!(parse_digits("007"), Some(7));
        assert_eq!(parse_digits("000"), Some(0));
    }

    #[test]
    fn more_digits_than_fit_stay_at_the_top() {
        assert_eq!(parse_digits(&"9".repeat(1_000)), Some(i128::MAX));
        assert_eq!(parse_digits(&u128::MAX.to_string()), Some(i128::MAX));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(number in 0..=i128::MAX) {
            prop_assert_eq!(parse_digits(&number.to_string()), Some(number));
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".*") {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            prop_assert_eq!(parse_digits(&text).is_some(), digits);
        }
    }
}
