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
