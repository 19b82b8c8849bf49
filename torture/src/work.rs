//! What the program under test asks for: decided by seed, run, thread and step, so that the judge knows it too.

use pointstore::{AccountId, Command, IdempotencyKey, Memo, Points};

use crate::luck::Luck;

/// How a run loads the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A bit of everything.
    Mix,
    /// Full groups, back to back.
    Full,
    /// One grant a call.
    Single,
    /// A bit of everything, beside threads that page in old receipts.
    Readers,
    /// Readers alone.
    ReadOnly,
}

impl Load {
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Mix, "mix"),
        (Self::Full, "full"),
        (Self::Single, "single"),
        (Self::Readers, "readers"),
        (Self::ReadOnly, "readonly"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(load, _)| *load == self).map_or("mix", |(_, name)| name)
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(load, _)| *load)
    }

    /// Whether threads read beside those that write.
    pub fn reads(self) -> bool {
        matches!(self, Self::Readers | Self::ReadOnly)
    }
}

/// One run of the program under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub seed: u64,
    /// Which run on this store it is: no two share keys.
    pub number: u64,
    pub load: Load,
    pub threads: u64,
    pub steps: u64,
}

/// What one step of a thread asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Each on its own.
    Each(Vec<Command>),
    /// All or none.
    Atomic(Vec<Command>),
}

impl Request {
    pub fn commands(&self) -> &[Command] {
        match self {
            Self::Each(commands) | Self::Atomic(commands) => commands,
        }
    }
}

/// Commands of a request of full groups: several groups' worth.
const FULL: u64 = 1600;

fn points(n: u64) -> Points {
    Points::new(1 + (n % 1_000_000) as i64).expect("in bounds")
}

fn shared(n: u64) -> AccountId {
    AccountId::new(format!("shared-{}", n % 7)).expect("in bounds")
}

fn own(thread: u64) -> AccountId {
    AccountId::in_tenant("tenant", format!("own-{thread}")).expect("in bounds")
}

fn key(text: String) -> IdempotencyKey {
    IdempotencyKey::new(text).expect("in bounds")
}

impl Run {
    /// What a step of a thread asks for.
    pub fn request(&self, thread: u64, step: u64) -> Request {
        let Self { seed, number: run, .. } = *self;
        let mut luck = Luck::new(seed, &[run, thread, step]);
        let name = |item: u64| key(format!("r{run}-t{thread}-s{step}-{item}"));
        let amount = points(luck.any());
        match self.load {
            Load::Full => {
                let grant = |i| Command::grant(shared(luck.below(90) + i), name(i), points(luck.any()));
                return Request::Each((0..FULL).map(grant).collect());
            }
            Load::Single => {
                return Request::Each(vec![Command::grant(shared(luck.any()), name(0), amount)]);
            }
            Load::Mix | Load::Readers | Load::ReadOnly => {}
        }
        match luck.below(16) {
            // The same account gets all kinds, so that its chain of receipts runs through all of them.
            0..=3 => Request::Each(vec![Command::grant(own(thread), name(0), amount)]),
            4 | 5 => {
                let memo = Memo::new(format!("step {step}")).expect("in bounds");
                Request::Each(vec![Command::grant(shared(luck.any()), name(0), amount).with_memo(memo)])
            }
            6 => Request::Each(vec![Command::redeem(own(thread), name(0), points(luck.below(100)))]),
            7 => Request::Each(vec![Command::redeem(own(thread), name(0), Points::MAX)]),
            8..=10 => {
                let moved = points(luck.below(50));
                Request::Atomic(vec![
                    Command::redeem(own(thread), name(0), moved),
                    Command::grant(shared(luck.any()), name(1), moved),
                    Command::grant(shared(luck.any()), name(2), points(3)),
                ])
            }
            11 | 12 => {
                let grant = |i| Command::grant(shared(luck.any()), name(i), points(i));
                Request::Each((0..40).map(grant).collect())
            }
            // A retry of an earlier step, whatever that was.
            13 if step > 0 => self.request(thread, step - 1 - luck.below(step.min(8))),
            // All threads ask for the same.
            14 => Request::Each(vec![Command::grant(
                shared(step),
                key(format!("r{run}-all-{step}")),
                points(step),
            )]),
            // The first grant of this thread's run again, with another amount: reused, or new if it is not there.
            15 if step > 0 => {
                let again = Command::grant(shared(1), key(format!("r{run}-t{thread}-twice")), points(step));
                Request::Each(vec![again])
            }
            _ => Request::Each(vec![Command::grant(shared(2), name(0), amount)]),
        }
    }
}
