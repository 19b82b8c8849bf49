//! The judge: a ledger in the plainest terms, that predicts every answer and everything that can be read.
//!
//! It uses nothing of the crate under test. A balance is added up anew from the receipts each time it is
//! needed. A request whose outcome is unknown is held in doubt: it either happened as a whole or not at all,
//! until the store is opened again and shows which.

use std::collections::BTreeMap;

use super::op::{Cmd, Done, No, Rec, Reply, Request};

const LARGEST: i128 = 9_223_372_036_854_775_807;

/// The account, the operation and the key: tenant, name, redeem, key.
type Identity = (String, String, bool, String);

/// Everything that can be read of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dump {
    pub(crate) journal: Vec<Rec>,
    /// In the order of their first receipts: tenant, name, balance, receipts, newest receipt.
    pub(crate) accounts: Vec<(String, String, i128, u64, u64)>,
    pub(crate) granted: u128,
    pub(crate) redeemed: u128,
}

impl Dump {
    /// Panics at the first thing that differs, and names no more than that.
    pub(crate) fn must_equal(&self, expected: &Self, when: &str) {
        for (seen, expected) in self.journal.iter().zip(&expected.journal) {
            assert_eq!(seen, expected, "{when}");
        }
        assert_eq!(self.journal.len(), expected.journal.len(), "{when}: how many receipts");
        assert_eq!(self.accounts, expected.accounts, "{when}");
        assert_eq!((self.granted, self.redeemed), (expected.granted, expected.redeemed), "{when}");
    }
}

/// A receipt and the list it was part of.
#[derive(Clone, Debug)]
struct Saved {
    rec: Rec,
    /// Number of the first receipt of the list, its length, and the place in it. A single command is a list of one.
    list: (u64, usize, usize),
}

/// The ledger as it must be.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    journal: Vec<Saved>,
    by_identity: BTreeMap<Identity, usize>,
    /// What may or may not have happened, and when.
    doubt: Option<(Request, u64)>,
    list_len_max: usize,
    list_bytes_max: usize,
}

impl Model {
    /// An empty ledger with bounds on atomic lists.
    pub(crate) fn new(list_len_max: usize, list_bytes_max: usize) -> Self {
        Self { journal: Vec::new(), by_identity: BTreeMap::new(), doubt: None, list_len_max, list_bytes_max }
    }

    /// Does what a request asks for, at a time, and says what must be answered.
    pub(crate) fn request(&mut self, request: &Request, now_ms: u64) -> Reply {
        match request {
            Request::One(cmd) => Reply::Each(vec![self.one(cmd, now_ms)]),
            Request::Each(list) => Reply::Each(list.iter().map(|cmd| self.one(cmd, now_ms)).collect()),
            Request::Atomic(list) => Reply::Atomic(self.atomic(list, now_ms)),
        }
    }

    /// Judges what was answered, and goes on from what was acknowledged. Answers that the storage failed are
    /// believed: whether they were due is for the caller to say.
    pub(crate) fn judge(&mut self, request: &Request, now_ms: u64, seen: &Reply) {
        assert!(self.doubt.is_none() || seen.errors().iter().all(|no| !no.is_unknown()), "two in doubt");
        match (request, seen) {
            (Request::Atomic(_), Reply::Atomic(Err((index, no @ No::Failed(_))))) => {
                assert_eq!(*index, None, "a failure of the storage names no item");
                if no.is_unknown() {
                    self.doubt = Some((request.clone(), now_ms));
                }
            }
            (Request::One(_) | Request::Each(_), Reply::Each(answers)) => {
                assert_eq!(request.commands().len(), answers.len(), "an answer for each command");
                let mut doubt = Vec::new();
                for (cmd, answer) in request.commands().iter().zip(answers) {
                    match answer {
                        Err(no) if no.is_unknown() => doubt.push(cmd.clone()),
                        Err(No::Failed(_)) => {}
                        answer => {
                            let written = matches!(answer, Ok(done) if !done.replay);
                            assert!(!written || doubt.is_empty(), "written after a failure: {cmd:?}");
                            assert_eq!(*answer, self.one(cmd, now_ms), "the answer to {cmd:?}");
                        }
                    }
                }
                if !doubt.is_empty() {
                    self.doubt = Some((Request::Each(doubt), now_ms));
                }
            }
            _ => assert_eq!(*seen, self.request(request, now_ms), "the answer to {request:?}"),
        }
    }

