//! The waits of one call: growing ceilings, and full jitter below them.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

use super::RetryPolicy;

/// Draws one wait after the other.
#[derive(Debug)]
pub(super) struct Delays {
    ceilings: ExponentialBackoff,
    cap: Duration,
    random: fastrand::Rng,
}

impl Delays {
    /// The waits of a policy; those of one seed are always the same.
    pub(super) fn new(policy: &RetryPolicy, seed: Option<u64>) -> Self {
        let ceilings = ExponentialBuilder::new()
            .with_min_delay(policy.first_delay())
            .with_factor(policy.factor())
            .with_max_delay(policy.cap())
            .without_max_times()
            .build();
        let random = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self { ceilings, cap: policy.cap(), random }
    }

    /// What the next wait is drawn from, at most.
    fn ceiling(&mut self) -> Duration {
        // The series has no end; its first delay may be above the cap.
        self.ceilings.next().map_or(self.cap, |ceiling| ceiling.min(self.cap))
    }

    /// The next wait: anything from nothing to its ceiling, all alike.
    pub(super) fn draw(&mut self) -> Duration {
        let ceiling = self.ceiling();
        Duration::from_nanos_u128(self.random.u128(0..=ceiling.as_nanos()))
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that overflows is to say so at once")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn policy(first: Duration, factor: f32, cap: Duration) -> RetryPolicy {
        RetryPolicy::builder().first_delay(first).factor(factor).cap(cap).build().unwrap()
    }

    fn ceilings(policy: &RetryPolicy, n: usize) -> Vec<Duration> {
        let mut delays = Delays::new(policy, None);
        (0..n).map(|_| delays.ceiling()).collect()
    }

    #[test]
    fn ceilings_grow_by_the_factor_up_to_the_cap() {
        let policy = policy(SECOND, 2.0, 10 * SECOND);
        assert_eq!(ceilings(&policy, 6), [1, 2, 4, 8, 10, 10].map(|n| n * SECOND));
    }

    #[test]
    fn a_first_delay_above_the_cap_counts_as_the_cap() {
        let policy = policy(Duration::MAX, 2.0, 10 * SECOND);
        assert_eq!(ceilings(&policy, 3), [10 * SECOND; 3]);
    }

    // C10
    #[test]
    fn two_hundred_waits_never_panic_and_never_exceed_the_cap() {
        for first in [Duration::ZERO, Duration::from_nanos(1), SECOND, Duration::MAX] {
            for factor in [1.0, 2.0, f32::MAX] {
                for cap in [Duration::ZERO, 10 * SECOND, Duration::MAX] {
                    let mut delays = Delays::new(&policy(first, factor, cap), None);
                    for attempt in 1..=200 {
                        let wait = delays.draw();
                        assert!(wait <= cap, "{attempt} {first:?} {factor} {cap:?}: {wait:?}");
                        assert!(!first.is_zero() || wait.is_zero());
                    }
                }
            }
        }
    }

    #[test]
    fn both_ends_of_the_range_are_drawn_and_all_between_alike() {
        let ceiling = Duration::from_nanos(9);
        let mut delays = Delays::new(&policy(ceiling, 1.0, ceiling), Some(7));
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[usize::try_from(delays.draw().as_nanos()).unwrap()] += 1;
        }
        // Each of the ten is drawn about a thousand times; 200 off is more than six standard deviations.
        assert!(seen.iter().all(|times| (800..=1_200).contains(times)), "{seen:?}");
    }

    fn durations() -> impl Strategy<Value = Duration> {
        prop_oneof![
            (0_u64..=5_000_000_000).prop_map(Duration::from_nanos),
            (any::<u64>(), 0_u32..1_000_000_000).prop_map(|(s, ns)| Duration::new(s, ns)),
            Just(Duration::MAX),
        ]
    }

    proptest! {
        #[test]
        fn no_wait_is_above_the_cap_or_its_ceiling(
            first in durations(), factor in 1.0_f32..1e6, cap in durations(), seed: u64,
        ) {
            let policy = policy(first, factor, cap);
            let mut delays = Delays::new(&policy, Some(seed));
            for ceiling in ceilings(&policy, 80) {
                prop_assert!(ceiling <= cap);
                prop_assert!(delays.draw() <= ceiling);
            }
        }

        #[test]
        fn the_whole_range_is_used(nanos in 1_000_u64.., seed: u64) {
            let ceiling = Duration::from_nanos(nanos);
            let mut delays = Delays::new(&policy(ceiling, 1.0, ceiling), Some(seed));
            // The series is in single precision and held by the cap, so that 99 % of it is there each time.
            let waits: Vec<_> = (0..400).map(|_| delays.draw().as_secs_f64() / ceiling.as_secs_f64()).collect();
            for tenth in 0..10_u32 {
                let (low, high) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
                // Missing one tenth in 400 draws has a chance of 5e-19.
                prop_assert!(waits.iter().any(|wait| (low..=high).contains(wait)), "{tenth} {waits:?}");
            }
        }
    }
}
