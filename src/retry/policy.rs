//! The bounds of retrying: delays, factor, cap, attempts, deadline.

use std::time::Duration;

use crate::ErrorKind;

const FIRST_DELAY: Duration = Duration::from_millis(50);
const FACTOR: f32 = 2.0;
const CAP: Duration = Duration::from_secs(5);
const ATTEMPTS: u32 = 8;
const DEADLINE: Duration = Duration::from_secs(30);

/// How often, how long and with which waits something is tried again.
///
/// Unless set otherwise: a first delay of 50 ms, doubled each time up to 5 s, 8 attempts in all within 30 s. Delays are
/// ceilings: the waits are drawn from 0 up to them, see the [module](crate::retry).
///
/// A policy is only numbers. It runs on the system's clock and a [`Timer`](crate::retry::Timer);
/// [`retrier`](Self::retrier) gives it others.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use pointstore::retry::RetryPolicy;
///
/// let policy = RetryPolicy::builder()
///     .first_delay(Duration::from_millis(20))
///     .factor(3.0)
///     .cap(Duration::from_secs(1))
///     .attempts(5)
///     .deadline(Duration::from_secs(10))
///     .build()?;
/// assert_eq!(policy.attempts(), 5);
/// assert_eq!(policy.deadline(), Duration::from_secs(10));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    first_delay: Duration,
    factor: f32,
    cap: Duration,
    attempts: u32,
    deadline: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { first_delay: FIRST_DELAY, factor: FACTOR, cap: CAP, attempts: ATTEMPTS, deadline: DEADLINE }
    }
}

impl RetryPolicy {
    /// A policy to be set up; it begins as the default one.
    ///
    /// # Examples
    ///
    /// ```
    /// use pointstore::retry::RetryPolicy;
    ///
    /// assert_eq!(RetryPolicy::builder().build(), Ok(RetryPolicy::default()));
    /// ```
    pub fn builder() -> RetryPolicyBuilder {
        RetryPolicyBuilder { policy: Self::default() }
    }

    /// The ceiling of the first wait, before the cap.
    pub fn first_delay(&self) -> Duration {
        self.first_delay
    }

    /// By what each ceiling is larger than the one before; at least 1.
    pub fn factor(&self) -> f32 {
        self.factor
    }

    /// The most that is ever waited without a hint of the other side.
    pub fn cap(&self) -> Duration {
        self.cap
    }

    /// How often it is tried at most, the first attempt included; at least 1.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How long after the call no further attempt begins.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }
}

/// Sets up a [`RetryPolicy`]; [`RetryPolicy::builder`] starts one.
///
/// # Examples
///
/// ```
/// use pointstore::retry::{InvalidRetryPolicy, RetryPolicy};
///
/// let error = RetryPolicy::builder().factor(0.5).build().unwrap_err();
/// assert_eq!(error, InvalidRetryPolicy::Factor { given: 0.5 });
/// assert_eq!(error.to_string(), "invalid retry factor: a finite number of at least 1 is needed given=0.5");
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct RetryPolicyBuilder {
    policy: RetryPolicy,
}

impl RetryPolicyBuilder {
    /// The ceiling of the first wait: 50 ms unless set.
    ///
    /// Any duration will do. Zero means that there are no waits at all but those that the other side asks for; what is
    /// longer than the cap counts as the cap.
    pub fn first_delay(mut self, delay: Duration) -> Self {
        self.policy.first_delay = delay;
        self
    }

    /// By what each ceiling is larger than the one before: 2 unless set. It is finite and at least 1.
    ///
    /// Ceilings grow in single precision: they are exact to about one part in ten million.
    pub fn factor(mut self, factor: f32) -> Self {
        self.policy.factor = factor;
        self
    }

    /// The most that a ceiling can be: 5 s unless set. Any duration will do.
    pub fn cap(mut self, cap: Duration) -> Self {
        self.policy.cap = cap;
        self
    }

    /// How often it is tried at most, the first attempt included: 8 unless set, and at least 1, which means no retry.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.policy.attempts = attempts;
        self
    }

    /// How long after the call no further attempt begins: 30 s unless set.
    ///
    /// Any duration will do. With zero there is one attempt, and more only as long as no time goes by at all. With
    /// [`Duration::MAX`] a hint of the other side can make it wait for ever.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.policy.deadline = deadline;
        self
    }

    /// The policy.
    ///
    /// # Errors
    ///
    /// [`InvalidRetryPolicy`] names the value that is out of bounds and what is allowed.
    pub fn build(self) -> Result<RetryPolicy, InvalidRetryPolicy> {
        let RetryPolicy { factor, attempts, .. } = self.policy;
        if !(factor.is_finite() && factor >= 1.0) {
            return Err(InvalidRetryPolicy::Factor { given: factor });
        }
        if attempts == 0 {
            return Err(InvalidRetryPolicy::Attempts);
        }
        Ok(self.policy)
    }
}

/// A value of a policy is out of bounds: mend the program or its settings.
///
/// # Examples
///
/// ```
/// use pointstore::ErrorKind;
/// use pointstore::retry::RetryPolicy;
///
/// let error = RetryPolicy::builder().attempts(0).build().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert_eq!(error.to_string(), "invalid number of attempts: at least 1 is needed given=0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRetryPolicy {
    /// The factor is not a finite number of at least 1: waits would become shorter, or nothing at all.
    #[error("invalid retry factor: a finite number of at least 1 is needed given={given}")]
    Factor {
        /// What was given.
        given: f32,
    },
    /// There would not be a single attempt.
    #[error("invalid number of attempts: at least 1 is needed given=0")]
    Attempts,
}

impl InvalidRetryPolicy {
    /// Always [`ErrorKind::Invalid`].
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_that_would_not_grow_is_refused() {
        for factor in [0.999, 0.0, -2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = RetryPolicy::builder().factor(factor).build().unwrap_err();
            assert!(matches!(error, InvalidRetryPolicy::Factor { .. }), "{factor}");
        }
        for factor in [1.0, 1.5, f32::MAX] {
            assert_eq!(
                RetryPolicy::builder().factor(factor).build().unwrap().factor().to_bits(),
                factor.to_bits()
            );
        }
    }

    #[test]
    fn every_duration_is_accepted() {
        for delay in [Duration::ZERO, Duration::MAX] {
            let builder =
                RetryPolicy::builder().first_delay(delay).cap(delay).deadline(delay).attempts(u32::MAX);
            let policy = builder.build().unwrap();
            assert_eq!((policy.first_delay(), policy.cap(), policy.deadline()), (delay, delay, delay));
        }
    }

    #[test]
    fn the_messages_name_what_was_given() {
        insta::assert_snapshot!(InvalidRetryPolicy::Factor { given: f32::NAN }, @"invalid retry factor: a finite number of at least 1 is needed given=NaN");
        insta::assert_snapshot!(InvalidRetryPolicy::Attempts, @"invalid number of attempts: at least 1 is needed given=0");
    }
}