    /// A store that was opened again shows whether what was in doubt has happened.
    pub(crate) fn settle(&mut self, dump: &Dump) {
        if let Some((doubt, then_ms)) = self.doubt.take()
            && *dump != self.dump()
        {
            let _ = self.request(&doubt, then_ms);
        }
        dump.must_equal(&self.dump(), "with nothing or all of what was in doubt");
    }

    /// Everything that can be read.
    pub(crate) fn dump(&self) -> Dump {
        let mut accounts: Vec<(String, String, i128, u64, u64)> = Vec::new();
        let (mut granted, mut redeemed) = (0_u128, 0_u128);
        for Saved { rec, .. } in &self.journal {
            let total = if rec.redeem { &mut redeemed } else { &mut granted };
            *total += u128::from(rec.points);
            if !accounts.iter().any(|(tenant, name, ..)| (tenant, name) == (&rec.tenant, &rec.name)) {
                let (balance, sequence, last) = self.standing(&rec.tenant, &rec.name);
                accounts.push((rec.tenant.clone(), rec.name.clone(), balance, sequence, last));
            }
        }
        Dump { journal: self.journal.iter().map(|s| s.rec.clone()).collect(), accounts, granted, redeemed }
    }

    /// An account's balance, how many receipts it has, and the number of the newest.
    pub(crate) fn standing(&self, tenant: &str, name: &str) -> (i128, u64, u64) {
        let own = self.journal.iter().map(|saved| &saved.rec);
        own.filter(|rec| rec.tenant == tenant && rec.name == name).fold((0, 0, 0), |(sum, count, _), rec| {
            let points = i128::from(rec.points);
            (if rec.redeem { sum - points } else { sum + points }, count + 1, rec.number)
        })
    }

    /// The receipts of an account, newest first.
    pub(crate) fn statement(&self, tenant: &str, name: &str) -> Vec<Rec> {
        let own = self.journal.iter().rev().map(|saved| &saved.rec);
        own.filter(|rec| rec.tenant == tenant && rec.name == name).cloned().collect()
    }

    /// The receipt under a key.
    pub(crate) fn receipt(&self, tenant: &str, name: &str, redeem: bool, key: &str) -> Option<Rec> {
        let identity = (tenant.to_owned(), name.to_owned(), redeem, key.to_owned());
        self.by_identity.get(&identity).map(|at| self.journal[*at].rec.clone())
    }

    fn one(&mut self, cmd: &Cmd, now_ms: u64) -> Result<Done, No> {
        if let Some(saved) = self.saved(cmd) {
            return match difference(&saved.rec, cmd) {
                None => Ok(Done { replay: true, rec: saved.rec.clone() }),
                Some(differs) => Err(No::Reused { saved: saved.rec.points, given: cmd.points, differs }),
            };
        }
        let rec = self.effect(cmd, now_ms)?;
        self.keep(rec.clone(), (rec.number, 1, 0));
        Ok(Done { replay: false, rec })
    }

