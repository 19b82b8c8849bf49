//! The one thread of a store: wakes a flush that hangs, and syncs a watermark that waits (I7, I11).
//!
//! It sleeps for as long as nothing is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Parts;
use super::database::Database;
use crate::error::Fault;

/// How often it looks while something is written: the age of an unsynced watermark, and of a hanging flush.
const TICK: Duration = Duration::from_secs(1);

/// Flushes that may hang at once in the attempt to wake one.
const NUDGES_MAX: usize = 16;

/// A running helper.
#[derive(Debug)]
pub(super) struct Helper {
    signals: Arc<Signals>,
    thread: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Signals {
    /// Something was written since the last tick.
    active: AtomicBool,
    /// It sleeps until it is woken.
    asleep: AtomicBool,
    stop: AtomicBool,
}

impl Helper {
    /// Starts it.
    pub(super) fn start(parts: Arc<Parts>) -> Result<Self, Fault> {
        let signals = Arc::new(Signals::default());
        let shared = Arc::clone(&signals);
        let thread = thread::Builder::new()
            .name("pointstore-helper".into())
            .spawn(move || run(&parts, &shared))
            .map_err(|error| Fault::io("cannot start the helper thread", &error))?;
        Ok(Self { signals, thread })
    }

    /// Says that something is about to be written.
    pub(super) fn wake(&self) {
        self.signals.active.store(true, Ordering::SeqCst);
        if self.signals.asleep.swap(false, Ordering::SeqCst) {
            self.thread.thread().unpark();
        }
    }

    /// Ends it, and waits until it has ended.
    pub(super) fn stop(self) {
        self.signals.stop.store(true, Ordering::SeqCst);
        self.thread.thread().unpark();
        // It catches what sled may throw; there is nothing to do about anything else when closing.
        let _ = self.thread.join();
    }
}

fn run(parts: &Arc<Parts>, signals: &Signals) {
    let mut seen = None;
    while !signals.stop.load(Ordering::SeqCst) {
        if signals.active.swap(false, Ordering::SeqCst) {
            thread::park_timeout(TICK);
            seen = tick(parts, seen);
            if seen.is_some() {
                // Somebody is still at it, and may be for long.
                signals.active.store(true, Ordering::SeqCst);
            }
        } else {
            signals.asleep.store(true, Ordering::SeqCst);
            // Looked at again after saying so: whoever wrote before that did not see a sleeper.
            if !signals.active.load(Ordering::SeqCst) && !signals.stop.load(Ordering::SeqCst) {
                thread::park();
            }
            signals.asleep.store(false, Ordering::SeqCst);
        }
    }
}

/// Looks once; `seen` is what was under way the last time, and the answer what is now.
fn tick(parts: &Arc<Parts>, seen: Option<u64>) -> Option<u64> {
    let under_way = parts.database.read_recursive().as_ref().and_then(Database::under_way);
    if under_way.is_some() && under_way == seen {
        nudge(parts);
    }
    let mut watermark = parts.watermark.lock();
    if watermark.is_unsynced() {
        // The watermark remembers a failure, and the next group meets it.
        let _ = watermark.sync();
    }
    under_way
}

/// Flushes on a thread of its own. Should the disk report its error only after this flush has begun, it hangs like
/// the one it was to wake; then the next one wakes both.
fn nudge(parts: &Arc<Parts>) {
    if parts.nudges.fetch_add(1, Ordering::SeqCst) < NUDGES_MAX {
        let parts = Arc::clone(parts);
        let nudge = move || {
            if let Some(database) = &*parts.database.read_recursive() {
                // Its error is that of the flush that hangs, which reports it.
                let _ = database.nudge();
            }
            parts.nudges.fetch_sub(1, Ordering::SeqCst);
        };
        if thread::Builder::new().name("pointstore-nudge".into()).spawn(nudge).is_ok() {
            return;
        }
    }
    parts.nudges.fetch_sub(1, Ordering::SeqCst);
}
