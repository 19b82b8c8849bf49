//! Faults: calls that fail or come up short, disks that are full, files that cannot be had (I6, I7, I8, I10).
//!
//! Each ends within a bounded time in an error that is documented; opened again without the fault, nothing
//! acknowledged is missing.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::acks::{Acks, Answer};
use crate::child::{Ended, Fault, Job};
use crate::luck::Luck;
use crate::rig::{May, Rig, State};
use crate::trace::Op;
use crate::work::{Load, Run};
use crate::{power, tight, trace, under, wider};

/// What a command may be answered while something fails.
const ANSWERS: [&str; 6] =
    ["NotAttempted", "OutcomeUnknown", "Closed", "Unavailable", "KeyReused", "Rejected"];

/// Why a store is not opened while something fails.
pub const UNAVAILABLE: &[&str] = &["Unavailable"];

/// What came before the run that meets the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Make,
    Reopen,
    Recover,
}

/// The calls that fail, how, and what one of their files is called.
const CALLS: [(&str, &[&str]); 11] = [
    ("write", &["EIO", "ENOSPC", "short"]),
    ("pwrite64", &["EIO", "ENOSPC", "short"]),
    ("fsync", &["EIO"]),
    ("fdatasync", &["EIO"]),
    ("sync_file_range", &["EIO"]),
    ("open", &["EIO", "EMFILE", "ENOSPC"]),
    ("read", &["EIO", "short"]),
    ("pread64", &["EIO", "short"]),
    ("rename", &["EIO", "ENOSPC"]),
    ("mkdir", &["ENOSPC"]),
    ("ftruncate", &["EIO"]),
];

pub fn part(rig: &Rig) -> Result<(), String> {
    let (once, late, clean_pages) = if rig.short { (130, 8, 8) } else { (600, 24, 25) };
    let counts = measure(rig)?;
    rig.each(once * rig.rounds, |case| injected(rig, &mut rig.luck(&[8, case]), &counts, false))?;
    rig.each(late * rig.rounds, |case| injected(rig, &mut rig.luck(&[9, case]), &counts, true))?;
    for case in 0..clean_pages * rig.rounds {
        pages_that_look_clean(rig, &mut rig.luck(&[10, case]), &counts)?;
    }
    wider::all(rig)?;
    tight::all(rig)?;
    under::all(rig)
}

