//! Group commit for any peer: callers queue their grants, one of them commits all that wait in one transaction.
//!
//! It is the idea of the store's own scheme, made as cheap as it gets, so that a peer behind it loses nothing to the
//! harness. Not its pace: the store's leader waits up to 200 µs for the callers that it expects, wakes as many as make a
//! crowd, hands over and wakes the rest; this one yields, wakes all, then hands over. Nor its limit: nobody here gives up
//! waiting. With hundreds of callers a comparison with `+group` measures that difference, too.
//!
//! - Whoever finds nobody leading leads. A leader takes everything that waits, commits it with one
//!   [`Peer::grant_batch`], so one transaction and one sync, and hands every caller its own answer. It serves that
//!   one group, its own, and then names the first of the queue its successor: nobody works for others for long.
//! - A follower is woken with its answer or with the lead: as in the store sixteen wait at a gate and are woken
//!   with one system call, and who comes to an empty queue, to lead next, waits at a gate of its own.
//! - The answers of a group wake its callers, and they ask again at once. A leader that took the queue in that
//!   moment would commit a group of one while all the others queue behind it. So it lets them run first: it yields
//!   for as long as the queue is smaller than the last group and still growing. A lone caller never yields.
//! - The lock is held to push and to take, never during a commit.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::Result;
use crate::peers::{Answer, Balances, Peer};
use crate::work::Grant;

/// The most grants of a group.
const GROUP_MAX: usize = 4096;

/// So many wait at a gate.
const GATE_PLACES: usize = 16;

const WAITING: u8 = 0;
const LEAD: u8 = 1;
const DONE: u8 = 2;

/// A peer behind group commit.
pub(crate) struct Grouped<P> {
    peer: P,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Ticket>>,
    /// Where the last one who came waits, and for how many more there is place.
    gate: Arc<Gate>,
    places: usize,
    /// Somebody leads, or was told to.
    leading: bool,
    /// Grants of the last group.
    last: usize,
}

/// Where callers wait that are woken together.
#[derive(Default)]
struct Gate {
    waiting: Mutex<usize>,
    woken: Condvar,
}

impl Gate {
    fn wake_all(&self) {
        let waiting = *lock(&self.waiting);
        if waiting > 0 {
            self.woken.notify_all();
        }
    }
}

/// A queued grant and its caller's place to wait.
struct Ticket {
    grant: Grant,
    gate: Arc<Gate>,
    turn: AtomicU8,
    answer: Mutex<Option<Result<Answer, String>>>,
}

impl Ticket {
    fn tell(&self, turn: u8) {
        self.turn.store(turn, Ordering::Release);
    }

