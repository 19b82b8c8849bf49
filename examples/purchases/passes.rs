//! Sending all grants to the store, from several threads, with a progress bar.

use std::collections::BTreeMap;
use std::error::Error;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use pointstore::{ApplyError, Clock as _, Command, Outcome, PointStore, Receipt, Refusal, SystemClock};

use super::input::Input;
use super::options::Options;

/// What the store answered to one grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It stands: this is its receipt.
    Receipt(Receipt),
    /// It does not: the key is another purchase's, or the balance has no room.
    Refused(Refusal),
}

/// One time through the file.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// Grants that had their effect now.
    pub(crate) applied: u64,
    /// Grants that had had it before.
    pub(crate) replayed: u64,
    /// The answer to each grant, by its place in the input.
    pub(crate) answers: BTreeMap<usize, Answer>,
    /// How long it took.
    pub(crate) took: Duration,
}

impl Pass {
    /// Sends every grant once.
    pub(crate) fn run(
        name: &'static str,
        store: &PointStore,
        input: &Input,
        options: &Options,
    ) -> Result<Self, Box<dyn Error>> {
        let bar = ProgressBar::new(input.grants.len() as u64);
        bar.set_style(ProgressStyle::with_template("{msg:<8} {bar:40} {human_pos}/{human_len} {per_sec}")?);
        bar.set_message(name);
        let parts = input.parts(options.threads);
        let started = SystemClock.monotonic();
        let sent: Vec<Result<Self, String>> = thread::scope(|scope| {
            let senders: Vec<_> = parts
                .iter()
                .map(|part| scope.spawn(|| Self::send(store, input, part, options.batch, &bar)))
                .collect();
            let joined = senders.into_iter().map(thread::ScopedJoinHandle::join);
            joined.map(|sent| sent.unwrap_or_else(|_| Err("a thread that sends panicked".into()))).collect()
        });
        let mut pass = Self { took: SystemClock.monotonic().saturating_sub(started), ..Self::default() };
        bar.finish_and_clear();
        for part in sent {
            let part = part?;
            pass.applied = pass.applied.saturating_add(part.applied);
            pass.replayed = pass.replayed.saturating_add(part.replayed);
            pass.answers.extend(part.answers);
        }
        Ok(pass)
    }

    /// Sends one part, some grants at a time.
    fn send(
        store: &PointStore,
        input: &Input,
        part: &[usize],
        batch: usize,
        bar: &ProgressBar,
    ) -> Result<Self, String> {
        let mut pass = Self::default();
        for places in part.chunks(batch) {
            let grants = places.iter().filter_map(|place| input.grants.get(*place));
            let (lines, commands): (Vec<u64>, Vec<Command>) = grants.cloned().unzip();
            let answers = store.apply_each(&commands);
            for ((place, line), answer) in places.iter().zip(lines).zip(answers) {
                pass.count(*place, answer).map_err(|error| format!("line {line}: {error}"))?;
            }
            bar.inc(commands.len() as u64);
        }
        Ok(pass)
    }

    fn count(&mut self, place: usize, answer: Result<Outcome, ApplyError>) -> Result<(), ApplyError> {
        let answer = match answer {
            Ok(outcome) => {
                let count = if outcome.is_replay() { &mut self.replayed } else { &mut self.applied };
                *count = count.saturating_add(1);
                Answer::Receipt(outcome.into_receipt())
            }
            Err(ApplyError::Refused(refusal)) => Answer::Refused(refusal),
            // Nothing can be said of the purchase. Running this program again on the same store makes it good.
            Err(error) => return Err(error),
        };
        self.answers.insert(place, answer);
        Ok(())
    }

    /// The grants that were refused, by why, as places in the input.
    pub(crate) fn refused(&self) -> BTreeMap<String, Vec<usize>> {
        let mut refused: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, answer) in &self.answers {
            if let Answer::Refused(refusal) = answer {
                refused.entry(refusal.to_string()).or_default().push(*place);
            }
        }
        refused
    }

    /// Grants a second; zero where no time went by.
    pub(crate) fn per_second(&self) -> u128 {
        let nanos = self.took.as_nanos();
        (self.answers.len() as u128).saturating_mul(1_000_000_000).checked_div(nanos).unwrap_or(0)
    }
}
