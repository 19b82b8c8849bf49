//! Measures the steps of a group, where somebody wants to know.

use std::time::Duration;

use crate::types::Clock;

/// A stopwatch; without a clock it shows zero, and costs nothing.
#[derive(Debug)]
pub(super) struct Laps<'a> {
    clock: Option<&'a dyn Clock>,
    last: Duration,
}

impl<'a> Laps<'a> {
    /// Starts now.
    pub(super) fn start(clock: Option<&'a dyn Clock>) -> Self {
        Self { clock, last: clock.map_or(Duration::ZERO, Clock::monotonic) }
    }

    /// The time since the last lap, or since the start.
    pub(super) fn lap(&mut self) -> Duration {
        let Some(clock) = self.clock else { return Duration::ZERO };
        let now = clock.monotonic();
        now.saturating_sub(std::mem::replace(&mut self.last, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ManualClock, Timestamp};

    #[test]
    fn each_lap_is_the_time_since_the_one_before() {
        let clock = ManualClock::at(Timestamp::default());
        clock.advance(Duration::from_secs(1));
        let mut laps = Laps::start(Some(&clock));
        clock.advance(Duration::from_secs(2));
        assert_eq!(laps.lap(), Duration::from_secs(2));
        assert_eq!(laps.lap(), Duration::ZERO);
        clock.advance(Duration::from_secs(3));
        assert_eq!(laps.lap(), Duration::from_secs(3));
    }
}