    /// Waits for its turn, and says what that is.
    fn turn(&self) -> u8 {
        let mut waiting = lock(&self.gate.waiting);
        *waiting += 1;
        loop {
            let turn = self.turn.load(Ordering::Acquire);
            if turn != WAITING {
                *waiting -= 1;
                return turn;
            }
            waiting = self.gate.woken.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn answer(&self, answer: Result<Answer, String>) {
        *lock(&self.answer) = Some(answer);
    }

    fn take(&self) -> Result<Answer> {
        Ok(lock(&self.answer).take().ok_or("a grant was never answered")??)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Peer> Grouped<P> {
    pub(crate) fn new(peer: P) -> Self {
        Self { peer, state: Mutex::default() }
    }

    /// Queues a grant and says whether its caller leads at once.
    fn enter(&self, grant: &Grant) -> (Arc<Ticket>, bool) {
        let mut state = lock(&self.state);
        let alone = state.waiting.is_empty();
        if alone || state.places == 0 {
            state.gate = Arc::default();
            state.places = GATE_PLACES;
        }
        state.places = if alone { 0 } else { state.places - 1 };
        let ticket = Arc::new(Ticket {
            grant: grant.clone(),
            gate: Arc::clone(&state.gate),
            turn: AtomicU8::new(WAITING),
            answer: Mutex::new(None),
        });
        state.waiting.push_back(Arc::clone(&ticket));
        let lead = !state.leading;
        state.leading = true;
        (ticket, lead)
    }

    /// Takes what waits, once those who were just answered have had their chance to ask again.
    fn gather(&self) -> Vec<Arc<Ticket>> {
        let mut before = 0;
        loop {
            let mut state = lock(&self.state);
            let waiting = state.waiting.len();
            if waiting >= state.last || waiting == before {
                let len = waiting.min(GROUP_MAX);
                state.last = len;
                return state.waiting.drain(..len).collect();
            }
            before = waiting;
            drop(state);
            thread::yield_now();
        }
    }

    /// Commits one group, the leader's own grant among it, answers it, and hands over.
    fn lead(&self, own: &Arc<Ticket>) {
        let group = self.gather();
        let grants: Vec<&Grant> = group.iter().map(|ticket| &ticket.grant).collect();
        // A panic must not leave the others waiting for ever.
        let answers = catch_unwind(AssertUnwindSafe(|| self.peer.grant_batch(&grants)))
            .unwrap_or_else(|_| Err("the leader panicked".into()))
            .map_err(|error| error.to_string());
        for (place, ticket) in group.iter().enumerate() {
            ticket.answer(match &answers {
                Ok(answers) => answers.get(place).cloned().ok_or_else(|| "an answer is missing".to_owned()),
                Err(error) => Err(error.clone()),
            });
            ticket.tell(DONE);
        }
        let mut woken = None;
        for ticket in group.iter().filter(|ticket| !Arc::ptr_eq(ticket, own)) {
            if !woken.is_some_and(|woken| Arc::ptr_eq(woken, &ticket.gate)) {
                ticket.gate.wake_all();
            }
            woken = Some(&ticket.gate);
        }
        let mut state = lock(&self.state);
        match state.waiting.front().map(Arc::clone) {
            Some(next) => {
                drop(state);
                next.tell(LEAD);
                next.gate.wake_all();
            }
            None => state.leading = false,
        }
    }
}

impl<P: Peer> Peer for Grouped<P> {
    fn grant(&self, _caller: usize, grant: &Grant) -> Result<Answer> {
        let (ticket, lead) = self.enter(grant);
        if lead || ticket.turn() == LEAD {
            self.lead(&ticket);
        }
        ticket.take()
    }

    fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        self.peer.grant_batch(grants)
    }

    fn balances(&self) -> Result<Balances> {
        self.peer.balances()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::work::{expected, grant};

    /// A ledger in memory that takes a while, counts its batches, and fails or panics for a key.
    #[derive(Default)]
    struct Slow {
        rows: Mutex<(HashSet<String>, HashMap<String, u64>)>,
        batches: AtomicU64,
    }

    impl Peer for Slow {
        fn grant(&self, _caller: usize, _grant: &Grant) -> Result<Answer> {
            Err("the harness asks for batches only".into())
        }

        fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
            self.batches.fetch_add(1, Ordering::Relaxed);
            if grants.iter().any(|grant| grant.key == "panics") {
                panic!("as asked");
            }
            if grants.iter().any(|grant| grant.key == "fails") {
                return Err("as asked".into());
            }
            thread::yield_now();
            let (keys, balances) = &mut *lock(&self.rows);
            let answer = |grant: &&Grant| {
                let balance = balances.entry(grant.account.clone()).or_default();
                if !keys.insert(grant.key.clone()) {
                    return Answer::Replayed(*balance);
                }
                *balance += grant.points;
                Answer::Applied(*balance)
            };
            Ok(grants.iter().map(answer).collect())
        }

        fn balances(&self) -> Result<Balances> {
            Ok(lock(&self.rows).1.clone())
        }
    }

    #[test]
    fn no_grant_is_lost_or_doubled_by_many_callers() {
        const CALLERS: u64 = 32;
        const EACH: u64 = 500;
        let grouped = Grouped::new(Slow::default());
        thread::scope(|scope| {
            for stream in 0..CALLERS {
                let grouped = &grouped;
                scope.spawn(move || {
                    for index in 0..EACH {
                        let answer = grouped.grant(0, &grant(stream, index, 50)).unwrap();
                        assert!(matches!(answer, Answer::Applied(_)));
                    }
                });
            }
        });
        assert_eq!(grouped.balances().unwrap(), expected(&[EACH; CALLERS as usize], 50));
        let batches = grouped.peer.batches.load(Ordering::Relaxed);
        assert!(batches < CALLERS * EACH, "callers never shared a group");
        assert!(!lock(&grouped.state).leading && lock(&grouped.state).waiting.is_empty());
    }

    #[test]
    fn of_one_key_asked_for_by_all_one_is_applied() {
        let grouped = Grouped::new(Slow::default());
        let applied = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let answer = grouped.grant(0, &grant(0, 0, 50)).unwrap();
                    applied.fetch_add(u64::from(matches!(answer, Answer::Applied(_))), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(applied.load(Ordering::Relaxed), 1);
        assert_eq!(grouped.balances().unwrap(), expected(&[1], 50));
    }

    #[test]
    fn a_failure_or_a_panic_is_told_to_its_group_and_the_next_goes_on() {
        let grouped = Grouped::new(Slow::default());
        for key in ["fails", "panics"] {
            let bad = Grant { key: key.into(), ..grant(0, 0, 50) };
            assert!(grouped.grant(0, &bad).is_err());
        }
        assert!(matches!(grouped.grant(0, &grant(0, 0, 50)).unwrap(), Answer::Applied(_)));
    }
}
