//! Retries: bounds, hints, what is known afterwards, what is told of them. Nothing here waits: time is a number.

mod bounds;
mod events;
mod stores;
mod unknown;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use pointstore::retry::{AsyncSleeper, Retrier, RetryAfter, RetryPolicy, Retryable, Sleeper};
use pointstore::{Clock, ErrorKind, ManualClock, Timestamp};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// An answer that is not a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("answered {kind}")]
pub(crate) struct Answer {
    pub(crate) kind: ErrorKind,
    pub(crate) hint: Option<RetryAfter>,
}

impl Answer {
    pub(crate) fn hinting(hint: impl Into<RetryAfter>) -> Self {
        Self { kind: ErrorKind::Busy, hint: Some(hint.into()) }
    }
}

impl From<ErrorKind> for Answer {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, hint: None }
    }
}

impl Retryable for Answer {
    fn kind(&self) -> ErrorKind {
        self.kind
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        self.hint
    }
}

/// A clock, and a sleeper that moves it and writes down by how much.
#[derive(Debug, Clone)]
pub(crate) struct Time {
    pub(crate) clock: ManualClock,
    slept: Rc<RefCell<Vec<Duration>>>,
    /// By what every sleep is longer than it should be.
    oversleep: Duration,
}

impl Time {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_unix_millis(1_000_000));
        Self { clock, slept: Rc::default(), oversleep: Duration::ZERO }
    }

    pub(crate) fn oversleeping(by: Duration) -> Self {
        Self { oversleep: by, ..Self::new() }
    }

    pub(crate) fn retrier(&self, policy: &RetryPolicy) -> Retrier<Self> {
        policy.retrier().clock(self.clock.clone()).sleeper(self.clone())
    }

    pub(crate) fn slept(&self) -> Vec<Duration> {
        self.slept.borrow().clone()
    }

    pub(crate) fn gone_by(&self) -> Duration {
        self.clock.monotonic()
    }

    fn pass(&self, delay: Duration) {
        self.slept.borrow_mut().push(delay);
        self.clock.advance(delay.saturating_add(self.oversleep));
    }
}

impl Sleeper for Time {
    fn sleep(&self, delay: Duration) {
        self.pass(delay);
    }
}

impl AsyncSleeper for Time {
    type Sleep = std::future::Ready<()>;

    fn sleep(&self, delay: Duration) -> Self::Sleep {
        self.pass(delay);
        std::future::ready(())
    }
}

/// An operation that fails with each answer in turn, then succeeds with the number of the attempt.
pub(crate) fn script(
    answers: impl IntoIterator<Item = impl Into<Answer>>,
) -> impl FnMut() -> Result<usize, Answer> {
    let mut answers: Vec<Answer> = answers.into_iter().map(Into::into).collect();
    answers.reverse();
    let mut attempt = 0;
    move || {
        attempt += 1;
        answers.pop().map_or(Ok(attempt), Err)
    }
}
