//! Any bytes as a history of a store on a simulated disk that fails, judged by the model at each step (I1 to I10).

#![no_main]

mod history;

// The judge of the integration tests, and the driver that holds a store against it.
#[path = "../../tests/it/model/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests use more of it")]
mod model;

use std::panic;

use history::Bytes;
use libfuzzer_sys::fuzz_target;
use model::World;

/// Steps of a history: the model adds everything up anew at each of them.
const STEPS_MAX: usize = 48;

fuzz_target!(
    init: {
        // The fuzzer ends the process at any panic. Here only one that leaves the target may, since the disk
        // panics when it is told to, and the store has to live with that.
        let report = panic::take_hook();
        drop(report);
        panic::set_hook(Box::new(|info| {
            if info.payload_as_str() != Some("a simulated panic") {
                eprintln!("{info}");
            }
        }));
    },
    |input: &[u8]| {
        let mut bytes = Bytes::new(input);
        let mut world = World::sim(bytes.below(4).into(), bytes.coin());
        for _ in 0..STEPS_MAX {
            match bytes.op() {
                Some(op) => world.step(&op),
                None => break,
            }
        }
        world.settle();
        world.retry_everything();
        world.let_go();
    }
);
