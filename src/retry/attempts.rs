//! One call's attempts: counts them, decides after each failure, and remembers what is not known.
//!
//! Neither waits nor calls anything itself, so that blocking and async callers share every decision.

use std::sync::Arc;
use std::time::Duration;

use super::delays::Delays;
use super::{GaveUp, RetryError, RetryPolicy, Retryable, counts};
use crate::{Clock, ErrorKind};

/// Who can open a store again that has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reopening {
    /// Nobody here.
    No,
    /// The caller of this, before the next attempt.
    Yes,
}

/// The attempts of one call.
#[derive(Debug)]
pub(super) struct Attempts {
    policy: RetryPolicy,
    delays: Delays,
    clock: Arc<dyn Clock>,
    reopening: Reopening,
    started: Duration,
    made: u32,
    outcome_is_unknown: bool,
    waited: Duration,
}

/// A wait, and the error after which it is.
#[derive(Debug)]
pub(super) struct Wait<E> {
    pub(super) delay: Duration,
    error: E,
}

impl Attempts {
    /// Begins a call now.
    pub(super) fn new(
        policy: RetryPolicy,
        clock: Arc<dyn Clock>,
        seed: Option<u64>,
        reopening: Reopening,
    ) -> Self {
        Self {
            policy,
            delays: Delays::new(&policy, seed),
            started: clock.monotonic(),
            clock,
            reopening,
            made: 0,
            outcome_is_unknown: false,
            waited: Duration::ZERO,
        }
    }

    /// An attempt succeeded.
    pub(super) fn succeeded(mut self) {
        self.made = self.made.saturating_add(1);
        let (attempt, attempts, delay_ms) = (self.made, self.made, millis(self.waited));
        let elapsed_ms = millis(self.elapsed());
        tracing::debug!(attempt, answer = "ok", "attempt");
        tracing::debug!(attempts, delay_ms, elapsed_ms, "succeeded");
    }

    /// An attempt failed: how long to wait before the next, or why there is none.
    pub(super) fn failed<E: Retryable>(&mut self, error: E) -> Result<Wait<E>, RetryError<E>> {
        self.made = self.made.saturating_add(1);
        if error.kind() == ErrorKind::OutcomeUnknown {
            self.outcome_is_unknown = true;
        } else if error.proves_no_effect() {
            self.outcome_is_unknown = false;
        }
        let (attempt, answer) = (self.made, error.kind());
        match self.next_delay(&error) {
            Ok(delay) => {
                tracing::debug!(attempt, %answer, delay_ms = millis(delay), "attempt");
                counts::retry(answer);
                Ok(Wait { delay, error })
            }
            Err(gave_up) => {
                tracing::debug!(attempt, %answer, "attempt");
                Err(self.give_up(error, gave_up))
            }
        }
    }

    /// The wait is over: whether there is time for another attempt.
    pub(super) fn waited<E: Retryable>(&mut self, wait: Wait<E>) -> Result<(), RetryError<E>> {
        self.waited = self.waited.saturating_add(wait.delay);
        // Whoever sleeps may oversleep.
        if self.elapsed() > self.policy.deadline() {
            return Err(self.give_up(wait.error, GaveUp::Deadline));
        }
        Ok(())
    }

    fn next_delay<E: Retryable>(&mut self, error: &E) -> Result<Duration, GaveUp> {
        if error.needs_reopen() {
            if self.reopening == Reopening::No {
                return Err(GaveUp::NeedsReopen);
            }
        } else if !error.is_transient() {
            return Err(GaveUp::Final);
        }
        if self.made >= self.policy.attempts() {
            return Err(GaveUp::Attempts);
        }
        let left = self.policy.deadline().checked_sub(self.elapsed()).ok_or(GaveUp::Deadline)?;
        let drawn = self.delays.draw();
        match error.retry_after() {
            Some(hint) => {
                // The hint is kept to the letter; only what is drawn on top gives way to the deadline.
                let least = hint.wait(self.clock.wall());
                let room = left.checked_sub(least).ok_or(GaveUp::RetryAfter)?;
                Ok(least.saturating_add(drawn.min(room)))
            }
            None if drawn > left => Err(GaveUp::Deadline),
            None => Ok(drawn),
        }
    }

    fn elapsed(&self) -> Duration {
        self.clock.monotonic().saturating_sub(self.started)
    }

    fn give_up<E: Retryable>(&self, error: E, gave_up: GaveUp) -> RetryError<E> {
        let (attempts, elapsed, outcome_is_unknown) = (self.made, self.elapsed(), self.outcome_is_unknown);
        let (delay_ms, elapsed_ms, reason) = (millis(self.waited), millis(elapsed), gave_up.word());
        counts::gave_up(gave_up);
        if gave_up == GaveUp::Final && !outcome_is_unknown {
            // A refusal is an answer like any other.
            tracing::debug!(attempts, delay_ms, elapsed_ms, outcome_is_unknown, reason, "gave up");
        } else {
            tracing::warn!(attempts, delay_ms, elapsed_ms, outcome_is_unknown, reason, "gave up");
        }
        RetryError { error, attempts, elapsed, outcome_is_unknown, gave_up }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
