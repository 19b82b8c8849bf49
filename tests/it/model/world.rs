//! A store, the judge of it, and the steps of a history that both take.
//!
//! Whatever the store answers and whatever can be read of it is held against the model at each step. With
//! faults, an answer may also be that the storage failed; then it must be a kind of failure that is due, and
//! after the next opening the store must hold what was acknowledged, and what was in doubt whole or not at all.

mod look;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pointstore::testing::{SimDisk, Unsynced};
use pointstore::{Builder, ManualClock, OpenError, PointStore, Position, Timestamp};

use super::judge::Model;
use super::op::{Cmd, Draft, No, Op, Reply, Request, changed};
use super::seen;

/// Openings that may fail in a row before it is taken for good.
const OPENINGS_MAX: u64 = 40;

/// Where the store is kept.
#[derive(Debug)]
enum Place {
    Sim(SimDisk),
    Directory(tempfile::TempDir),
}

/// Answers by kind since the store was opened, in the order of the fields of `Stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    applied: u64,
    replayed: u64,
    key_reused: u64,
    sequence_mismatch: u64,
    insufficient_points: u64,
    balance_overflow: u64,
    invalid: u64,
    storage_errors: u64,
}

/// A store under judgement.
#[derive(Debug)]
pub(crate) struct World {
    place: Place,
    builder: Builder,
    clock: ManualClock,
    now_ms: u64,
    store: Option<PointStore>,
    pub(crate) model: Model,
    past: Vec<Request>,
    tally: Tally,
    remembered: Option<Position>,
    /// Steps of the disk fail or may fail, from some moment on.
    faulty: bool,
    /// The power may go, or is off, or the process was killed.
    dark: bool,
    full: bool,
    reads_fail: bool,
    /// The store has said that it takes no more writes.
    broken: bool,
    /// How often something failed.
    troubles: u64,
}

impl World {
    /// A new store on a simulated disk.
    pub(crate) fn sim(seed: u64, small: bool) -> Self {
        Self::new(Place::Sim(SimDisk::new(seed)), small)
    }

    /// A new store on sled, in a temporary directory.
    pub(crate) fn real(small: bool) -> Self {
        Self::new(Place::Directory(tempfile::tempdir().unwrap()), small)
    }

    fn new(place: Place, small: bool) -> Self {
        let now_ms = 1_000_000;
        let clock = ManualClock::at(Timestamp::from_unix_millis(now_ms));
        let builder = PointStore::builder().clock(clock.clone()).cache_bytes(1 << 20);
        let (builder, model) = match small {
            true => (builder.small_limits(), Model::new(4, 64 + 64 + 128 + 255 + 128)),
            false => (builder, Model::new(256, 26 * 1024)),
        };
        let mut world = Self {
            place,
            builder,
            clock,
            now_ms,
            store: None,
            model,
            past: Vec::new(),
            tally: Tally::default(),
            remembered: None,
            faulty: false,
            dark: false,
            full: false,
            reads_fail: false,
            broken: false,
            troubles: 0,
        };
        world.open(true);
        world
    }

    /// The store.
    pub(crate) fn store(&self) -> &PointStore {
        self.store.as_ref().unwrap()
    }

    /// The disk, which must be a simulated one.
    pub(crate) fn disk(&self) -> &SimDisk {
        match &self.place {
            Place::Sim(disk) => disk,
            Place::Directory(_) => panic!("only a simulated disk fails on cue"),
        }
    }

    /// How often an answer, an opening or a closing has failed.
    pub(crate) fn troubles(&self) -> u64 {
        self.troubles
    }

    /// Takes a step.
    pub(crate) fn step(&mut self, op: &Op) {
        match op {
            Op::One(draft) => {
                let cmd = self.resolved(draft);
                self.submit(Request::One(cmd));
            }
            Op::Each(drafts) => {
                let list = drafts.iter().map(|draft| self.resolved(draft)).collect();
                self.submit(Request::Each(list));
            }
            Op::Atomic(drafts) => {
                let list = drafts.iter().map(|draft| self.resolved(draft)).collect();
                self.submit(Request::Atomic(list));
            }
            Op::Retry { back, change } => {
                if let Some(request) = self.past.iter().rev().nth(*back).cloned() {
                    self.submit(changed(request, *change));
                }
            }
            Op::Look(look) => self.look(look),
            Op::Clock(by_ms) => {
                self.now_ms = self.now_ms.saturating_add_signed(i64::from(*by_ms));
                self.clock.set(Timestamp::from_unix_millis(self.now_ms));
            }
            Op::Reopen => self.reopen(),
            Op::Drop => {
                self.let_go();
                self.open(false);
            }
            Op::Kill | Op::Cut(_) => {
                (self.faulty, self.dark) = (true, true);
                match op {
                    Op::Cut(unsynced) => self.disk().cut_power(*unsynced),
                    _ => self.disk().kill(),
                }
            }
            Op::CutAfter(moments, unsynced) => self.cut_after(*moments, *unsynced),
            Op::Fail(step, failure) => {
                self.faulty = true;
                self.disk().fail(*step, *failure);
            }
            Op::Fill(full) => {
                self.full = *full;
                self.disk().fill(*full);
            }
            Op::FailReads(fail) => {
                self.reads_fail = *fail;
                self.disk().fail_reads(*fail);
            }
        }
    }

    /// The power goes after so many more moments.
    pub(crate) fn cut_after(&mut self, moments: u64, unsynced: Unsynced) {
        (self.faulty, self.dark) = (true, true);
        self.disk().cut_power_after(moments, unsynced);
    }

