//! Steps of a history read off bytes, one behind the other. Every byte string is a history.
//!
//! Few accounts, keys and amounts, so that they meet.

use pointstore::testing::{Failure, Step, Unsynced};

use crate::model::{Change, Cmd, Draft, Look, Op};

const ACCOUNTS: [(&str, &str); 4] = [("", "a"), ("", "ab"), ("a", "b"), ("ä", "€ & <b>")];

const LARGEST: u64 = i64::MAX as u64;

/// The bytes that are left; zeros behind them.
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below another.
    pub(crate) fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    /// Yes or no.
    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    /// The next step; none where the bytes have ended.
    pub(crate) fn op(&mut self) -> Option<Op> {
        if self.0.is_empty() {
            return None;
        }
        Some(match self.below(20) {
            0..=4 => Op::One(self.draft()),
            5 => Op::Each(self.drafts(8)),
            6 => Op::Each(self.drafts(40)),
            7 | 8 => Op::Atomic(self.drafts(6)),
            9..=11 => Op::Retry { back: self.below(8).into(), change: self.change() },
            12 => Op::Clock(i32::from(self.byte()) * 20 - 2_000),
            13 => self.look(),
            14 if self.coin() => Op::Reopen,
            14 => Op::Drop,
            15 => self.failing(),
            16 if self.coin() => Op::Cut(self.unsynced()),
            16 => Op::Kill,
            17 => Op::CutAfter(self.below(12).into(), self.unsynced()),
            18 => Op::Fill(self.coin()),
            _ => Op::FailReads(self.coin()),
        })
    }

    fn drafts(&mut self, end: u8) -> Vec<Draft> {
        (0..self.below(end)).map(|_| self.draft()).collect()
    }

    fn draft(&mut self) -> Draft {
        let (tenant, name) = self.one_of(&ACCOUNTS);
        let choices = self.byte();
        let cmd = Cmd {
            tenant: tenant.into(),
            name: name.into(),
            redeem: choices & 1 == 1,
            key: self.key(),
            points: self.points(),
            memo: if choices & 0b1110 == 0b10 { "M".repeat(128) } else { String::new() },
            expected: None,
        };
        let expect = (choices & 0b0111_0000 == 0b1_0000).then(|| i8::from(choices & 0x80 != 0));
        Draft { cmd, expect }
    }

    fn key(&mut self) -> String {
        match self.byte() {
            0 => "K".repeat(255),
            1 => "b\u{2028}é".into(),
            n => format!("k{}", n % 24),
        }
    }

    fn points(&mut self) -> u64 {
        match self.byte() {
            n @ 0..200 => u64::from(n) % 7 + 1,
            n @ 200..240 => u64::from(n),
            n => LARGEST - u64::from(255 - n),
        }
    }

    fn change(&mut self) -> Change {
        use Change::{Expectation, Memo, Nothing, Otherwise, Points, Reversed, Shorter};
        self.one_of(&[Nothing, Nothing, Points, Memo, Expectation, Shorter, Reversed, Otherwise])
    }

    fn look(&mut self) -> Op {
        let (tenant, name) = self.one_of(&ACCOUNTS);
        let (tenant, name) = (tenant.into(), name.into());
        Op::Look(match self.below(6) {
            0 => Look::Account { tenant, name },
            1 => Look::Receipt { tenant, name, redeem: self.coin(), key: self.key() },
            2 => Look::Journal { from: self.byte().into() },
            3 => Look::Accounts,
            4 => Look::Stats,
            _ => Look::Verify,
        })
    }

    fn failing(&mut self) -> Op {
        let step = self.one_of(&[Step::Append, Step::Sync, Step::Mark, Step::Accept]);
        let failure = match (step, self.below(4)) {
            (_, 0) => Failure::Before,
            (_, 1) => Failure::Panic,
            (Step::Sync, 2) => Failure::Pretend,
            _ => Failure::After,
        };
        Op::Fail(step, failure)
    }

    fn unsynced(&mut self) -> Unsynced {
        self.one_of(&[Unsynced::Kept, Unsynced::Dropped, Unsynced::Torn])
    }
}
