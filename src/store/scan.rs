//! Reads a whole journal out of an engine and has it judged, on two threads where there are two processors.
//!
//! One thread goes over the engine's pages and reads what each says; the opening thread judges that in order.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::audit::{Audit, Finding};
use super::facts::{PageFacts, PageReader};
use crate::engine::Engine;
use crate::error::{Fault, OpenError};

/// Batches of pages that may wait to be judged. An engine hands out some dozens at a time.
const BATCHES: usize = 8;

type Facts = Vec<Result<PageFacts, Finding>>;

/// Judges every page of an engine; `report` is told now and then how many entries are done.
pub(super) fn scan(engine: &dyn Engine, mut audit: Audit, report: impl Fn(u64)) -> Result<Audit, OpenError> {
    let reader = audit.reader();
    thread::scope(|scope| {
        let (to, from) = sync_channel(BATCHES);
        let reading = thread::Builder::new()
            .name("pointstore-scan".into())
            .spawn_scoped(scope, move || read(engine, &reader, &to))
            .map_err(|error| OpenError::Io(Fault::io("cannot start a thread to read the journal", &error)))?;
        // This drops the receiver when it is done, which ends the other thread, whatever it is at.
        let judged = judge(&mut audit, from, report);
        let panicked = |_| Err(Fault::new("reading the journal panicked"));
        // What could not be read comes before what is wrong with what was.
        reading.join().unwrap_or_else(panicked).map_err(|fault| match fault.io_kind() {
            Some(_) => OpenError::Io(fault),
            // The engine read something, and could not make sense of it.
            None => OpenError::Corrupt { what: fault.to_string().into(), file: None },
        })?;
        judged?;
        Ok(audit)
    })
}

fn judge(audit: &mut Audit, facts: Receiver<Facts>, report: impl Fn(u64)) -> Result<(), Finding> {
    for batch in facts {
        for page in batch {
            audit.page(page?)?;
        }
        report(audit.entries());
    }
    Ok(())
}

/// Reads all pages, until there are no more or nobody wants them.
fn read(engine: &dyn Engine, reader: &PageReader, to: &SyncSender<Facts>) -> Result<(), Fault> {
    let mut from = Some(0);
    while let Some(start) = from {
        let mut facts = Facts::new();
        from = engine.scan(start, &mut |first, page| facts.push(reader.read(first, page)))?;
        if to.send(facts).is_err() {
            break;
        }
    }
    Ok(())
}
