//! Retries that are safe: which errors, how long to wait, when to stop, and what is known afterwards.
//!
//! A retry has its effect once because the key stays the same. This module decides the rest: it asks an error what
//! became of the command, waits longer and longer with *full jitter*, heeds a [`RetryAfter`] of the other side, and
//! gives up within a bound on attempts and a deadline.
//!
//! # What is retried
//!
//! | last answer | what a policy does |
//! |---|---|
//! | a success, a replay too | returns it |
//! | [`Busy`](crate::ErrorKind::Busy), [`Unavailable`](crate::ErrorKind::Unavailable), [`NotAttempted`](crate::ErrorKind::NotAttempted) | waits, then asks again with the same command |
//! | [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) of something that mends itself | waits, then asks again: the same key makes that safe |
//! | anything of a store that [needs to be opened again](Retryable::needs_reopen) | gives up at once, since that handle can only say *closed*; [`apply_reopening`](RetryPolicy::apply_reopening) closes it, opens it again and goes on |
//! | [`Invalid`](crate::ErrorKind::Invalid), [`KeyReused`](crate::ErrorKind::KeyReused), [`Rejected`](crate::ErrorKind::Rejected), [`Corrupt`](crate::ErrorKind::Corrupt) | returns it at once |
//!
//! # How long it waits
//!
//! The *n*-th wait is drawn evenly from 0 to its ceiling, both included, where the ceiling is the first delay times
//! the factor to the power of *n* - 1, and at most the cap. This is the full jitter of
//! <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>. The ceilings come from the crate
//! `backon`; its own jitter is added on top of a delay and so goes up to twice the cap, therefore it is not used.
//!
//! With a [`RetryAfter`] the wait is what that says, and the drawn time on top, as far as the deadline has room for
//! it: those who were given the same hint do not come back in the same moment.
//!
//! A wait that would end after the deadline is not begun: the policy gives up at once, not at the deadline. No
//! attempt begins after the deadline. One that is under way is never broken off, so a call can take longer than the
//! deadline by one attempt.
//!
//! # What is known afterwards
//!
//! [`RetryError::outcome_is_unknown`] is about all attempts, not about the last. Once an attempt's outcome is
//! unknown it stays so, whatever a later one fails with: that nothing was attempted *then* tells nothing of before.
//! Only two things end it: a success, and an answer that proves that there is no effect and will be none
//! ([`Retryable::proves_no_effect`]).

mod attempts;
mod counts;
mod delays;
mod error;
mod policy;
mod retrier;
mod retry_after;
mod retryable;
mod sleeper;
mod store;

pub use self::error::{GaveUp, RetryError};
pub use self::policy::{InvalidRetryPolicy, RetryPolicy, RetryPolicyBuilder};
pub use self::retrier::Retrier;
pub use self::retry_after::{InvalidRetryAfter, RetryAfter};
pub use self::retryable::Retryable;
pub use self::sleeper::{AsyncSleeper, Sleeper, Timer, TimerSleep};
pub use self::store::ReopenError;
