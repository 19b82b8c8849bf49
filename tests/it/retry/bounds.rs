//! How often and how long: attempts, deadline, hints, and that async callers get the same as blocking ones.

use std::cell::Cell;
use std::time::Duration;

use pointstore::retry::{GaveUp, RetryAfter, RetryPolicy};
use pointstore::{ErrorKind, Timestamp};
use proptest::prelude::*;

use super::{Answer, MS, SECOND, Time, script};

const TRANSIENT: [ErrorKind; 4] =
    [ErrorKind::Busy, ErrorKind::NotAttempted, ErrorKind::OutcomeUnknown, ErrorKind::Unavailable];

fn policy(attempts: u32, deadline: Duration) -> RetryPolicy {
    RetryPolicy::builder().attempts(attempts).deadline(deadline).build().unwrap()
}

#[test]
fn as_many_attempts_are_made_as_there_may_be() {
    for attempts in [1, 2, 7] {
        let (time, calls) = (Time::new(), Cell::new(0));
        let error = time
            .retrier(&policy(attempts, Duration::MAX))
            .run(|| {
                calls.set(calls.get() + 1);
                Err::<(), _>(Answer::from(ErrorKind::Busy))
            })
            .unwrap_err();
        assert_eq!((calls.get(), error.attempts()), (attempts, attempts));
        assert_eq!(error.gave_up(), GaveUp::Attempts);
        assert_eq!(time.slept().len(), attempts as usize - 1);
        assert_eq!(error.elapsed(), time.gone_by());
    }
}

#[test]
fn every_transient_kind_is_tried_again_and_every_other_is_returned_at_once() {
    for kind in TRANSIENT {
        assert_eq!(Time::new().retrier(&RetryPolicy::default()).run(script([kind, kind])), Ok(3));
    }
    for kind in
        [ErrorKind::Invalid, ErrorKind::KeyReused, ErrorKind::Rejected, ErrorKind::Corrupt, ErrorKind::Closed]
    {
        let time = Time::new();
        let error = time.retrier(&RetryPolicy::default()).run(script([kind])).unwrap_err();
        assert_eq!((error.attempts(), error.gave_up(), error.kind()), (1, GaveUp::Final, kind));
        assert_eq!(time.slept(), []);
        assert!(!error.outcome_is_unknown());
    }
}

#[test]
fn a_hint_is_the_least_that_is_waited_and_the_drawn_time_comes_on_top() {
    let policy = RetryPolicy::builder().first_delay(MS).build().unwrap();
    for hint in [
        RetryAfter::from(3 * SECOND),
        // The clock of the test shows 1000 s.
        RetryAfter::At(Timestamp::from_unix_millis(1_003_000)),
        "3".parse().unwrap(),
        "Thu, 01 Jan 1970 00:16:43 GMT".parse().unwrap(),
    ] {
        let time = Time::new();
        assert_eq!(time.retrier(&policy).run(script([Answer::hinting(hint)])), Ok(2));
        let [slept] = time.slept()[..] else { panic!("one wait") };
        assert!((3 * SECOND..=3 * SECOND + MS).contains(&slept), "{hint:?} {slept:?}");
    }
}

#[test]
fn those_with_the_same_hint_do_not_come_back_in_the_same_moment() {
    let waits: std::collections::BTreeSet<_> = (0..50)
        .map(|seed| {
            let time = Time::new();
            time.retrier(&RetryPolicy::default()).seed(seed).run(script([Answer::hinting(SECOND)])).unwrap();
            time.slept()[0]
        })
        .collect();
    assert!(waits.len() > 40, "{}", waits.len());
}

#[test]
fn a_hint_in_the_past_asks_for_nothing() {
    let policy = RetryPolicy::builder().first_delay(Duration::ZERO).build().unwrap();
    let (time, past) = (Time::new(), RetryAfter::At(Timestamp::from_unix_millis(999_999)));
    assert_eq!(time.retrier(&policy).run(script([Answer::hinting(past)])), Ok(2));
    assert_eq!(time.slept(), [Duration::ZERO]);
}

#[test]
fn a_hint_beyond_the_deadline_ends_it_at_once_and_one_up_to_it_is_kept() {
    let policy = policy(8, 10 * SECOND);
    for hint in [10 * SECOND + Duration::from_nanos(1), Duration::MAX] {
        let time = Time::new();
        let error = time.retrier(&policy).run(script([Answer::hinting(hint)])).unwrap_err();
        assert_eq!((error.gave_up(), error.attempts()), (GaveUp::RetryAfter, 1));
        assert_eq!(time.gone_by(), Duration::ZERO);
    }
    let time = Time::new();
    assert_eq!(time.retrier(&policy).run(script([Answer::hinting(10 * SECOND)])), Ok(2));
    assert_eq!(time.gone_by(), 10 * SECOND);
}

