//! Callers who share a group: C07, C14, C17.
//!
//! Whoever leads is held while it asks for the time; the others queue behind it and land in its group.

use std::sync::{Arc, Barrier, Condvar, Mutex};

use pointstore::testing::{Failure, SimDisk, Step, Unsynced};
use pointstore::{Clock, Command, ErrorKind, ManualClock, PointStore, Timestamp};

use super::{balance, grant, held, on_both};
use crate::model::{Cmd, No, Reply, Request, submit};

/// Rounds in which chance must put all callers into one group at least once.
const ROUNDS_MAX: u64 = 300;

/// A clock at which the one who asks for the time can be held.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    clock: ManualClock,
    state: Arc<(Mutex<Held>, Condvar)>,
}

#[derive(Debug, Default)]
struct Held {
    shut: bool,
    inside: bool,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_unix_millis(9_000));
        Self { clock, state: Arc::default() }
    }

    pub(crate) fn shut(&self) {
        *self.state.0.lock().unwrap() = Held { shut: true, inside: false };
    }

    /// Waits until somebody is held.
    pub(crate) fn wait(&self) {
        let held = self.state.0.lock().unwrap();
        drop(self.state.1.wait_while(held, |held| !held.inside).unwrap());
    }

    pub(crate) fn open(&self) {
        self.state.0.lock().unwrap().shut = false;
        self.state.1.notify_all();
    }
}

impl Clock for Gate {
    fn wall(&self) -> Timestamp {
        let mut held = self.state.0.lock().unwrap();
        if held.shut {
            held.inside = true;
            self.state.1.notify_all();
        }
        drop(self.state.1.wait_while(held, |held| held.shut).unwrap());
        self.clock.wall()
    }

    fn monotonic(&self) -> std::time::Duration {
        self.clock.monotonic()
    }
}

/// Puts requests to a store so that the first leads while the others come in, most probably into its group.
fn together(store: &PointStore, gate: &Gate, requests: &[Request]) -> Vec<Reply> {
    gate.shut();
    std::thread::scope(|scope| {
        let mut callers = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            callers.push(scope.spawn(move || submit(store, request)));
            if index == 0 {
                gate.wait();
            }
        }
        for _ in 0..2_000 {
            std::thread::yield_now();
        }
        gate.open();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    })
}

fn is_done(reply: &Reply) -> bool {
    reply.errors().is_empty() && reply.dones().iter().all(|done| !done.replay)
}

// C07
#[test]
fn a_failing_atomic_list_leaves_its_neighbours_alone_and_nothing_of_itself() {
    let (gate, mut shared) = (Gate::new(), 0);
    for round in 0..ROUNDS_MAX {
        let builder = PointStore::builder().clock(gate.clone()).small_limits();
        let store = builder.open_simulated(&SimDisk::new(round)).unwrap();
        // The failing list comes between the others, shares their accounts, and fails at its end.
        let requests = [
            Request::One(Cmd::grant("x", "k1", 5)),
            Request::Atomic(vec![
                Cmd::grant("x", "bad", 1),
                Cmd::grant("y", "bad", 1),
                Cmd::redeem("y", "bad", 1_000),
            ]),
            Request::Atomic(vec![Cmd::grant("x", "k2", 7), Cmd::grant("y", "k2", 7)]),
            Request::One(Cmd::grant("y", "k1", 5)),
        ];
        let replies = together(&store, &gate, &requests);
        assert!(is_done(&replies[0]) && is_done(&replies[2]) && is_done(&replies[3]), "{replies:?}");
        match &replies[1] {
            Reply::Atomic(Err((Some(2), No::Short { requested: 1_000, .. }))) => {}
            other => panic!("not refused at its last item: {other:?}"),
        }
        assert_eq!((balance(&store, "x"), balance(&store, "y")), (12, 12));
        assert!(held(&store).journal.iter().all(|rec| rec.key != "bad"));
        store.verify().unwrap();
        shared += u64::from(store.stats().groups == 1);
        if shared == 5 {
            return;
        }
    }
    panic!("the requests never shared a group, shared={shared}");
}

