//! The ledger as one caller at a time would see it, written without the crate's code.

use std::collections::BTreeMap;

use todc_utils::specifications::Specification;

/// Whether points come or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Grant,
    Redeem,
}

/// A call. Accounts and keys are numbers here.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Change { kind: Kind, account: u64, key: u64, points: i64 },
    Balance { account: u64 },
    Receipt { kind: Kind, account: u64, key: u64 },
}

/// What is kept of a change. Numbers count from 1 in each history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Saved {
    pub(super) number: u64,
    pub(super) points: i64,
    pub(super) balance_after: i64,
    pub(super) sequence: u64,
}

/// What a call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Applied(Saved),
    Replayed(Saved),
    KeyReused,
    Insufficient,
    Balance(i64),
    Receipt(Option<Saved>),
}

/// A call, and its answer once there is one.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) call: Call,
    pub(super) answer: Option<Answer>,
}

/// What has been saved so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    saved: BTreeMap<(u64, Kind, u64), Saved>,
}

impl State {
    fn balance_and_sequence(&self, account: u64) -> (i64, u64) {
        let of_account = self.saved.iter().filter(|((of, _, _), _)| *of == account).map(|(_, saved)| saved);
        of_account
            .max_by_key(|saved| saved.sequence)
            .map_or((0, 0), |saved| (saved.balance_after, saved.sequence))
    }

    fn answer(&mut self, call: &Call) -> Answer {
        match *call {
            Call::Balance { account } => Answer::Balance(self.balance_and_sequence(account).0),
            Call::Receipt { kind, account, key } => {
                Answer::Receipt(self.saved.get(&(account, kind, key)).cloned())
            }
            Call::Change { kind, account, key, points } => self.change(kind, account, key, points),
        }
    }

    fn change(&mut self, kind: Kind, account: u64, key: u64, points: i64) -> Answer {
        match self.saved.get(&(account, kind, key)) {
            Some(saved) if saved.points == points => return Answer::Replayed(saved.clone()),
            Some(_) => return Answer::KeyReused,
            None => {}
        }
        let (balance, sequence) = self.balance_and_sequence(account);
        let balance_after = match kind {
            Kind::Grant => balance + points,
            Kind::Redeem => balance - points,
        };
        if balance_after < 0 {
            return Answer::Insufficient;
        }
        let number = self.saved.len() as u64 + 1;
        let saved = Saved { number, points, balance_after, sequence: sequence + 1 };
        self.saved.insert((account, kind, key), saved.clone());
        Answer::Applied(saved)
    }
}

/// The ledger, to the checker.
pub(super) struct Ledger;

impl Specification for Ledger {
    type State = State;
    type Operation = Said;

    fn init() -> State {
        State::default()
    }

    fn apply(said: &Said, state: &State) -> (bool, State) {
        let mut after = state.clone();
        let answer = after.answer(&said.call);
        (said.answer == Some(answer), after)
    }
}