#[test]
fn time_that_the_attempts_take_counts_for_the_deadline() {
    let time = Time::new();
    let policy =
        RetryPolicy::builder().first_delay(Duration::ZERO).attempts(100).deadline(10 * SECOND).build();
    let error = time
        .retrier(&policy.unwrap())
        .run(|| {
            time.clock.advance(3 * SECOND);
            Err::<(), _>(Answer::from(ErrorKind::Unavailable))
        })
        .unwrap_err();
    // Attempts begin after 0, 3, 6 and 9 seconds, and no later.
    assert_eq!((error.attempts(), error.gave_up()), (4, GaveUp::Deadline));
    assert_eq!(error.elapsed(), 12 * SECOND);
}

#[test]
fn who_oversleeps_the_deadline_makes_no_further_attempt() {
    let (time, calls) = (Time::oversleeping(20 * SECOND), Cell::new(0));
    let error = time
        .retrier(&policy(8, 10 * SECOND))
        .run(|| {
            calls.set(calls.get() + 1);
            Err::<(), _>(Answer::from(ErrorKind::Busy))
        })
        .unwrap_err();
    assert_eq!((calls.get(), error.attempts(), error.gave_up()), (1, 1, GaveUp::Deadline));
}

#[test]
fn without_any_time_there_is_one_attempt_and_no_wait() {
    let (time, policy) = (Time::new(), policy(8, Duration::ZERO));
    // Seed 7 draws something above zero.
    let error = time.retrier(&policy).seed(7).run(script([ErrorKind::Busy])).unwrap_err();
    assert_eq!((error.attempts(), error.gave_up()), (1, GaveUp::Deadline));
    assert_eq!(time.slept(), []);
}

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        (0_u64..20_000_000_000).prop_map(Duration::from_nanos),
    ]
}

fn answers() -> impl Strategy<Value = Vec<Answer>> {
    let kind = prop_oneof![
        9 => prop::sample::select(TRANSIENT.to_vec()),
        1 => prop::sample::select(vec![ErrorKind::Rejected, ErrorKind::KeyReused, ErrorKind::Closed]),
    ];
    let answer = (kind, prop::option::weighted(0.2, durations()))
        .prop_map(|(kind, hint)| Answer { kind, hint: hint.map(Into::into) });
    prop::collection::vec(answer, 0..40)
}

proptest! {
    // C10
    #[test]
    fn waits_are_never_above_the_cap_and_never_add_up_to_more_than_the_deadline(
        first in durations(), cap in durations(), factor in 1.0_f32..100.0, deadline in durations(),
        attempts in 1_u32..201, seed: u64,
    ) {
        let policy = RetryPolicy::builder()
            .first_delay(first).cap(cap).factor(factor).deadline(deadline).attempts(attempts).build().unwrap();
        let time = Time::new();
        let busy = || Err::<(), _>(Answer::from(ErrorKind::Busy));
        let error = time.retrier(&policy).seed(seed).run(busy).unwrap_err();
        let slept = time.slept();
        prop_assert!(slept.iter().all(|delay| *delay <= cap));
        let sum = slept.iter().fold(Duration::ZERO, |sum, delay| sum.saturating_add(*delay));
        prop_assert!(sum <= deadline, "{:?}", slept);
        prop_assert!(error.attempts() <= attempts);
        prop_assert_eq!(error.attempts() as usize, slept.len() + 1);
        if deadline == Duration::MAX {
            prop_assert_eq!(error.attempts(), attempts);
        }
    }

    #[test]
    fn async_callers_get_the_same_answers_after_the_same_waits(
        answers in answers(), deadline in durations(), seed: u64,
    ) {
        let policy = policy(20, deadline);
        let (blocking, asynchronous) = (Time::new(), Time::new());
        let left = blocking.retrier(&policy).seed(seed).run(script(answers.clone()));
        let mut operation = script(answers);
        let retrier = asynchronous.retrier(&policy).seed(seed);
        let right = pollster::block_on(retrier.run_async(|| std::future::ready(operation())));
        prop_assert_eq!(left, right);
        prop_assert_eq!(blocking.slept(), asynchronous.slept());
    }
}

#[test]
fn a_future_can_go_to_another_thread() {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    let policy = RetryPolicy::builder().first_delay(MS).build().unwrap();
    let calls = std::sync::atomic::AtomicU32::new(0);
    let run = sent(policy.run_async(|| {
        let call = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        std::future::ready(if call < 3 { Err(Answer::from(ErrorKind::Busy)) } else { Ok(call) })
    }));
    assert_eq!(pollster::block_on(run), Ok(3));
}

#[test]
fn a_future_that_is_dropped_between_two_attempts_makes_no_further_one() {
    use std::future::Future as _;
    let calls = Cell::new(0);
    {
        let never = |_: Duration| std::future::pending();
        let retrier = RetryPolicy::default().retrier().sleeper(never);
        let mut run = Box::pin(retrier.run_async(|| {
            calls.set(calls.get() + 1);
            std::future::ready(Err::<(), _>(Answer::from(ErrorKind::Busy)))
        }));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for _ in 0..3 {
            assert!(run.as_mut().poll(&mut context).is_pending());
        }
    }
    assert_eq!(calls.get(), 1);
}
