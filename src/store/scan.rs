//! Reads a whole journal out of an engine and has it judged, by as many threads as there are processors to use.
//!
//! Each thread takes the next pages, reads what they say, and judges that when it is their turn. So what a page says
//! stays with the processor that read it, and the journal is still judged in order.

use std::thread;

use parking_lot::{Condvar, Mutex};

use super::audit::{Audit, Finding};
use super::facts::{PageFacts, PageReader};
use crate::engine::Engine;
use crate::error::{Fault, OpenError};

/// More threads would only wait: a third of the work is done in order.
const THREADS_MAX: usize = 3;

/// Judges every page of an engine; `report` is told now and then how many entries are done.
pub(super) fn scan(engine: &dyn Engine, audit: Audit, report: impl Fn(u64)) -> Result<Audit, OpenError> {
    let scan = Scan::new(engine, audit);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    thread::scope(|scope| {
        let spawn = |_| {
            let thread = thread::Builder::new().name("pointstore-scan".into());
            thread.spawn_scoped(scope, || scan.work(|_| ()))
        };
        // Where no thread can be had, the others do its work.
        let others: Vec<_> = (1..threads).map_while(|n| spawn(n).ok()).collect();
        scan.work(&report);
        for other in others {
            if other.join().is_err() {
                scan.stop(|judge| judge.fault = Some(Fault::new("reading the journal panicked")));
            }
        }
    });
    let audit = scan.judge.into_inner().end()?;
    report(audit.entries());
    Ok(audit)
}

/// A journal while threads read and judge it.
#[derive(Debug)]
struct Scan<'a> {
    reader: PageReader,
    pages: Mutex<Pages<'a>>,
    judge: Mutex<Judge>,
    /// Somebody's turn is over.
    turned: Condvar,
}

/// The pages that nobody has taken yet.
#[derive(Debug)]
struct Pages<'a> {
    engine: &'a dyn Engine,
    /// Where they begin, if there may be any.
    from: Option<u64>,
    /// How many batches have been taken.
    taken: u64,
}

#[derive(Debug)]
struct Judge {
    audit: Audit,
    /// Which batch is the next to be judged.
    turn: u64,
    /// Nothing more is judged.
    stopped: bool,
    fault: Option<Fault>,
    finding: Option<Finding>,
}

impl<'a> Scan<'a> {
    fn new(engine: &'a dyn Engine, audit: Audit) -> Self {
        Self {
            reader: audit.reader(),
            pages: Mutex::new(Pages { engine, from: Some(0), taken: 0 }),
            judge: Mutex::new(Judge { audit, turn: 0, stopped: false, fault: None, finding: None }),
            turned: Condvar::new(),
        }
    }

    /// Reads and judges until there is nothing left; `report` is told how many entries are done.
    fn work(&self, report: impl Fn(u64)) {
        let _stop = StopIfPanicking(self);
        let mut batch = Batch::default();
        loop {
            let turn = match self.pages.lock().take(&mut batch) {
                Ok(Some(turn)) => turn,
                Ok(None) => return,
                Err(fault) => return self.stop(|judge| judge.fault = Some(fault)),
            };
            let facts: Vec<_> = batch.pages().map(|(first, page)| self.reader.read(first, page)).collect();
            match self.judge(turn, facts) {
                Ok(Some(entries)) => report(entries),
                Ok(None) => return,
                Err(finding) => return self.stop(|judge| judge.finding = Some(finding)),
            }
        }
    }

    /// Judges a batch when it is its turn, and says how many entries are done; nothing if it was stopped before.
    fn judge(&self, turn: u64, facts: Vec<Result<PageFacts, Finding>>) -> Result<Option<u64>, Finding> {
        let mut judge = self.judge.lock();
        self.turned.wait_while(&mut judge, |judge| judge.turn != turn && !judge.stopped);
        if judge.stopped {
            return Ok(None);
        }
        for page in facts {
            judge.audit.page(page?)?;
        }
        judge.turn = judge.turn.saturating_add(1);
        self.turned.notify_all();
        Ok(Some(judge.audit.entries()))
    }

    /// Nothing more is read or judged: `why` is told.
    fn stop(&self, why: impl FnOnce(&mut Judge)) {
        self.pages.lock().from = None;
        let mut judge = self.judge.lock();
        judge.stopped = true;
        why(&mut judge);
        self.turned.notify_all();
    }
}

impl Pages<'_> {
    /// Takes the next ones, and says which batch they are; nothing if there are none.
    fn take(&mut self, batch: &mut Batch) -> Result<Option<u64>, Fault> {
        batch.clear();
        let Some(from) = self.from else { return Ok(None) };
        self.from = self.engine.scan(from, &mut |first, page| batch.push(first, page))?;
        let turn = self.taken;
        self.taken = turn.saturating_add(1);
        Ok(Some(turn))
    }
}

impl Judge {
    /// What came of it. What could not be read comes before what is wrong with what was.
    fn end(self) -> Result<Audit, OpenError> {
        match (self.fault, self.finding) {
            (Some(fault), _) if fault.io_kind().is_some() => Err(OpenError::Io(fault)),
            // The engine read something, and could not make sense of it.
            (Some(fault), _) => Err(OpenError::Corrupt { what: fault.to_string().into(), file: None }),
            (None, Some(finding)) => Err(finding.into()),
            (None, None) => Ok(self.audit),
        }
    }
}

/// No thread waits for the turn of one that panicked.
struct StopIfPanicking<'s, 'a>(&'s Scan<'a>);

impl Drop for StopIfPanicking<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(|_| ());
        }
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

    fn push(&mut self, first: u64, page: &[u8]) {
        self.bytes.extend_from_slice(page);
        self.ends.push((first, self.bytes.len()));
    }

    fn pages(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.ends.iter().scan(0, |start, (first, end)| {
            let range = std::mem::replace(start, *end)..*end;
            Some((*first, self.bytes.get(range).unwrap_or_default()))
        })
    }
}
