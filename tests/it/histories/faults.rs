//! One history under every single fault: each step of the disk failing in each way, the power lost at each
//! moment, and again while the store recovers (I1, I2, I3, I6, I7, I10).
//!
//! Whoever gets no answer opens the store again and asks again with the same key. However often that happens,
//! the store must end as if nothing had failed.

use pointstore::ErrorKind;
use pointstore::testing::{Failure, SimDisk, Step, Unsynced};
use pointstore::{PointStore, Points};

use crate::model::{Cmd, Dump, Model, No, Op, Reply, Request, World};

const UNSYNCED: [Unsynced; 3] = [Unsynced::Kept, Unsynced::Dropped, Unsynced::Torn];

/// The seeds by which a torn write is torn.
const SEEDS: std::ops::Range<u64> = 0..4;

/// A history in which no request's effect depends on whether another is asked once or several times.
fn script() -> Vec<Request> {
    let transfer = |key: &str, points| {
        Request::Atomic(vec![Cmd::redeem("a", key, points), Cmd::grant("b", key, points)])
    };
    let long =
        |n: u64| Cmd { memo: "M".repeat(128), ..Cmd::grant("c", &format!("{n}{}", "K".repeat(250)), n) };
    vec![
        Request::One(Cmd::grant("a", "k1", 100)),
        Request::One(Cmd::redeem("a", "k2", 200)),
        transfer("t1", 30),
        Request::One(Cmd::grant("a", "k1", 100)),
        transfer("t2", 90),
        // In small limits it takes a page an entry.
        Request::Each(vec![long(1), long(2)]),
        Request::One(Cmd { expected: Some(2), ..Cmd::redeem("a", "k3", 5) }),
        Request::One(Cmd::grant("a", "k1", 101)),
    ]
}

/// What the store holds in the end if nothing fails.
fn end_of(script: &[Request]) -> Dump {
    let mut model = Model::new(4, 639);
    for request in script {
        model.request(request, 1_000_000);
    }
    model.dump()
}

/// Asks until there is an answer. What happens to the store between two attempts is up to `between`.
fn ask(world: &mut World, request: &Request, mut between: impl FnMut(&mut World)) -> Reply {
    loop {
        let reply = world.submit(request.clone());
        if !reply.has_failed() {
            return reply;
        }
        // I10: until it is opened again, it takes no more writes.
        let more = world.submit(Request::One(Cmd::grant("z", "later", 1)));
        assert_eq!(more, Reply::Each(vec![Err(No::Failed("closed".into()))]));
        between(world);
        world.settle();
    }
}

fn end(mut world: World, expected: &Dump) {
    world.settle();
    world.model.dump().must_equal(expected, "the end");
    world.let_go();
}

#[test]
fn each_step_failing_in_each_way_changes_nothing_once_it_is_asked_again() {
    let (script, failures) = (script(), [Failure::Before, Failure::After, Failure::Pretend, Failure::Panic]);
    let endings =
        [Op::Drop, Op::Kill, Op::Cut(Unsynced::Kept), Op::Cut(Unsynced::Dropped), Op::Cut(Unsynced::Torn)];
    let expected = end_of(&script);
    for (step, failure) in
        [Step::Append, Step::Sync, Step::Mark].into_iter().flat_map(|s| failures.map(|f| (s, f)))
    {
        if failure == Failure::Pretend && step != Step::Sync {
            continue;
        }
        for ending in &endings {
            // All but the last request write something somewhere behind them.
            for at in 0..script.len() - 1 {
                let mut world = World::sim(5, true);
                for (index, request) in script.iter().enumerate() {
                    if index == at {
                        world.step(&Op::Fail(step, failure));
                    }
                    ask(&mut world, request, |world| {
                        if !matches!(ending, Op::Drop) {
                            world.step(ending);
                        }
                    });
                }
                world.reopen();
                assert!(world.troubles() > 0, "{step:?} {failure:?} at {at} has not failed");
                end(world, &expected);
            }
        }
    }
}

