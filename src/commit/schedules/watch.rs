//! A simulated engine that is watched: one group at a time, each step in its turn, nothing after a failure (I7, I10).
//!
//! What is wrong is noted and not panicked about, since a leader's panics are caught.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::engine::sim::{Failure, SimDisk, SimEngine, Step};
use crate::engine::{Engine, Found, Mark, NewPage, Shortage};
use crate::error::Fault;
use crate::journal::StoreId;

/// A step that is going to fail: the how many-th of its kind, from 0, and how.
pub(super) type Trouble = (Step, usize, Failure);

/// What is known of the engine, without a lock at which another thread could go on.
#[derive(Debug)]
pub(super) struct Watch(Mutex<Notes>);

#[derive(Debug)]
struct Notes {
    trouble: Option<Trouble>,
    /// The step that comes next, if any more may come.
    due: Option<Step>,
    /// A step is being taken.
    busy: bool,
    failed: bool,
    groups: u64,
    closed: bool,
    marked: u64,
    wrong: Vec<String>,
}

impl Watch {
    pub(super) fn new(trouble: Option<Trouble>) -> Self {
        Self(Mutex::new(Notes {
            trouble,
            due: Some(Step::Append),
            busy: false,
            failed: false,
            groups: 0,
            closed: false,
            marked: 1,
            wrong: Vec::new(),
        }))
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().expect("nothing panics while it is held")
    }

    /// The number of the first entry that is not yet durable and marked.
    pub(super) fn marked(&self) -> u64 {
        self.notes().marked
    }

    pub(super) fn failed(&self) -> bool {
        self.notes().failed
    }

    pub(super) fn groups(&self) -> u64 {
        self.notes().groups
    }

    pub(super) fn closed(&self) -> bool {
        self.notes().closed
    }

    pub(super) fn wrong(&self) -> Vec<String> {
        self.notes().wrong.clone()
    }

    /// A step begins; how it is to fail, if it is.
    fn begin(&self, step: Step) -> Option<Failure> {
        let mut notes = self.notes();
        if notes.busy || notes.due != Some(step) {
            let wrong = format!("{step:?} where {:?} is due, busy={}", notes.due, notes.busy);
            notes.wrong.push(wrong);
        }
        notes.busy = true;
        let (kind, after, failure) = notes.trouble?;
        if kind != step {
            return None;
        }
        notes.trouble = after.checked_sub(1).map(|after| (kind, after, failure));
        (after == 0).then_some(failure)
    }

    fn end(&self, step: Step, went_well: bool) {
        let mut notes = self.notes();
        notes.busy = false;
        notes.failed |= !went_well;
        notes.due = match step {
            _ if !went_well => None,
            Step::Append => Some(Step::Sync),
            Step::Sync => Some(Step::Mark),
            _ => Some(Step::Append),
        };
        notes.groups += u64::from(step == Step::Mark && went_well);
    }

    fn close(&self) {
        let mut notes = self.notes();
        if notes.busy || !matches!(notes.due, None | Some(Step::Append)) || notes.closed {
            let wrong = format!("closed where {:?} is due, busy={}", notes.due, notes.busy);
            notes.wrong.push(wrong);
        }
        notes.due = None;
        notes.closed = true;
    }
}

/// The engine.
#[derive(Debug)]
pub(super) struct Watched {
    engine: SimEngine,
    disk: SimDisk,
    watch: Arc<Watch>,
}

impl Watched {
    /// Opens an empty disk and takes it into service.
    pub(super) fn open(disk: &SimDisk, watch: &Arc<Watch>) -> Self {
        let engine = disk.open().expect("an empty disk opens");
        engine.accept(engine.found().mark).expect("it is taken into service");
        Self { engine, disk: disk.clone(), watch: Arc::clone(watch) }
    }

    fn step(&self, step: Step, act: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
        if let Some(failure) = self.watch.begin(step) {
            self.disk.fail(step, failure);
        }
        let result = catch_unwind(AssertUnwindSafe(act));
        self.watch.end(step, matches!(result, Ok(Ok(()))));
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Engine for Watched {
    fn store(&self) -> StoreId {
        self.engine.store()
    }

    fn found(&self) -> Found {
        self.engine.found()
    }

    fn scan(&self, from: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<Option<u64>, Fault> {
        self.engine.scan(from, visit)
    }

    fn truncate(&self, from: u64) -> Result<(), Fault> {
        self.engine.truncate(from)
    }

    fn accept(&self, mark: Mark) -> Result<(), Fault> {
        self.engine.accept(mark)
    }

    fn reject(&self) {
        self.engine.reject();
    }

    fn room(&self) -> Result<(), Shortage> {
        self.engine.room()
    }

    fn append(&self, pages: &[NewPage]) -> Result<(), Fault> {
        self.step(Step::Append, || self.engine.append(pages))
    }

    fn sync(&self) -> Result<(), Fault> {
        self.step(Step::Sync, || self.engine.sync())
    }

    fn mark(&self, mark: Mark) -> Result<(), Fault> {
        self.step(Step::Mark, || self.engine.mark(mark))?;
        self.watch.notes().marked = mark.next;
        Ok(())
    }

    fn page(&self, first: u64, read: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
        self.engine.page(first, read)
    }

    fn keeps(&self, path: &Path) -> bool {
        self.engine.keeps(path)
    }

    fn close(&self, mark: Option<Mark>) -> Result<(), Fault> {
        self.watch.close();
        self.engine.close(mark)
    }
}
