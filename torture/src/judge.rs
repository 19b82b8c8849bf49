//! The judge: opens what is left of a store and holds it against what was acknowledged (I1 to I8, I10, I11).
//!
//! It knows what was asked for, since seeds decide that, and what was answered, since that was written down. It
//! shares no code with the store but its public interface.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::path::Path;

use pointstore::{Command, OpenError, PointStore, Receipt};

use crate::acks::{Acks, Answer, identity, identity_of, receipt_text};
use crate::retry;
use crate::work::Request;

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything acknowledged is there, and nothing else than what was in doubt.
    Good(Facts),
    /// It was not opened: the kind of error, and all of it.
    Refused { kind: String, error: String },
    /// An invariant is broken.
    Bad(String),
}

/// What was found in a store that is as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub entries: u64,
    pub acknowledged: u64,
    pub doubt_there: u64,
    pub doubt_absent: u64,
    pub unconfirmed: u64,
    pub dropped_pages: u64,
    pub clean: bool,
    pub created: bool,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good(facts) => write!(f, "good\t{facts:?}"),
            Self::Refused { kind, error } => write!(f, "refused\t{kind}\t{error}"),
            Self::Bad(what) => write!(f, "bad\t{}", what.replace('\n', " ")),
        }
    }
}

/// Everything that may be in a store, and everything that must.
#[derive(Debug, Default)]
pub struct Expected {
    /// By identity: the receipt as it was acknowledged.
    pub acknowledged: HashMap<String, String>,
    /// By identity: payloads that may be there or not.
    pub in_doubt: HashMap<String, Vec<String>>,
    /// Identities that some answer called new.
    applied: HashSet<String>,
    /// Lists in doubt, by the identities of their commands: all there or none.
    pub lists: Vec<Vec<String>>,
}

fn payload(command: &Command) -> String {
    format!("{}\t{}", command.points(), command.memo().map_or("", |memo| memo.as_str()))
}

impl Expected {
    /// What follows from what was heard.
    pub fn of(acks: &Acks) -> Result<Self, String> {
        let mut expected = Self::default();
        for heard in &acks.runs {
            if let Some(complaint) = heard.complaints.first() {
                return Err(format!("run {}: {complaint}", heard.run.number));
            }
            let mut last = HashMap::new();
            for (thread, step) in heard.answers.keys() {
                let newest = last.entry(*thread).or_insert(*step);
                *newest = (*newest).max(*step);
            }
            for thread in 0..heard.run.threads {
                let end = last.get(&thread).map_or(0, |step| step + 1);
                // The one behind the last answer may have been under way.
                for step in 0..(end + 1).min(heard.run.steps) {
                    let none = HashMap::new();
                    let answers = heard.answers.get(&(thread, step)).unwrap_or(&none);
                    expected.step(&heard.run.request(thread, step), answers)?;
                }
            }
        }
        Ok(expected)
    }

    fn step(&mut self, request: &Request, answers: &HashMap<usize, Answer>) -> Result<(), String> {
        let mut in_doubt = 0;
        for (item, command) in request.commands().iter().enumerate() {
            match answers.get(&item) {
                Some(Answer::Done { receipt, replay }) => self.done(command, receipt, *replay)?,
                Some(Answer::Failed { kind, .. }) if kind != "OutcomeUnknown" => {}
                _ => {
                    in_doubt += 1;
                    self.in_doubt.entry(identity_of(command)).or_default().push(payload(command));
                }
            }
        }
        if let Request::Atomic(list) = request
            && in_doubt > 0
        {
            self.lists.push(list.iter().map(identity_of).collect());
        }
        Ok(())
    }

    fn done(&mut self, command: &Command, receipt: &str, replay: bool) -> Result<(), String> {
        let id = identity_of(command);
        if !receipt.contains(&id) || !receipt.contains(&command.points().to_string()) {
            return Err(format!("I4: {command:?} was answered with {receipt}"));
        }
        if !replay && !self.applied.insert(id.clone()) {
            return Err(format!("I1: applied twice: {receipt}"));
        }
        match self.acknowledged.insert(id, receipt.to_owned()) {
            Some(before) if before != receipt => Err(format!("I4: {before} and later {receipt}")),
            _ => Ok(()),
        }
    }
}

/// Opens what is in a folder and judges it. `truth`: all receipts, where these are known to the last one. `depth`:
/// `read`; `retry`, which also sends everything again; `again`, which then closes and opens once more.
pub fn judge(folder: &Path, acks: &Path, truth: Option<&Path>, depth: &str) -> Verdict {
    let heard = match fs::read(acks).map_err(|error| error.to_string()).and_then(|text| Acks::parse(&text)) {
        Ok(heard) => heard,
        Err(error) => return Verdict::Bad(format!("no acknowledgements: {error}")),
    };
    let expected = match Expected::of(&heard) {
        Ok(expected) => expected,
        Err(what) => return Verdict::Bad(what),
    };
    let mut builder = PointStore::builder();
    let furthest = heard.furthest().and_then(|text| text.parse().ok());
    if let Some(furthest) = furthest.filter(|_| truth.is_none()) {
        builder = builder.expect_at_least(furthest);
    }
    let store = match builder.open(folder) {
        Ok(store) => store,
        Err(error) => return refused(&error),
    };
    match look(&store, &expected, truth) {
        Ok(facts) => match retry::deeper(store, folder, &heard, &expected, depth) {
            Ok(()) => Verdict::Good(facts),
            Err(what) => Verdict::Bad(what),
        },
        Err(what) => Verdict::Bad(what),
    }
}

