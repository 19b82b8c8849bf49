//! Random histories of everything a store can be asked, judged by the model at every step (I1 to I8).
//!
//! Few accounts, keys and amounts, so that they collide often. `PROPTEST_CASES` sets the number of histories of
//! each test; of those on sled, where each opening takes its time, it is a fortieth.

mod faults;
mod plan;

use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::model::{Op, World};

/// So many cases, unless `PROPTEST_CASES` says otherwise. A failing case is shown shrunk and not kept.
pub(crate) fn cases(standard: u32) -> Config {
    let cases = match std::env::var("PROPTEST_CASES") {
        Ok(cases) => cases.parse().expect("PROPTEST_CASES must be a number"),
        Err(_) => standard,
    };
    Config { cases, failure_persistence: None, max_shrink_iters: 5_000, ..Config::default() }
}

/// The same where each case is slow.
fn slow_cases() -> Config {
    let cases = cases(240);
    Config { cases: cases.cases.div_ceil(40), max_shrink_iters: 50, ..cases }
}

fn run(mut world: World, history: &[Op]) {
    for op in history {
        world.step(op);
    }
    world.calm();
    world.inspect();
    world.reopen();
    world.inspect();
    world.retry_everything();
}

fn run_with_faults(mut world: World, history: &[Op]) {
    for op in history {
        world.step(op);
    }
    world.settle();
    world.retry_everything();
    world.let_go();
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn the_model_and_a_simulated_store_agree_at_every_step(history in plan::history(60)) {
        run(World::sim(1, false), &history);
    }

    #[test]
    fn the_model_and_a_simulated_store_of_small_limits_agree_at_every_step(history in plan::history(60)) {
        run(World::sim(2, true), &history);
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn after_any_faults_nothing_acknowledged_is_lost_or_doubled(history in plan::faulty_history(50)) {
        run_with_faults(World::sim(3, true), &history);
    }

    #[test]
    fn a_store_of_standard_limits_bears_any_faults_too(history in plan::faulty_history(50)) {
        run_with_faults(World::sim(4, false), &history);
    }
}

proptest! {
    #![proptest_config(slow_cases())]

    #[test]
    fn the_model_and_a_store_on_sled_agree_at_every_step(history in plan::real_history(40)) {
        run(World::real(false), &history);
    }

    #[test]
    fn the_model_and_a_store_of_small_limits_on_sled_agree_at_every_step(history in plan::real_history(40)) {
        run(World::real(true), &history);
    }
}