    /// Puts a request to the store, has the answer judged, and gives it.
    pub(crate) fn submit(&mut self, request: Request) -> Reply {
        let reply = seen::submit(self.store(), &request);
        for no in reply.errors() {
            self.check_due(no);
        }
        self.model.judge(&request, self.now_ms, &reply);
        self.count(&reply);
        // I8: what is seen is what was acknowledged, whatever is in doubt.
        for cmd in request.commands() {
            self.look_at_memory(&cmd.tenant, &cmd.name);
        }
        self.remembered = Some(self.store().position());
        self.past.push(request);
        reply
    }

    /// Closes the store and opens it again.
    pub(crate) fn reopen(&mut self) {
        let store = self.store().clone();
        let closed = catch_unwind(AssertUnwindSafe(|| store.close()));
        drop(store);
        match &closed {
            Ok(closed) => {
                assert!(self.faulty || closed.is_ok(), "closing failed without a cause: {closed:?}");
                self.troubles += u64::from(closed.is_err());
                assert_eq!(*closed, self.store().close(), "closing again gives the same answer");
            }
            Err(_) => {
                assert!(self.faulty, "closing panicked without a cause");
                self.troubles += 1;
            }
        }
        self.let_go();
        self.open(false);
    }

    /// Lets go of the store, which closes it.
    pub(crate) fn let_go(&mut self) {
        let store = self.store.take();
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(store)));
        assert!(self.faulty || dropped.is_ok(), "dropping panicked without a cause");
        if let (Place::Sim(disk), Err(_)) = (&self.place, dropped) {
            // The process died of it.
            disk.kill();
        }
    }

    /// Reads no longer fail, and there is room.
    pub(crate) fn calm(&mut self) {
        if let Place::Sim(disk) = &self.place {
            disk.fill(false);
            disk.fail_reads(false);
        }
        (self.full, self.reads_fail) = (false, false);
    }

    /// Calms the disk, opens the store again, and looks at everything.
    pub(crate) fn settle(&mut self) {
        self.calm();
        self.let_go();
        self.open(false);
        self.inspect();
    }

    /// Asks for everything again, in order and with the same keys, until each request has an answer.
    pub(crate) fn retry_everything(&mut self) {
        for request in std::mem::take(&mut self.past) {
            while self.submit(request.clone()).has_failed() {
                self.settle();
            }
        }
        self.inspect();
    }

    fn resolved(&self, draft: &Draft) -> Cmd {
        let mut cmd = draft.cmd.clone();
        if let Some(offset) = draft.expect {
            let (_, sequence, _) = self.model.standing(&cmd.tenant, &cmd.name);
            cmd.expected = Some(sequence.saturating_add_signed(offset.into()));
        }
        cmd
    }

    fn open(&mut self, new: bool) {
        let builder = self.remembered.iter().fold(self.builder.clone(), |b, p| b.expect_at_least(*p));
        let opened = match &self.place {
            Place::Directory(directory) => builder.open(directory.path()).unwrap(),
            Place::Sim(disk) => {
                let (opened, failed) = open_in_spite(&builder, disk, self.faulty);
                self.troubles += failed;
                opened
            }
        };
        (self.broken, self.tally) = (false, Tally::default());
        let report = opened.opened();
        assert_eq!(report.position(), opened.position());
        if !self.faulty {
            assert_eq!(report.created(), new, "{report}");
            assert!(new || report.was_clean(), "{report}");
            assert_eq!((report.unconfirmed(), report.dropped_pages()), (0, 0), "{report}");
        }
        if let Place::Sim(disk) = &self.place {
            disk.fail_reads(false);
        }
        self.model.settle(&seen::dump(&opened).unwrap());
        if let (Place::Sim(disk), true) = (&self.place, self.reads_fail) {
            disk.fail_reads(true);
        }
        let held = self.model.dump();
        assert_eq!(report.entries(), held.journal.len() as u64);
        assert_eq!(report.accounts(), held.accounts.len() as u64);
        self.store = Some(opened);
    }

    /// A failure must be one that there is a cause for.
    fn check_due(&self, no: &No) {
        let No::Failed(kind) = no else { return };
        let due = match kind.as_str() {
            "not_attempted" => self.full || (self.faulty && !self.broken),
            "outcome_unknown" => self.faulty && !self.broken,
            "closed" => self.broken,
            "unavailable" => self.reads_fail || self.dark,
            _ => false,
        };
        assert!(due, "no cause for this failure: {kind}");
    }

    fn count(&mut self, reply: &Reply) {
        let tally = &mut self.tally;
        for done in reply.dones() {
            *(if done.replay { &mut tally.replayed } else { &mut tally.applied }) += 1;
        }
        for no in reply.errors() {
            *match no {
                No::Reused { .. } => &mut tally.key_reused,
                No::Sequence { .. } => &mut tally.sequence_mismatch,
                No::Short { .. } => &mut tally.insufficient_points,
                No::Over { .. } => &mut tally.balance_overflow,
                No::TooLong { .. } | No::TooLarge { .. } => &mut tally.invalid,
                No::Failed(_) => {
                    self.troubles += 1;
                    &mut tally.storage_errors
                }
            } += 1;
            self.broken |= no.is_unknown();
        }
    }
}

/// Opens until it succeeds, and counts how often it did not: as long as faults are due it may fail, but only as
/// something that passes.
fn open_in_spite(builder: &Builder, disk: &SimDisk, faulty: bool) -> (PointStore, u64) {
    for failed in 0..OPENINGS_MAX {
        match catch_unwind(AssertUnwindSafe(|| builder.open_simulated(disk))) {
            Ok(Ok(store)) => return (store, failed),
            Ok(Err(OpenError::Io(_))) if faulty => {}
            Ok(Err(error)) => panic!("the store does not open: {error:?}"),
            // The process died of it.
            Err(_) if faulty => disk.kill(),
            Err(_) => panic!("opening panicked without a cause"),
        }
    }
    panic!("the store never opens")
}
