//! What the program under test said: one line for each answer, written after the answer was given.

use std::collections::HashMap;
use std::fmt::Write;

use pointstore::{ApplyError, Command, Operation, Outcome, Receipt};

use crate::work::{Load, Run};

/// Ends a line that was never said to its end.
pub const CUT: char = '\u{18}';

/// A receipt with everything in it, as a line.
pub fn receipt_text(receipt: &Receipt) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}",
        receipt.number(),
        identity(receipt.account(), receipt.operation(), receipt.key()),
        receipt.points(),
        receipt.balance_after(),
        receipt.sequence(),
        receipt.recorded_at().as_unix_millis(),
        receipt.memo().map_or("", |memo| memo.as_str()),
    )
}

/// What names an operation.
pub fn identity(
    account: &pointstore::AccountId,
    operation: Operation,
    key: &pointstore::IdempotencyKey,
) -> String {
    format!("{operation}\t{account}\t{key}")
}

/// The same of a command.
pub fn identity_of(command: &Command) -> String {
    identity(command.account(), command.operation(), command.key())
}

/// The line of one answer.
pub fn answer_line(thread: u64, step: u64, item: usize, answer: &Result<Outcome, ApplyError>) -> String {
    let mut line = format!("{thread}\t{step}\t{item}\t");
    match answer {
        Ok(outcome) => {
            let how = if outcome.is_replay() { 'R' } else { 'A' };
            let _ = write!(line, "{how}\t{}", receipt_text(outcome.receipt()));
        }
        Err(error) => {
            let _ = write!(line, "E\t{:?}\t{error:?}", error.kind());
        }
    }
    line.push('\n');
    line
}

/// What one command was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The receipt as a line, and whether it was a replay.
    Done { receipt: String, replay: bool },
    /// The kind of error.
    Failed { kind: String, text: String },
}

/// A run and what was heard of it.
#[derive(Clone, Debug)]
pub struct Heard {
    pub run: Run,
    /// By thread and step: answers by item.
    pub answers: HashMap<(u64, u64), HashMap<usize, Answer>>,
    /// Where the journal ended when somebody looked, with its chain.
    pub seen: Vec<String>,
    /// It failed to open, with this kind of error.
    pub not_open: Option<(String, String)>,
    pub closing: bool,
    /// It closed, and how.
    pub closed: Option<bool>,
    /// It came to its own end.
    pub ended: bool,
    /// What its readers found wrong.
    pub complaints: Vec<String>,
}

/// Everything heard of a store.
#[derive(Clone, Debug, Default)]
pub struct Acks {
    pub runs: Vec<Heard>,
}

impl Acks {
    /// Reads what was said; a line without an end was never said.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let mut acks = Self::default();
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        for line in String::from_utf8_lossy(&text[..whole]).lines().filter(|line| !line.ends_with(CUT)) {
            acks.line(line).ok_or_else(|| format!("cannot read: {line}"))?;
        }
        Ok(acks)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once('\t').unwrap_or((line, ""));
        if word == "begin" {
            let mut fields = rest.split('\t');
            let load = Load::named(fields.next()?)?;
            let mut number = || fields.next()?.parse::<u64>().ok();
            let run = Run { load, seed: number()?, number: number()?, threads: number()?, steps: number()? };
            self.runs.push(Heard {
                run,
                answers: HashMap::new(),
                seen: Vec::new(),
                not_open: None,
                closing: false,
                closed: None,
                ended: false,
                complaints: Vec::new(),
            });
            return Some(());
        }
        let heard = self.runs.last_mut()?;
        match word {
            "seen" => heard.seen.push(rest.to_owned()),
            "noopen" => {
                let (kind, text) = rest.split_once('\t')?;
                heard.not_open = Some((kind.to_owned(), text.to_owned()));
            }
            "walk" => {}
            "closing" => heard.closing = true,
            "closed" => heard.closed = Some(rest == "ok"),
            "end" => heard.ended = true,
            "complaint" => heard.complaints.push(rest.to_owned()),
            thread => {
                let mut fields = rest.splitn(4, '\t');
                let place = (thread.parse().ok()?, fields.next()?.parse().ok()?);
                let item = fields.next()?.parse().ok()?;
                let (how, rest) = (fields.next()?, fields.next()?);
                let answer = match how {
                    "E" => {
                        let (kind, text) = rest.split_once('\t')?;
                        Answer::Failed { kind: kind.to_owned(), text: text.to_owned() }
                    }
                    how => Answer::Done { receipt: rest.to_owned(), replay: how == "R" },
                };
                heard.answers.entry(place).or_default().insert(item, answer);
            }
        }
        Some(())
    }

    /// The furthest position that anyone saw.
    pub fn furthest(&self) -> Option<&str> {
        let entries = |text: &&str| text.split('-').next().and_then(|n| n.parse::<u64>().ok());
        self.runs.iter().flat_map(|run| &run.seen).map(String::as_str).max_by_key(entries)
    }

    /// How many answers say that something is stored.
    pub fn acknowledged(&self) -> usize {
        let answers = self.runs.iter().flat_map(|run| run.answers.values()).flat_map(HashMap::values);
        answers.filter(|answer| matches!(answer, Answer::Done { .. })).count()
    }
}

impl Heard {
    /// Errors of commands, by kind.
    pub fn errors(&self) -> impl Iterator<Item = (&str, &str)> {
        self.answers.values().flat_map(HashMap::values).filter_map(|answer| match answer {
            Answer::Failed { kind, text } => Some((kind.as_str(), text.as_str())),
            Answer::Done { .. } => None,
        })
    }
}