    fn atomic(&mut self, list: &[Cmd], now_ms: u64) -> Result<Vec<Done>, (Option<usize>, No)> {
        let (len, max) = (list.len(), self.list_len_max);
        if len > max {
            return Err((None, No::TooLong { len, max }));
        }
        let size = |c: &Cmd| 64 + c.tenant.len() + c.name.len() + c.key.len() + c.memo.len();
        let (bytes, max) = (list.iter().map(size).sum(), self.list_bytes_max);
        if bytes > max {
            return Err((None, No::TooLarge { bytes, max }));
        }
        if let Some((index, no)) = self.first_conflict(list) {
            return Err((Some(index), no));
        }
        let used: Vec<usize> = (0..len).filter(|index| self.saved(&list[*index]).is_some()).collect();
        match used.first() {
            None => {}
            Some(_) if used.len() == len => {
                let replay = |cmd| Done { replay: true, rec: self.saved(cmd).unwrap().rec.clone() };
                return Ok(list.iter().map(replay).collect());
            }
            Some(index) => {
                let points = list[*index].points;
                return Err((Some(*index), No::Reused { saved: points, given: points, differs: "list" }));
            }
        }
        // Tried on a copy, so that what fails half-way leaves nothing.
        let (mut tried, start) = (self.clone(), self.journal.len() as u64 + 1);
        let mut dones = Vec::new();
        for (index, cmd) in list.iter().enumerate() {
            let rec = tried.effect(cmd, now_ms).map_err(|no| (Some(index), no))?;
            tried.keep(rec.clone(), (start, len, index));
            dones.push(Done { replay: false, rec });
        }
        *self = tried;
        Ok(dones)
    }

    /// The first command of a list whose key is used for anything but the same place in the same list.
    fn first_conflict(&self, list: &[Cmd]) -> Option<(usize, No)> {
        let mut same = None;
        for (index, cmd) in list.iter().enumerate() {
            let given = cmd.points;
            if let Some(earlier) = list[..index].iter().find(|earlier| identity(earlier) == identity(cmd)) {
                let differs = if earlier.points != cmd.points {
                    "points"
                } else if earlier.memo != cmd.memo {
                    "memo"
                } else {
                    "list"
                };
                return Some((index, No::Reused { saved: earlier.points, given, differs }));
            }
            let Some(saved) = self.saved(cmd) else { continue };
            let (start, len, place) = saved.list;
            let in_place = (len, place) == (list.len(), index) && *same.get_or_insert(start) == start;
            if let Some(differs) = difference(&saved.rec, cmd).or((!in_place).then_some("list")) {
                return Some((index, No::Reused { saved: saved.rec.points, given, differs }));
            }
        }
        None
    }

    fn saved(&self, cmd: &Cmd) -> Option<&Saved> {
        self.by_identity.get(&identity(cmd)).map(|at| &self.journal[*at])
    }

    /// What a command with an unused key does.
    fn effect(&self, cmd: &Cmd, now_ms: u64) -> Result<Rec, No> {
        let (balance, actual, _) = self.standing(&cmd.tenant, &cmd.name);
        let requested = cmd.points;
        if let Some(expected) = cmd.expected
            && expected != actual
        {
            return Err(No::Sequence { expected, actual });
        }
        let moved = if cmd.redeem { -i128::from(requested) } else { i128::from(requested) };
        let balance_after = balance + moved;
        if balance_after < 0 {
            return Err(No::Short { balance, requested });
        }
        if balance_after > LARGEST {
            return Err(No::Over { balance, requested });
        }
        let newest_ms = self.journal.last().map_or(0, |saved| saved.rec.recorded_at_ms);
        Ok(Rec {
            number: self.journal.len() as u64 + 1,
            tenant: cmd.tenant.clone(),
            name: cmd.name.clone(),
            redeem: cmd.redeem,
            key: cmd.key.clone(),
            points: requested,
            balance_after,
            sequence: actual + 1,
            recorded_at_ms: now_ms.max(newest_ms),
            memo: cmd.memo.clone(),
        })
    }

    fn keep(&mut self, rec: Rec, list: (u64, usize, usize)) {
        let identity = (rec.tenant.clone(), rec.name.clone(), rec.redeem, rec.key.clone());
        let taken = self.by_identity.insert(identity, self.journal.len());
        assert!(taken.is_none(), "a key has one effect");
        self.journal.push(Saved { rec, list });
    }
}

fn identity(cmd: &Cmd) -> Identity {
    (cmd.tenant.clone(), cmd.name.clone(), cmd.redeem, cmd.key.clone())
}

fn difference(saved: &Rec, cmd: &Cmd) -> Option<&'static str> {
    if saved.points != cmd.points { Some("points") } else { (saved.memo != cmd.memo).then_some("memo") }
}