type Counts = Vec<(&'static str, u64)>;

fn small(luck: &mut Luck, number: u64) -> Run {
    Run { seed: luck.any(), number, load: Load::Mix, threads: 3, steps: 14 }
}

fn measure(rig: &Rig) -> Result<Counts, String> {
    let folder = rig.folder()?;
    let (disk, acks, record) = (folder.join("disk"), folder.join("acks"), folder.join("trace"));
    let mut job = Job::new(&rig.tools, &disk, &acks);
    job.trace = Some(&record);
    let mut luck = rig.luck(&[11]);
    job.run(&small(&mut luck, 0), true)?;
    job.run(&small(&mut luck, 1), false)?;
    let counts = trace::counts(&trace::read(&record)?);
    fs::remove_dir_all(folder).map_err(|error| error.to_string())?;
    Ok(counts)
}

fn fault(luck: &mut Luck, counts: &Counts, late: bool) -> Fault {
    let (op, acts) = *if late { luck.one_of(&CALLS[1..5]) } else { luck.one_of(&CALLS) };
    let calls = counts.iter().find(|(kind, _)| *kind == op).map_or(1, |(_, count)| *count / 2 + 1);
    // The first ones are those of opening, and of the rest there are many.
    let nth = 1 + if luck.once_in(2) { luck.below(calls.min(12)) } else { luck.below(calls) };
    Fault {
        op,
        nth,
        act: if late { "EIO" } else { acts[luck.index(acts.len())] },
        path: "",
        sticky: luck.once_in(2),
        after: luck.once_in(4),
        delay_ms: if late { 200 + luck.below(400) } else { 0 },
    }
}

/// One call fails, or that and all later ones of its kind.
fn injected(rig: &Rig, luck: &mut Luck, counts: &Counts, late: bool) -> Result<(), String> {
    let folder = rig.folder()?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let phase = *luck.one_of(&[Phase::Make, Phase::Reopen, Phase::Recover]);
    let mut job = Job::new(&rig.tools, &disk, &acks);
    if phase != Phase::Make {
        job.run(&small(luck, 0), phase == Phase::Recover)?;
    }
    let fault = fault(luck, counts, late);
    job.fault = Some(fault.clone());
    let ended = job.run(&small(luck, 1), luck.once_in(4))?;
    let how = match (fault.delay_ms, fault.sticky) {
        (0, false) => "once",
        (0, true) => "from then on",
        _ => "late",
    };
    rig.tried(format!("{} {} {how}", fault.op, fault.act));
    rig.note(if job.fault_was_met() {
        "faults that were met"
    } else {
        "faults that came too late to be met"
    });
    let story = format!("seed={} {phase:?} {fault:?}", rig.seed);
    // The engine keeps an error of its own reads to itself while it recovers, and then knows of less.
    let reasons: &[&str] = if fault.op == "pread64" { &["Unavailable", "Corrupt"] } else { UNAVAILABLE };
    settle(rig, folder, &story, ended, reasons, May::Open, luck)
}

/// Judges how a run ended that met a fault, and then what it left.
pub fn settle(
    rig: &Rig,
    folder: PathBuf,
    story: &str,
    ended: Ended,
    reasons: &[&str],
    may: May,
    luck: &mut Luck,
) -> Result<(), String> {
    match complaint(&folder.join("acks"), ended, reasons)? {
        Some(what) => rig.violation(format!("{story}: {what}")),
        None => {
            for note in notes(&folder.join("acks"))? {
                rig.note(note);
            }
        }
    }
    let depth = *luck.one_of(&["read", "retry", "again"]);
    let state = State { folder, story: story.into(), truth: None, may, depth };
    rig.judge(&state)?;
    fs::remove_dir_all(&state.folder).map_err(|error| error.to_string())
}

/// What is wrong with how the last run ended, and with what it answered.
pub fn complaint(acks: &Path, ended: Ended, reasons: &[&str]) -> Result<Option<String>, String> {
    let heard = Acks::parse(&fs::read(acks).map_err(|error| error.to_string())?)?;
    let Some(last) = heard.runs.last() else { return Ok(Some(format!("nothing was heard: {ended:?}"))) };
    if !matches!(ended, Ended::Exit(0 | 3)) {
        return Ok(Some(format!("it did not end in order: {ended:?}")));
    }
    if let Some((kind, text)) = &last.not_open
        && !reasons.contains(&kind.as_str())
    {
        return Ok(Some(format!("not opened, for the wrong reason: {text}")));
    }
    if let Some((kind, text)) = last.errors().find(|(kind, _)| !ANSWERS.contains(kind)) {
        return Ok(Some(format!("answered {kind}: {text}")));
    }
    // I10: once a thread was told that the store is finished, nothing new is applied for it.
    for thread in 0..last.run.threads {
        let mut finished = false;
        for step in 0..last.run.steps {
            let Some(answers) = last.answers.get(&(thread, step)) else { continue };
            for answer in (0..).map_while(|item| answers.get(&item)) {
                match answer {
                    Answer::Done { replay: false, receipt } if finished => {
                        return Ok(Some(format!("I10: applied after it was finished: {receipt}")));
                    }
                    Answer::Failed { kind, .. } if kind == "OutcomeUnknown" || kind == "Closed" => {
                        finished = true
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(None)
}

fn notes(acks: &Path) -> Result<Vec<String>, String> {
    let heard = Acks::parse(&fs::read(acks).map_err(|error| error.to_string())?)?;
    let Some(last) = heard.runs.last() else { return Ok(Vec::new()) };
    let mut kinds: Vec<String> = last.errors().map(|(kind, _)| kind.to_owned()).collect();
    kinds.retain(|kind| kind != "Rejected" && kind != "KeyReused");
    kinds.sort();
    kinds.dedup();
    let mut notes: Vec<String> = kinds.into_iter().map(|kind| format!("runs answered {kind}")).collect();
    if let Some((kind, _)) = &last.not_open {
        notes.push(format!("runs not opened: {kind}"));
    }
    if last.closed == Some(false) {
        notes.push("runs not closed cleanly".into());
    }
    Ok(notes)
}

/// A sync fails, and what it was to sync looks clean from then on. The store is opened again, everything goes on;
/// and then the power is cut.
fn pages_that_look_clean(rig: &Rig, luck: &mut Luck, counts: &Counts) -> Result<(), String> {
    let folder = rig.folder()?;
    let (disk, acks, record) = (folder.join("disk"), folder.join("acks"), folder.join("trace"));
    let mut job = Job::new(&rig.tools, &disk, &acks);
    job.trace = Some(&record);
    let op = *luck.one_of(&["fdatasync", "fdatasync", "fsync"]);
    let calls = counts.iter().find(|(kind, _)| *kind == op).map_or(1, |(_, count)| *count / 2);
    let nth = 1 + luck.below(calls);
    let mut fault = Fault { op, nth, act: "EIO", sticky: luck.once_in(3), ..Fault::default() };
    let mut number = 0;
    if luck.once_in(2) {
        // The file is another one after each opening.
        job.run(&small(luck, number), luck.once_in(2))?;
        number += 1;
    }
    let mut ends = Vec::new();
    for _ in 0..1 + luck.below(2) {
        job.fault = Some(fault.clone());
        ends.push(job.run(&small(luck, number), luck.once_in(2))?);
        number += 1;
        fault.nth = 1 + luck.below(calls);
    }
    job.fault = None;
    ends.push(job.run(&small(luck, number), luck.once_in(2))?);
    rig.tried("pages that look clean");
    let story = format!("seed={} pages look clean after {fault:?} {ends:?}", rig.seed);
    let ops = trace::read(&record)?;
    if let Some(what) = written_after_a_failure(&ops) {
        rig.violation(format!("{story}: I10: {what}"));
    }
    if ends.last() != Some(&Ended::Exit(0)) {
        rig.violation(format!("{story}: not open again: {}", crate::kill::last_line(&acks)));
    }
    power::cut_record(rig, luck, &ops, &story, 13)?;
    fs::remove_dir_all(folder).map_err(|error| error.to_string())
}

/// A write to the log or the watermark by a process that a sync of one of them has failed for.
fn written_after_a_failure(ops: &[Op]) -> Option<String> {
    let counts = |path: &str| path.ends_with("/db") || path.ends_with("/WATERMARK");
    let mut open: HashMap<u64, &str> = HashMap::new();
    let mut failed = None;
    for (at, op) in ops.iter().enumerate() {
        match op {
            Op::Process => {
                open.clear();
                failed = None;
            }
            Op::Open { id, path, .. } => {
                open.insert(*id, path);
            }
            Op::SyncFailed { id } => {
                failed = failed.or_else(|| open.get(id).copied().filter(|path| counts(path)));
            }
            Op::Write { id, positioned: true, .. } => {
                if let (Some(failed), Some(path)) = (failed, open.get(id).filter(|path| counts(path))) {
                    return Some(format!("call {at} writes {path} after a sync of {failed} had failed"));
                }
            }
            _ => {}
        }
    }
    None
}
