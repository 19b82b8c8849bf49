//! How long the other side asks to be left alone.

use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use crate::{ErrorKind, Timestamp};

/// A hint of the other side: not before then.
///
/// Text is read as the HTTP field `Retry-After` (RFC 9110, section 10.2.3): whole seconds, or a date in any of the
/// three forms of HTTP. More seconds than fit into a `u64` are taken for the most that do.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use pointstore::Timestamp;
/// use pointstore::retry::RetryAfter;
///
/// let hint: RetryAfter = "120".parse()?;
/// assert_eq!(hint, RetryAfter::Delay(Duration::from_secs(120)));
///
/// let hint: RetryAfter = "Fri, 31 Dec 1999 23:59:59 GMT".parse()?;
/// assert_eq!(hint, RetryAfter::At(Timestamp::from_unix_millis(946_684_799_000)));
///
/// assert!("-1".parse::<RetryAfter>().is_err());
/// assert!("soon".parse::<RetryAfter>().is_err());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryAfter {
    /// So long after the answer.
    Delay(Duration),
    /// At this time of day, by the clock of the one who retries.
    At(Timestamp),
}

impl RetryAfter {
    /// How long to wait when it is `now`; nothing where the moment is past.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use pointstore::Timestamp;
    /// use pointstore::retry::RetryAfter;
    ///
    /// let at = RetryAfter::At(Timestamp::from_unix_millis(9_000));
    /// assert_eq!(at.wait(Timestamp::from_unix_millis(7_000)), Duration::from_secs(2));
    /// assert_eq!(at.wait(Timestamp::from_unix_millis(9_001)), Duration::ZERO);
    /// ```
    pub fn wait(self, now: Timestamp) -> Duration {
        match self {
            Self::Delay(delay) => delay,
            Self::At(then) => {
                Duration::from_millis(then.as_unix_millis().saturating_sub(now.as_unix_millis()))
            }
        }
    }
}

impl From<Duration> for RetryAfter {
    fn from(delay: Duration) -> Self {
        Self::Delay(delay)
    }
}

/// Spaces and tabs around the value are left out, as in a field of HTTP.
impl FromStr for RetryAfter {
    type Err = InvalidRetryAfter;

    fn from_str(text: &str) -> Result<Self, InvalidRetryAfter> {
        let text = text.trim_matches([' ', '\t']);
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // Nothing but digits can only be too large.
            return Ok(Self::Delay(Duration::from_secs(text.parse().unwrap_or(u64::MAX))));
        }
        let date = httpdate::parse_http_date(text).map_err(|_| InvalidRetryAfter)?;
        let since = date.duration_since(UNIX_EPOCH).map_err(|_| InvalidRetryAfter)?;
        let ms = u64::try_from(since.as_millis()).map_err(|_| InvalidRetryAfter)?;
        Ok(Self::At(Timestamp::from_unix_millis(ms)))
    }
}

/// A text is neither whole seconds nor a date of HTTP from 1970 on: go on as if there were no hint.
///
/// # Examples
///
/// ```
/// use pointstore::retry::RetryAfter;
///
/// let error = "1.5".parse::<RetryAfter>().unwrap_err();
/// assert_eq!(error.to_string(), "invalid retry-after: neither whole seconds nor a date of http");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid retry-after: neither whole seconds nor a date of http")]
pub struct InvalidRetryAfter;

impl InvalidRetryAfter {
    /// Always [`ErrorKind::Invalid`].
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_three_dates_of_http_are_the_same_moment() {
        // The examples of RFC 9110, section 5.6.7.
        for text in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(
                text.parse(),
                Ok(RetryAfter::At(Timestamp::from_unix_millis(784_111_777_000))),
                "{text}"
            );
        }
    }

    #[test]
    fn seconds_are_digits_and_nothing_else() {
        let seconds = |n| Ok(RetryAfter::Delay(Duration::from_secs(n)));
        assert_eq!("0".parse(), seconds(0));
        assert_eq!(" 007\t".parse(), seconds(7));
        assert_eq!("9".repeat(400).parse(), seconds(u64::MAX));
        for text in ["", " ", "+1", "-1", "1.5", "1e3", "0x10", "1 2", "\u{663}", "never", "31 Feb"] {
            assert_eq!(text.parse::<RetryAfter>(), Err(InvalidRetryAfter), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String, digits in "[0-9]{0,30}") {
            // Whether it can be read is not asked here.
            let _ = text.parse::<RetryAfter>();
            prop_assert_eq!(digits.parse::<RetryAfter>().is_ok(), !digits.is_empty());
        }

        #[test]
        fn a_date_that_was_written_is_read_as_the_same_second(secs in 0_u64..253_402_300_800) {
            let time = Timestamp::from_unix_millis(secs.saturating_mul(1_000));
            let text = httpdate::fmt_http_date(SystemTime::from(time));
            prop_assert_eq!(text.parse(), Ok(RetryAfter::At(time)));
        }

        #[test]
        fn no_wait_is_negative_or_wraps(then: u64, now: u64) {
            let wait = RetryAfter::At(Timestamp::from_unix_millis(then)).wait(Timestamp::from_unix_millis(now));
            prop_assert_eq!(wait.as_millis(), u128::from(then.saturating_sub(now)));
        }
    }
}
