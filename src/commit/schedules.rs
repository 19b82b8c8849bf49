//! Thousands of orders in which callers may meet at the locks: who leads, who is answered, what is seen (I1, I7, I8, I10).
//!
//! `scripts/schedules` runs these. Shuttle decides at every lock which thread goes on, by chance or by changing
//! priorities (PCT), ends with an error where all of them wait, and prints the schedule that failed.

#![allow(clippy::arithmetic_side_effects, reason = "the numbers of a test are small")]

mod judge;
mod watch;
mod world;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};

use self::world::{Plan, run};

/// Schedules of each kind for each test, unless `POINTSTORE_SCHEDULES` says otherwise.
const SCHEDULES: usize = 2_000;
/// Changes of priority within a schedule of the second kind.
const CHANGES: usize = 4;

/// Runs a plan over schedules of both kinds. `SHUTTLE_RANDOM_SEED` chooses others.
fn explore(plan: Plan) {
    let schedules = match std::env::var("POINTSTORE_SCHEDULES") {
        Ok(text) => text.parse().expect("POINTSTORE_SCHEDULES is a number"),
        Err(_) => SCHEDULES,
    };
    assert!(schedules > 0, "schedules are tried out");
    let ran = explore_with(RandomScheduler::new_from_seed(1, schedules), plan)
        + explore_with(PctScheduler::new_from_seed(2, CHANGES, schedules), plan);
    assert_eq!(ran, 2 * schedules);
}

fn explore_with(scheduler: impl Scheduler + 'static, plan: Plan) -> usize {
    let mut config = shuttle::Config::new();
    // What a debug build needs for a whole commit.
    config.stack_size = 0x4_0000;
    shuttle::Runner::new(scheduler, config).run(move || run(plan))
}

#[test]
fn i1_callers_that_meet_are_each_answered_once_and_see_only_what_is_durable() {
    explore(Plan::default());
}

#[test]
fn i10_after_a_step_that_fails_everybody_is_answered_and_nobody_writes() {
    explore(Plan { failing: true, ..Plan::default() });
}

#[test]
fn i10_after_a_panic_of_the_leader_everybody_is_answered_and_nobody_writes() {
    explore(Plan { panicking: true, ..Plan::default() });
}

#[test]
fn closing_waits_for_the_group_and_answers_who_comes_later() {
    explore(Plan { closing: true, ..Plan::default() });
}

#[test]
fn closing_beside_a_failure_or_a_panic_ends_as_well() {
    explore(Plan { closing: true, failing: true, ..Plan::default() });
    explore(Plan { closing: true, panicking: true, ..Plan::default() });
}

#[test]
fn callers_that_give_up_on_a_leader_end_it_for_all() {
    explore(Plan { impatient: true, ..Plan::default() });
    explore(Plan { impatient: true, closing: true, failing: true, ..Plan::default() });
}
