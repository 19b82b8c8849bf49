//! Reads a whole journal out of an engine and has it judged, on every processor as far as that helps.
//!
//! Each thread takes the next pages, reads what they say, and judges that when it is their turn. So what a page says
//! stays with the processor that read it, and the journal is still judged in order.

use std::thread;

use parking_lot::{Condvar, Mutex};

use super::audit::{Audit, Finding};
use super::facts::{PageFacts, PageReader};
use crate::contain::contain;
use crate::engine::Engine;
use crate::error::{Fault, OpenError};
use crate::limits::PAGE_LEN_MAX;

/// Judging, which is done in order, is a third of the work: a fourth thread would only wait.
const THREADS_MAX: usize = 3;

/// Judges every page of an engine; `report` is told now and then how many entries are done, on this thread.
pub(super) fn scan(engine: &dyn Engine, audit: Audit, report: impl Fn(u64)) -> Result<Audit, OpenError> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    scan_on(threads, engine, audit, report)
}

fn scan_on(
    threads: usize,
    engine: &dyn Engine,
    audit: Audit,
    report: impl Fn(u64),
) -> Result<Audit, OpenError> {
    let scan = Scan::new(engine, audit);
    thread::scope(|scope| {
        for _ in 1..threads {
            let other = thread::Builder::new().name("pointstore-scan".into());
            // Where no thread can be had, the others do its work.
            let _ = other.spawn_scoped(scope, || scan.work(|_| ()));
        }
        let _stop = StopReading(&scan);
        scan.work(&report);
    });
    let audit = scan.into_audit()?;
    report(audit.entries());
    Ok(audit)
}

type Facts = Result<PageFacts, Finding>;

/// A journal while threads read and judge it.
#[derive(Debug)]
struct Scan<'a> {
    engine: &'a dyn Engine,
    reader: PageReader,
    untaken: Mutex<Untaken>,
    judging: Mutex<Judging>,
    /// Somebody's turn is over, or everybody's.
    turned: Condvar,
}

/// The pages that nobody has taken yet.
#[derive(Debug)]
struct Untaken {
    /// Where they begin, if there may be any.
    from: Option<u64>,
    /// How many batches have been taken.
    batches: u64,
}

#[derive(Debug)]
struct Judging {
    audit: Audit,
    /// Which batch is the next to be judged.
    turn: u64,
    /// Why nothing more is judged.
    ended: Option<Why>,
}

/// Why a journal was not judged to its end.
#[derive(Debug)]
enum Why {
    Fault(Fault),
    Finding(Finding),
}

impl From<Fault> for Why {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Finding> for Why {
    fn from(finding: Finding) -> Self {
        Self::Finding(finding)
    }
}

impl<'a> Scan<'a> {
    fn new(engine: &'a dyn Engine, audit: Audit) -> Self {
        Self {
            engine,
            reader: audit.reader(),
            untaken: Mutex::new(Untaken { from: Some(0), batches: 0 }),
            judging: Mutex::new(Judging { audit, turn: 0, ended: None }),
            turned: Condvar::new(),
        }
    }

    /// Reads and judges until there is nothing left; `report` is told how many entries are done, with no lock held and
    /// nobody waiting for this thread.
    fn work(&self, report: impl Fn(u64)) {
        let mut batch = Batch::default();
        loop {
            match contain(|| self.next_batch(&mut batch)) {
                Ok(Ok(Some(entries))) => report(entries),
                Ok(Ok(None)) => return,
                Ok(Err(why)) => return self.end(why),
                Err(text) => {
                    let what = format!("a panic while the journal was read: {text}");
                    return self.end(Fault::new(what).into());
                }
            }
        }
    }

    /// Reads the next pages, judges them, and says how many entries are done; nothing if none are left, or it has
    /// ended.
    fn next_batch(&self, batch: &mut Batch) -> Result<Option<u64>, Why> {
        let Some((turn, taken)) = self.take(batch) else { return Ok(None) };
        let read = || batch.pages().map(|(first, page)| self.reader.read(first, page)).collect();
        self.judge_in_turn(turn, taken.map(|()| read()))
    }

    /// Takes the next pages, and says which batch they are, and whether they could be had; nothing if there are none.
    fn take(&self, batch: &mut Batch) -> Option<(u64, Result<(), Fault>)> {
        batch.clear();
        let mut untaken = self.untaken.lock();
        // After an error nothing is left, and nobody tries again.
        let from = untaken.from.take()?;
        let turn = untaken.batches;
        untaken.batches = turn.saturating_add(1);
        let scanned = self.engine.scan(from, &mut |first, page| batch.push(first, page));
        Some((turn, scanned.map(|next| untaken.from = next)))
    }

    /// Judges a batch when it is its turn, so that of all that is wrong the first is told; nothing if it has ended.
    fn judge_in_turn(&self, turn: u64, facts: Result<Vec<Facts>, Fault>) -> Result<Option<u64>, Why> {
        let mut judging = self.judging.lock();
        self.turned.wait_while(&mut judging, |judging| judging.turn != turn && judging.ended.is_none());
        if judging.ended.is_some() {
            return Ok(None);
        }
        for page in facts? {
            judging.audit.page(page?)?;
        }
        judging.turn = turn.saturating_add(1);
        self.turned.notify_all();
        Ok(Some(judging.audit.entries()))
    }

    /// Nothing more is judged, and the first who says so says why.
    fn end(&self, why: Why) {
        let mut judging = self.judging.lock();
        judging.ended.get_or_insert(why);
        self.turned.notify_all();
        drop(judging);
        self.untaken.lock().from = None;
    }

    /// What came of it.
    fn into_audit(self) -> Result<Audit, OpenError> {
        let Judging { audit, turn, ended } = self.judging.into_inner();
        let fault = match ended {
            None if turn == self.untaken.into_inner().batches => return Ok(audit),
            // Nobody ends without saying why; if it were so, what is missing must not be taken for the end.
            None => Fault::new("the journal was not read to its end"),
            Some(Why::Finding(finding)) => return Err(finding.into()),
            Some(Why::Fault(fault)) => fault,
        };
        Err(match fault.io_kind() {
            Some(_) => OpenError::Io(fault),
            // Something was read, and the engine could not make sense of it, or none at all could be made of it.
            None => OpenError::Corrupt { what: fault.to_string().into(), file: None },
        })
    }
}

/// When the opening thread is done, or whoever is told of progress panics, no thread takes more pages.
struct StopReading<'s, 'a>(&'s Scan<'a>);

impl Drop for StopReading<'_, '_> {
    fn drop(&mut self) {
        self.0.untaken.lock().from = None;
    }
}

/// Some pages, in memory that is used again.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// The first number of each, and where it ends.
    ends: Vec<(u64, usize)>,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a page. Of one that is too long only so much is kept that it still is.
    fn push(&mut self, first: u64, page: &[u8]) {
        self.bytes.extend_from_slice(page.get(..=PAGE_LEN_MAX).unwrap_or(page));
        self.ends.push((first, self.bytes.len()));
    }

    fn pages(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.ends.iter().scan(0, |start, (first, end)| {
            let range = std::mem::replace(start, *end)..*end;
            Some((*first, self.bytes.get(range).unwrap_or_default()))
        })
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test that overflows is to say so at once")]
mod tests;
