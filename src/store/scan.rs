//! Reads a whole journal out of an engine and has it judged, with more than one processor where there is one.
//!
//! One thread asks the engine for pages, one reads what they say, and the opening thread judges that in order.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

use super::audit::{Audit, Finding};
use super::facts::{PageFacts, PageReader};
use crate::engine::{Engine, NewPage};
use crate::error::{Fault, OpenError};

/// Batches of pages that may wait between two threads.
const BATCHES: usize = 4;

/// Pages of a batch, or a few more.
const BATCH_PAGES: usize = 128;

type Facts = Vec<Result<PageFacts, Finding>>;

/// Judges every page of an engine; `report` is told now and then how many entries are done.
pub(super) fn scan(engine: &dyn Engine, mut audit: Audit, report: impl Fn(u64)) -> Result<Audit, OpenError> {
    let reader = audit.reader();
    thread::scope(|scope| {
        let (pages_to, pages_from) = sync_channel(BATCHES);
        let (facts_to, facts_from) = sync_channel(BATCHES);
        let fetching = spawn(scope, "pointstore-fetch", move || fetch(engine, &pages_to))?;
        let reading = spawn(scope, "pointstore-read", move || read(&reader, &pages_from, &facts_to))?;
        // Dropping the receiver ends both threads, whatever they are at.
        let judged = judge(&mut audit, facts_from, report);
        let fetched = fetching.join().unwrap_or_else(|_| Err(panicked()));
        reading.join().map_err(|_| panicked())?;
        // What could not be fetched comes before what is wrong with what was.
        fetched?;
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

/// Asks the engine for pages until there are no more, or nobody wants them.
fn fetch(engine: &dyn Engine, to: &SyncSender<Vec<NewPage>>) -> Result<(), OpenError> {
    let mut from = Some(0);
    while from.is_some() {
        let mut batch: Vec<NewPage> = Vec::with_capacity(BATCH_PAGES);
        while let Some(start) = from
            && batch.len() < BATCH_PAGES
        {
            from = engine.scan(start, &mut |first, page| batch.push((first, page.to_vec()))).map_err(
                |fault| match fault.io_kind() {
                    Some(_) => OpenError::Io(fault),
                    // The engine read something, and could not make sense of it.
                    None => OpenError::Corrupt { what: fault.to_string().into(), file: None },
                },
            )?;
        }
        if !batch.is_empty() && to.send(batch).is_err() {
            break;
        }
    }
    Ok(())
}

fn read(reader: &PageReader, from: &Receiver<Vec<NewPage>>, to: &SyncSender<Facts>) {
    for batch in from {
        let facts = batch.iter().map(|(first, page)| reader.read(*first, page)).collect();
        if to.send(facts).is_err() {
            break;
        }
    }
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    run: impl FnOnce() -> T + Send + 'scope,
) -> Result<thread::ScopedJoinHandle<'scope, T>, OpenError> {
    thread::Builder::new().name(name.into()).spawn_scoped(scope, run).map_err(|error: io::Error| {
        OpenError::Io(Fault::io("cannot start a thread to read the journal", &error))
    })
}

fn panicked() -> OpenError {
    OpenError::Corrupt { what: "reading the journal panicked".into(), file: None }
}
