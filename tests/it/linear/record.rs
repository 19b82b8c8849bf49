//! Threads that call a store at random, and when each of them called and was answered.

use std::sync::atomic::{AtomicU64, Ordering};

use pointstore::{AccountId, ApplyError, IdempotencyKey, Operation, Outcome, PointStore, Receipt, Refusal};
use todc_utils::linearizability::history::Action;

use super::Events;
use super::spec::{Answer, Call, Kind, Said, Saved};
use crate::concurrency::{Random, account, key, points, together};

/// Records one history: so many threads, each with so many calls, on accounts that only this round uses.
pub(super) fn record(store: &PointStore, round: u64, threads: usize, calls: usize) -> Events {
    let now = AtomicU64::new(0);
    let round = Round { store, name: format!("{threads}-{round}"), before: store.position().entries() };
    let mut events: Vec<(u64, usize, Action<Said>)> = together(threads, |thread| {
        let mut random = Random(round.before << 8 | thread as u64);
        let mut events = Vec::new();
        for _ in 0..calls {
            let call = some_call(&mut random);
            // Taken before the call begins and after it has ended: it may seem longer than it was, never shorter.
            let began = now.fetch_add(1, Ordering::SeqCst);
            let answer = round.make(&call);
            let ended = now.fetch_add(1, Ordering::SeqCst);
            events.push((began, thread, Action::Call(Said { call: call.clone(), answer: None })));
            events.push((ended, thread, Action::Response(Said { call, answer: Some(answer) })));
        }
        events
    })
    .into_iter()
    .flatten()
    .collect();
    events.sort_by_key(|(at, _, _)| *at);
    events.into_iter().map(|(_, thread, action)| (thread, action)).collect()
}

/// How many calls began while another one had not ended.
pub(super) fn overlaps(events: &Events) -> usize {
    let (mut running, mut met) = (0, 0);
    for (_, action) in events {
        match action {
            Action::Call(_) => {
                met += usize::from(running > 0);
                running += 1;
            }
            Action::Response(_) => running -= 1,
        }
    }
    met
}

/// Few accounts, keys and amounts, so that they meet: replays, reused keys and refusals are all common.
fn some_call(random: &mut Random) -> Call {
    let (account, key) = (random.below(2), random.below(4));
    let kind = if random.below(3) == 0 { Kind::Redeem } else { Kind::Grant };
    match random.below(5) {
        0 => Call::Balance { account },
        1 => Call::Receipt { kind, account, key },
        _ => {
            // One key is used with two amounts, the others always with the same.
            let points = if key == 0 { 1 + random.below(2) as i64 } else { 1 + key as i64 };
            Call::Change { kind, account, key, points }
        }
    }
}

/// One round on a store.
struct Round<'a> {
    store: &'a PointStore,
    name: String,
    /// Entries before it.
    before: u64,
}

impl Round<'_> {
    fn account(&self, number: u64) -> AccountId {
        account(format!("{}-{number}", self.name))
    }

    fn key(number: u64) -> IdempotencyKey {
        key(format!("k{number}"))
    }

    fn make(&self, call: &Call) -> Answer {
        match *call {
            Call::Balance { account } => Answer::Balance(self.store.balance(&self.account(account)).get()),
            Call::Receipt { kind, account, key } => {
                let operation = match kind {
                    Kind::Grant => Operation::Grant,
                    Kind::Redeem => Operation::Redeem,
                };
                let found = self.store.receipt(&self.account(account), operation, &Self::key(key));
                Answer::Receipt(found.unwrap().map(|receipt| self.saved(&receipt)))
            }
            Call::Change { kind, account, key, points: amount } => {
                let (account, key, amount) = (self.account(account), Self::key(key), points(amount));
                let answer = match kind {
                    Kind::Grant => self.store.grant(&account, &key, amount),
                    Kind::Redeem => self.store.redeem(&account, &key, amount),
                };
                match answer {
                    Ok(Outcome::Applied(receipt)) => Answer::Applied(self.saved(&receipt)),
                    Ok(Outcome::Replayed(receipt)) => Answer::Replayed(self.saved(&receipt)),
                    Err(ApplyError::Refused(Refusal::KeyReused { .. })) => Answer::KeyReused,
                    Err(ApplyError::Refused(Refusal::InsufficientPoints { .. })) => Answer::Insufficient,
                    other => panic!("unexpected: {other:?}"),
                }
            }
        }
    }

    fn saved(&self, receipt: &Receipt) -> Saved {
        Saved {
            number: receipt.number() - self.before,
            points: receipt.points().get(),
            balance_after: receipt.balance_after().get(),
            sequence: receipt.sequence(),
        }
    }
}
