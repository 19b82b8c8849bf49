//! The window: sled may begin one segment at most between two syncs of its log, whoever made it write.
//!
//! Nor may it write more than a segment, in which two could begin. With two, a power cut can lose everything: see
//! "Living on sled" in `docs/design.md`. Not counted are zeros: those that sled writes over free segments while it
//! opens, because its log, and the snapshot that calls them free, are synced then; and those that the store writes ahead
//! of sled, because sled takes them for what it has not begun. Reading makes it write nothing.

use std::collections::HashMap;

use crate::rig::Rig;
use crate::trace::Op;
use crate::work::{Load, Run};
use crate::{child::Job, trace};

const SEGMENT: u64 = 512 << 10;

/// The most segments begun in one window of a log, and the most bytes written in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Widest {
    pub segments: u64,
    pub bytes: u64,
    pub windows: u64,
    /// Bytes written while everything was read and nothing else was done.
    pub by_reading: u64,
}

/// Looks at all windows of all logs in a record.
pub fn widest(ops: &[Op]) -> Widest {
    let mut widest = Widest::default();
    let mut logs: HashMap<u64, String> = HashMap::new();
    let mut open: HashMap<String, (u64, u64)> = HashMap::new();
    let mut reading = false;
    for op in ops {
        match op {
            Op::Process => {
                logs.clear();
                reading = false;
            }
            Op::Said(text) if text == b"walk\n" => reading = true,
            Op::Open { id, path, .. } if path.ends_with("/db") => {
                logs.insert(*id, path.clone());
            }
            Op::Write { id, at, data, positioned: true } => {
                if let Some(path) = logs.get(id).filter(|_| data.iter().any(|byte| *byte != 0)) {
                    let window = open.entry(path.clone()).or_default();
                    window.0 += u64::from(at % SEGMENT == 0);
                    window.1 += data.len() as u64;
                    widest.by_reading += if reading { data.len() as u64 } else { 0 };
                    widest.segments = widest.segments.max(window.0);
                    widest.bytes = widest.bytes.max(window.1);
                }
            }
            Op::Sync { id, .. } => {
                if let Some(path) = logs.get(id) {
                    widest.windows += u64::from(open.remove(path).is_some_and(|window| window.1 > 0));
                }
            }
            _ => {}
        }
    }
    widest
}

/// Loaded runs, opened again and again, with readers and without.
pub fn part(rig: &Rig) -> Result<(), String> {
    let plans = [
        (Load::Full, 8, if rig.short { 6 } else { 20 }),
        (Load::Mix, 8, 150),
        (Load::Readers, 8, 150),
        (Load::Full, 3, if rig.short { 6 } else { 40 }),
        (Load::ReadOnly, 1, 60),
        (Load::Single, 8, 200),
        (Load::ReadOnly, 1, 60),
    ];
    for round in 0..rig.rounds {
        let folder = rig.folder()?;
        let (disk, acks, record) = (folder.join("disk"), folder.join("acks"), folder.join("trace"));
        let mut luck = rig.luck(&[1, round]);
        for (number, (load, threads, steps)) in plans.into_iter().enumerate() {
            let run = Run { seed: luck.any(), number: number as u64, load, threads, steps };
            let mut job = Job::new(&rig.tools, &disk, &acks);
            job.trace = Some(&record);
            let ended = job.run(&run, luck.once_in(2))?;
            let ops = trace::read(&record)?;
            std::fs::remove_file(&record).map_err(|error| error.to_string())?;
            let found = widest(&ops);
            rig.tried(load.name());
            let what = format!(
                "{} segments begun in one window, {} bytes, of {} windows: {run:?} {ended:?}",
                found.segments, found.bytes, found.windows
            );
            let worked =
                (found.windows > 0 || load == Load::ReadOnly) && ended == crate::child::Ended::Exit(0);
            if found.by_reading > 0 {
                rig.violation(format!("{} bytes were written by reading: {what}", found.by_reading));
            } else if found.segments > 1 || found.bytes > SEGMENT || !worked {
                rig.violation(what);
            } else {
                rig.note(format!("widest window of {}: {} KiB", load.name(), found.bytes >> 10));
                rig.passed();
            }
        }
        std::fs::remove_dir_all(folder).map_err(|error| error.to_string())?;
    }
    Ok(())
}
