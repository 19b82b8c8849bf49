//! What may be asked of a ledger and what it may answer, as plain data without a type of the crate.
//!
//! Only the ways in which a simulated disk fails are the crate's own.

use pointstore::testing::{Failure, Step, Unsynced};

/// A command in plain words. An empty tenant or memo is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cmd {
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) redeem: bool,
    pub(crate) key: String,
    pub(crate) points: u64,
    pub(crate) memo: String,
    pub(crate) expected: Option<u64>,
}

impl Cmd {
    /// A grant without tenant, memo and expectation.
    pub(crate) fn grant(name: &str, key: &str, points: u64) -> Self {
        Self {
            tenant: String::new(),
            name: name.into(),
            redeem: false,
            key: key.into(),
            points,
            memo: String::new(),
            expected: None,
        }
    }

    /// The same as a redemption.
    pub(crate) fn redeem(name: &str, key: &str, points: u64) -> Self {
        Self { redeem: true, ..Self::grant(name, key, points) }
    }
}

/// One call of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    One(Cmd),
    Each(Vec<Cmd>),
    Atomic(Vec<Cmd>),
}

impl Request {
    /// The commands in it.
    pub(crate) fn commands(&self) -> &[Cmd] {
        match self {
            Self::One(cmd) => std::slice::from_ref(cmd),
            Self::Each(list) | Self::Atomic(list) => list,
        }
    }

    /// The same, to change them.
    pub(crate) fn commands_mut(&mut self) -> &mut [Cmd] {
        match self {
            Self::One(cmd) => std::slice::from_mut(cmd),
            Self::Each(list) | Self::Atomic(list) => list,
        }
    }
}

/// A receipt in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rec {
    pub(crate) number: u64,
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) redeem: bool,
    pub(crate) key: String,
    pub(crate) points: u64,
    pub(crate) balance_after: i128,
    pub(crate) sequence: u64,
    pub(crate) recorded_at_ms: u64,
    pub(crate) memo: String,
}

/// A command had its effect, now or before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) replay: bool,
    pub(crate) rec: Rec,
}

/// A command had no effect, with the numbers of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum No {
    Reused {
        saved: u64,
        given: u64,
        differs: &'static str,
    },
    Sequence {
        expected: u64,
        actual: u64,
    },
    Short {
        balance: i128,
        requested: u64,
    },
    Over {
        balance: i128,
        requested: u64,
    },
    TooLong {
        len: usize,
        max: usize,
    },
    TooLarge {
        bytes: usize,
        max: usize,
    },
    /// The storage failed, with this kind of error. Never predicted.
    Failed(String),
}

impl No {
    /// Whether it leaves open what happened.
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Self::Failed("outcome_unknown".into())
    }
}

/// The answer to one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Each(Vec<Result<Done, No>>),
    Atomic(Result<Vec<Done>, (Option<usize>, No)>),
}

impl Reply {
    /// Every error in it.
    pub(crate) fn errors(&self) -> Vec<&No> {
        match self {
            Self::Each(answers) => answers.iter().filter_map(|answer| answer.as_ref().err()).collect(),
            Self::Atomic(answer) => answer.as_ref().err().map(|(_, no)| no).into_iter().collect(),
        }
    }

    /// Whether the storage failed for any of it.
    pub(crate) fn has_failed(&self) -> bool {
        self.errors().into_iter().any(|no| matches!(no, No::Failed(_)))
    }

    /// Every effect in it.
    pub(crate) fn dones(&self) -> Vec<&Done> {
        match self {
            Self::Each(answers) => answers.iter().filter_map(|answer| answer.as_ref().ok()).collect(),
            Self::Atomic(answer) => answer.iter().flatten().collect(),
        }
    }
}

/// A command of which it is not settled yet which sequence it expects.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) cmd: Cmd,
    /// So much above where the account stands when the command is given.
    pub(crate) expect: Option<i8>,
}

/// How a retry differs from the first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Nothing,
    Points,
    Memo,
    Expectation,
    /// The last command is left out.
    Shorter,
    /// The commands come in the opposite order.
    Reversed,
    /// An atomic list comes as single commands, and these as an atomic list.
    Otherwise,
}

/// What is looked at.
#[derive(Clone, Debug)]
pub(crate) enum Look {
    Account { tenant: String, name: String },
    Receipt { tenant: String, name: String, redeem: bool, key: String },
    Journal { from: u64 },
    Accounts,
    Stats,
    Verify,
    Backup,
}

/// A step of a history.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    One(Draft),
    Each(Vec<Draft>),
    Atomic(Vec<Draft>),
    /// An earlier request again, counted from the newest.
    Retry {
        back: usize,
        change: Change,
    },
    Look(Look),
    /// The clock is moved by so many milliseconds.
    Clock(i32),
    /// Closed in order and opened again.
    Reopen,
    /// The last handle is dropped and the store opened again.
    Drop,
    /// Simulated disks only, as all below: the process is killed.
    Kill,
    Cut(Unsynced),
    CutAfter(u64, Unsynced),
    Fail(Step, Failure),
    Fill(bool),
    FailReads(bool),
}

/// An earlier request as it is asked again.
pub(super) fn changed(mut request: Request, change: Change) -> Request {
    match change {
        Change::Nothing => {}
        Change::Points => {
            if let Some(cmd) = request.commands_mut().last_mut() {
                cmd.points = cmd.points % 7 + 1;
            }
        }
        Change::Memo => {
            if let Some(cmd) = request.commands_mut().first_mut() {
                cmd.memo.push('x');
                cmd.memo.truncate(8);
            }
        }
        Change::Expectation => {
            for cmd in request.commands_mut() {
                cmd.expected = cmd.expected.map_or(Some(0), |_| None);
            }
        }
        Change::Shorter => {
            if let Request::Each(list) | Request::Atomic(list) = &mut request {
                list.pop();
            }
        }
        Change::Reversed => request.commands_mut().reverse(),
        Change::Otherwise => {
            request = match request {
                Request::One(cmd) => Request::Atomic(vec![cmd]),
                Request::Each(list) => Request::Atomic(list),
                Request::Atomic(list) => Request::Each(list),
            }
        }
    }
    request
}