#[test]
fn an_opening_that_fails_or_is_cut_in_any_way_can_be_repeated() {
    let (script, expected) = (script(), end_of(&script()));
    let faults = [
        Op::Fail(Step::Accept, Failure::Before),
        Op::Fail(Step::Accept, Failure::After),
        Op::Fail(Step::Accept, Failure::Panic),
    ];
    let cuts = UNSYNCED.into_iter().flat_map(|unsynced| [0, 1].map(|n| Op::CutAfter(n, unsynced)));
    for fault in faults.into_iter().chain(cuts) {
        for seed in SEEDS {
            for at in 0..script.len() {
                let mut world = World::sim(seed, true);
                for (index, request) in script.iter().enumerate() {
                    if index == at {
                        // A group is in doubt meanwhile.
                        world.step(&Op::Fail(Step::Sync, Failure::Before));
                        let first = world.submit(request.clone());
                        world.step(&Op::Kill);
                        world.step(&fault);
                        let before = world.troubles();
                        world.settle();
                        assert!(world.troubles() > before, "{fault:?} after {first:?} has not failed");
                    }
                    ask(&mut world, request, |_| {});
                }
                end(world, &expected);
            }
        }
    }
}

/// Runs the script with the power lost after some moments of its first or its second life, and says whether it was.
fn cut_once(
    script: &[Request],
    expected: &Dump,
    life: usize,
    moments: u64,
    unsynced: Unsynced,
    seed: u64,
) -> bool {
    let mut world = World::sim(seed, true);
    let half = script.len() / 2;
    for (index, request) in script.iter().enumerate() {
        if index == half {
            world.reopen();
        }
        if index == life * half {
            world.cut_after(moments, unsynced);
        }
        ask(&mut world, request, |_| {});
    }
    world.reopen();
    let cut = world.troubles() > 0;
    end(world, expected);
    cut
}

#[test]
fn power_lost_at_each_moment_of_a_history_changes_nothing_once_it_is_asked_again() {
    let (script, expected) = (script(), end_of(&script()));
    for life in [0, 1] {
        for unsynced in UNSYNCED {
            for seed in SEEDS {
                let mut moments = 0;
                while cut_once(&script, &expected, life, moments, unsynced, seed) {
                    moments += 1;
                }
                // Two groups with three steps, and closing with two: each step with a moment before and after it.
                assert!(moments >= 2 * (2 * 3 + 2), "the power was to go at each moment: {moments}");
            }
        }
    }
}

#[test]
fn power_lost_again_and_again_changes_nothing_once_it_is_asked_again() {
    let (script, expected) = (script(), end_of(&script()));
    let mut thrice = 0;
    for first in 0..20 {
        for next in 0..9 {
            for unsynced in UNSYNCED {
                let mut world = World::sim(first * 31 + next, true);
                world.cut_after(first, unsynced);
                let mut cuts_left = 3;
                for request in &script {
                    ask(&mut world, request, |world| {
                        if cuts_left > 0 {
                            cuts_left -= 1;
                            // Cut off from this disk, so that the next cut is for the life that follows.
                            world.step(&Op::Kill);
                            world.cut_after(next, unsynced);
                        }
                    });
                }
                thrice += u64::from(cuts_left == 0);
                end(world, &expected);
            }
        }
    }
    assert!(thrice > 50, "many histories were cut several times: {thrice}");
}

#[test]
fn a_sync_that_fails_and_then_pretends_is_never_believed() {
    for unsynced in UNSYNCED {
        let disk = SimDisk::new(6);
        let open = || PointStore::builder().open_simulated(&disk).unwrap();
        let (a, k1, k2) = ("a".parse().unwrap(), "k1".parse().unwrap(), "k2".parse().unwrap());
        let five = Points::new(5).unwrap();
        let store = open();
        store.grant(&a, &k1, five).unwrap();
        disk.fail(Step::Sync, Failure::Pretend);
        let error = store.grant(&a, &k2, five).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
        // I8, I10: nobody sees it, and a second attempt on the same handle does not "succeed".
        assert_eq!(store.balance(&a).get(), 5);
        assert_eq!(store.grant(&a, &k2, five).unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(store.close().unwrap_err().kind(), ErrorKind::Closed);
        drop(store);

        // The pages look clean and never reached the disk. Whatever the next opening serves must be on it.
        let store = open();
        let replay = store.grant(&a, &k2, five).unwrap().is_replay();
        disk.cut_power(unsynced);
        drop(store);
        let store = open();
        assert_eq!(store.balance(&a).get(), 10, "replay={replay} {unsynced:?}");
        assert!(store.grant(&a, &k2, five).unwrap().is_replay());
    }
}