// C14
#[test]
fn of_many_callers_with_one_key_exactly_one_has_the_effect() {
    const CALLERS: usize = 50;
    let race = |store: &PointStore, k: &str, amounts: &[i64]| {
        let barrier = Barrier::new(CALLERS);
        let answers: Vec<_> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| {
                    let (command, barrier) = (grant("a", k, amounts[caller % amounts.len()]), &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        (command.points().get(), store.apply(&command))
                    })
                })
                .collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        let winners: Vec<_> =
            answers.iter().filter(|(_, answer)| answer.as_ref().is_ok_and(|o| !o.is_replay())).collect();
        assert_eq!(winners.len(), 1, "exactly one is applied");
        let (won, receipt) = (winners[0].0, winners[0].1.as_ref().unwrap().receipt());
        for (points, answer) in &answers {
            match answer {
                Ok(outcome) => assert_eq!((*points, outcome.receipt()), (won, receipt)),
                Err(error) => assert_eq!((error.kind(), *points == won), (ErrorKind::KeyReused, false)),
            }
        }
        won
    };
    on_both(|_, store| {
        let mut sum = 0;
        for round in 0..10 {
            sum += race(&store, &format!("one-{round}"), &[5]);
            sum += race(&store, &format!("two-{round}"), &[5, 6]);
        }
        assert_eq!(balance(&store, "a"), sum);
        assert_eq!(store.stats().receipts, 20);
    });
}

/// Asks for two amounts under one key, in one request or in two that share a group, while a step fails.
fn two_amounts_while_it_fails(disk: &SimDisk, gate: &Gate, listed: bool) -> bool {
    let store = PointStore::builder().clock(gate.clone()).open_simulated(disk).unwrap();
    let cmds = [Cmd::grant("a", "k", 100), Cmd::grant("a", "k", 200)];
    let replies = if listed {
        vec![submit(&store, &Request::Each(cmds.to_vec()))]
    } else {
        together(&store, gate, &cmds.map(Request::One))
    };
    let errors: Vec<&No> = replies.iter().flat_map(Reply::errors).collect();
    // Neither is told of the other's amount, nor that it is done: all that rests on an entry that may be lost.
    assert_eq!(errors.len(), 2, "{replies:?}");
    for error in &errors {
        assert!(matches!(error, No::Failed(_)), "an answer that rests on the lost entry: {error:?}");
    }
    assert_eq!(balance(&store, "a"), 0, "nobody sees it");
    assert_eq!(store.receipt(&super::id("a"), pointstore::Operation::Grant, &super::key("k")).unwrap(), None);
    errors.iter().all(|error| error.is_unknown())
}

// C17
#[test]
fn no_answer_rests_on_a_group_that_failed_and_both_orders_of_retry_are_consistent() {
    let steps = [Step::Append, Step::Sync, Step::Mark];
    let failures = [Failure::Before, Failure::After, Failure::Pretend, Failure::Panic];
    let power = [None, Some(Unsynced::Kept), Some(Unsynced::Dropped)];
    let (mut shared, mut kept) = (0, 0);
    for (step, failure) in steps.into_iter().flat_map(|step| failures.map(|failure| (step, failure))) {
        for (cut, listed) in power.into_iter().flat_map(|cut| [(cut, true), (cut, false)]) {
            for order in [[100, 200], [200, 100]] {
                let (disk, gate) = (SimDisk::new(10), Gate::new());
                disk.fail(step, failure);
                shared += u64::from(two_amounts_while_it_fails(&disk, &gate, listed) && !listed);
                if let Some(unsynced) = cut {
                    disk.cut_power(unsynced);
                }
                let store = PointStore::builder().open_simulated(&disk).unwrap();
                let happened = store.stats().receipts == 1;
                kept += u64::from(happened);
                let commands: Vec<Command> = order.iter().map(|points| grant("a", "k", *points)).collect();
                let answers = store.apply_each(&commands);
                let done: Vec<_> = answers.iter().flatten().collect();
                assert_eq!(done.len(), 1, "one amount stands, the other is refused: {answers:?}");
                assert_eq!(done[0].is_replay(), happened);
                let stands = done[0].receipt().points().get();
                // What was not kept is anybody's: then the first to ask again has it.
                assert!(happened || stands == order[0]);
                assert_eq!(balance(&store, "a"), stands);
                let kind = answers.iter().find_map(|answer| answer.as_ref().err()).map(|error| error.kind());
                assert_eq!(kind, Some(ErrorKind::KeyReused));
            }
        }
    }
    assert!(shared > 10, "two callers shared a failing group: {shared}");
    assert!(kept > 10, "some groups were kept although they failed: {kept}");
}