fn refused(error: &OpenError) -> Verdict {
    Verdict::Refused { kind: format!("{:?}", error.kind()), error: format!("{error:?}") }
}

/// Reads everything and compares.
pub fn look(store: &PointStore, expected: &Expected, truth: Option<&Path>) -> Result<Facts, String> {
    let mut facts = Facts {
        unconfirmed: store.opened().unconfirmed(),
        dropped_pages: store.opened().dropped_pages(),
        clean: store.opened().was_clean(),
        created: store.opened().created(),
        ..Facts::default()
    };
    let mut books = Books::default();
    let mut all = String::new();
    for receipt in store.journal(0) {
        let receipt = receipt.map_err(|error| format!("I11: served, and then unreadable: {error:?}"))?;
        books.take(&receipt)?;
        let (id, text) =
            (identity(receipt.account(), receipt.operation(), receipt.key()), receipt_text(&receipt));
        match expected.acknowledged.get(&id) {
            Some(said) if *said == text => facts.acknowledged += 1,
            Some(said) => return Err(format!("I4: acknowledged {said}, kept {text}")),
            None => {
                let memo = receipt.memo().map_or("", |memo| memo.as_str());
                let payload = format!("{}\t{memo}", receipt.points());
                if truth.is_none() && !expected.in_doubt.get(&id).is_some_and(|all| all.contains(&payload)) {
                    return Err(format!("I6: nobody may have got this: {text}"));
                }
                facts.doubt_there += 1;
            }
        }
        if truth.is_some() {
            all.push_str(&text);
            all.push('\n');
        }
    }
    facts.entries = books.entries;
    if let Some(lost) = expected.acknowledged.iter().find(|(id, _)| !books.ids.contains(*id)) {
        let lost_count = expected.acknowledged.keys().filter(|id| !books.ids.contains(*id)).count();
        return Err(format!("I7: {lost_count} acknowledged are lost, such as {}", lost.1));
    }
    if let Some(truth) = truth {
        let truth = fs::read_to_string(truth).map_err(|error| error.to_string())?;
        if truth != all {
            return Err(format!("I11: not what was there: {} entries", books.entries));
        }
    }
    facts.doubt_absent = expected.in_doubt.keys().filter(|id| !books.ids.contains(*id)).count() as u64;
    if let Some(half) = expected.lists.iter().find(|list| {
        let there = list.iter().filter(|id| books.ids.contains(*id)).count();
        there != 0 && there != list.len()
    }) {
        return Err(format!("I2: half of a list: {half:?}"));
    }
    books.compare(store)?;
    Ok(facts)
}

/// Balances and numbers, kept by somebody else.
#[derive(Debug, Default)]
struct Books {
    entries: u64,
    ids: HashSet<String>,
    /// Balance and sequence.
    accounts: HashMap<String, (i128, u64)>,
}

impl Books {
    fn take(&mut self, receipt: &Receipt) -> Result<(), String> {
        self.entries += 1;
        if receipt.number() != self.entries {
            return Err(format!("I3: number {} at place {}", receipt.number(), self.entries));
        }
        let id = identity(receipt.account(), receipt.operation(), receipt.key());
        if !self.ids.insert(id) {
            return Err(format!("I1: twice: {}", receipt_text(receipt)));
        }
        let account = self.accounts.entry(receipt.account().to_string()).or_default();
        let points = i128::from(receipt.points().get());
        account.0 += if receipt.operation() == pointstore::Operation::Grant { points } else { -points };
        account.1 += 1;
        if account.0 != i128::from(receipt.balance_after().get())
            || account.0 < 0
            || account.1 != receipt.sequence()
        {
            return Err(format!("I3: does not follow: {}", receipt_text(receipt)));
        }
        Ok(())
    }

    fn compare(&self, store: &PointStore) -> Result<(), String> {
        let mut accounts = 0;
        for account in store.accounts() {
            accounts += 1;
            let found = (i128::from(account.balance().get()), account.sequence());
            if self.accounts.get(&account.id().to_string()) != Some(&found) {
                return Err(format!("I3: wrong balance: {account:?}"));
            }
        }
        if accounts != self.accounts.len() || store.position().entries() != self.entries {
            return Err("I3: accounts or entries are missing".into());
        }
        Ok(())
    }
}
