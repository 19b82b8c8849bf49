//! Opening: scan, fold, audit, compare with the watermark, and only then serve (I3, I7, I11).

use std::sync::Arc;
use std::time::Duration;

use super::audit::{Audit, Audited, Finding, finding};
use super::builder::Builder;
use super::report::{OpenReport, Progress};
use super::scan;
use crate::commit::{Committer, Pace, Settings, read_page};
use crate::engine::{Engine, Found, Mark};
use crate::error::OpenError;
use crate::index::{Index, Tail};
use crate::journal::Page;
use crate::types::{Operation, Position};

/// Judges what an engine found, and takes it into service if it is sound. If not, it is let go untouched.
pub(super) fn open(
    engine: Box<dyn Engine>,
    builder: &Builder,
    start: Duration,
) -> Result<(Committer, OpenReport), OpenError> {
    let judged = judge(&*engine, builder).and_then(|(audited, unconfirmed)| {
        let Audited { index, unfinished_pages, .. } = audited;
        engine.accept(mark_of(&index.tail)).map_err(OpenError::Io)?;
        Ok((index, unfinished_pages, unconfirmed))
    });
    let (index, unfinished_pages, unconfirmed) = match judged {
        Ok(judged) => judged,
        Err(error) => {
            engine.reject();
            return Err(error);
        }
    };
    let Found { created, clean, copied_bytes, .. } = engine.found();
    let report = OpenReport {
        created,
        clean,
        copied_bytes,
        entries: index.tail.next.saturating_sub(1),
        accounts: index.accounts.len() as u64,
        unconfirmed,
        dropped_pages: unfinished_pages as u64,
        position: position_of(&index.tail),
        took: builder.time().monotonic().saturating_sub(start),
    };
    let settings = Settings {
        limits: builder.limits(),
        clock: Arc::clone(builder.time()),
        stall_limit: builder.stall_limit(),
        pace: Pace::STANDARD,
        observers: builder.observers().clone(),
    };
    Ok((Committer::new(engine, index, settings), report))
}

/// The watermark of a journal that ends here.
pub(super) fn mark_of(tail: &Tail) -> Mark {
    Mark { next: tail.next, chain: tail.chain.get() }
}

/// The same for callers.
pub(super) fn position_of(tail: &Tail) -> Position {
    Position::new(tail.next, tail.chain.get())
}

fn judge(engine: &dyn Engine, builder: &Builder) -> Result<(Audited, u64), OpenError> {
    let mark = engine.found().mark;
    let least = builder.least().unwrap_or(Position::new(mark.next, mark.chain));
    let audit = Audit::new(engine.store(), &[mark.next, least.next()]);
    let expected = mark.next.saturating_sub(1);
    let audited = scan::scan(engine, audit, |done| builder.report(Progress { done, expected }))?.end();
    let next = audited.index.tail.next;
    check_reached(&audited, mark.next, mark.chain)?;
    check_reached(&audited, least.next(), least.chain())?;
    check_suspects(engine, &audited)?;
    if audited.unfinished_pages > 0 {
        // Beyond the watermark, as was just checked: nobody was ever told of it.
        engine.truncate(next).map_err(OpenError::Io)?;
    }
    let unconfirmed = next.saturating_sub(mark.next);
    Ok((audited, unconfirmed))
}

/// The journal must reach a remembered place, and be the same up to there.
fn check_reached(audited: &Audited, next: u64, chain: u32) -> Result<(), OpenError> {
    let what = match audited.chain_before(next) {
        Some(found) if found == chain => return Ok(()),
        Some(_) => "another journal is in its place",
        None => "its end is missing",
    };
    let (expected, found) = (next.saturating_sub(1), audited.index.tail.next.saturating_sub(1));
    Err(OpenError::RolledBack { expected, found, what: what.into() })
}

/// Keys with one hash must be different keys.
pub(super) fn check_suspects(engine: &dyn Engine, audited: &Audited) -> Result<(), Finding> {
    for (earlier, later) in &audited.suspects {
        if key_of(engine, &audited.index, *earlier)? == key_of(engine, &audited.index, *later)? {
            return Err(finding(*later, "the key is used twice"));
        }
    }
    Ok(())
}

type Key = (Operation, String, String, String);

fn key_of(engine: &dyn Engine, index: &Index, number: u64) -> Result<Key, Finding> {
    let first = index.pages.page_of(number).ok_or_else(|| finding(number, "no page holds the entry"))?;
    let take = |page: &Page<'_>| {
        let row = page.row_numbered(number).and_then(Result::ok);
        Ok(row.and_then(|row| {
            Some((row.operation().ok()?, row.tenant.to_owned(), row.name.to_owned(), row.key.to_owned()))
        }))
    };
    let key = read_page(engine, first, number, take).map_err(|error| finding(number, &error.to_string()))?;
    key.ok_or_else(|| finding(number, "the entry cannot be read again"))
}
