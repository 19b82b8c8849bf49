//! Power cuts: a run is recorded, and states that a cut could leave are built from the record and judged (I1, I7, I8).

use std::fs;
use std::path::{Path, PathBuf};

use crate::child::{Ended, Fault, Job};
use crate::cut::Keep;
use crate::disk::Disk;
use crate::kill::last_line;
use crate::luck::Luck;
use crate::rig::{May, Rig, State};
use crate::trace::{self, Op};
use crate::window;
use crate::work::{Load, Run};

const BATCH: usize = 16;

/// Loads of the runs that follow each other on one store, cut after each.
const CHAINS: [[(Load, u64, u64); 3]; 4] = [
    [(Load::Mix, 4, 25), (Load::Mix, 4, 25), (Load::Readers, 4, 25)],
    [(Load::Full, 2, 4), (Load::ReadOnly, 1, 20), (Load::Full, 2, 4)],
    [(Load::Single, 6, 60), (Load::Full, 2, 3), (Load::Mix, 6, 20)],
    [(Load::Full, 3, 8), (Load::Readers, 3, 12), (Load::ReadOnly, 1, 20)],
];

pub fn part(rig: &Rig) -> Result<(), String> {
    let states = if rig.short { 48 } else { 140 };
    for round in 0..rig.rounds {
        for (number, chain) in CHAINS.iter().enumerate() {
            follow(rig, &mut rig.luck(&[5, round, number as u64]), chain, states)?;
        }
    }
    Ok(())
}

/// What a disk holds durably, and what was heard of it.
struct Base {
    folder: PathBuf,
    acks: Vec<u8>,
}

fn follow(rig: &Rig, luck: &mut Luck, chain: &[(Load, u64, u64)], states: usize) -> Result<(), String> {
    let mut base = Base { folder: rig.folder()?, acks: Vec::new() };
    for (place, (load, threads, steps)) in chain.iter().enumerate() {
        let run = Run {
            seed: luck.any(),
            number: place as u64 * 10,
            load: *load,
            threads: *threads,
            steps: *steps,
        };
        let disk = Disk::load(&base.folder.join("disk")).map_err(|error| error.to_string())?;
        let ops = record(rig, luck, &base, run)?;
        let found = window::widest(&ops);
        if found.segments > 1 {
            rig.violation(format!("{} segments begun in one window: {run:?}", found.segments));
        }
        let story = format!("seed={} cut in run {} of {chain:?}", rig.seed, place + 1);
        base = cuts(rig, luck, &disk, &ops, base, &story, states)?;
    }
    fs::remove_dir_all(base.folder).map_err(|error| error.to_string())
}

/// One run, or one that is killed and another that opens what that left: the system goes on, and so does the record.
fn record(rig: &Rig, luck: &mut Luck, base: &Base, run: Run) -> Result<Vec<Op>, String> {
    let (disk, acks, trace) = (base.folder.join("disk"), base.folder.join("acks"), base.folder.join("trace"));
    let mut job = Job::new(&rig.tools, &disk, &acks);
    job.trace = Some(&trace);
    let killed = luck.once_in(3);
    if killed {
        job.fault =
            Some(Fault { op: "change", nth: 1 + luck.below(400), act: "killafter", ..Fault::default() });
        rig.tried("after a kill");
    }
    let mut ended = job.run(&run, luck.once_in(3))?;
    if killed && ended == Ended::Signal(libc::SIGKILL) {
        job.fault = None;
        ended = job.run(&Run { number: run.number + 1, seed: luck.any(), ..run }, luck.once_in(3))?;
    }
    if ended != Ended::Exit(0) {
        rig.violation(format!("seed={} the run failed, {ended:?} {}: {run:?}", rig.seed, last_line(&acks)));
    }
    trace::read(&trace)
}

/// Where to cut: anywhere, while it opens, just after an answer, just before a sync.
fn places(ops: &[Op], luck: &mut Luck, count: usize) -> Vec<usize> {
    let positions = |is: fn(&Op) -> bool| -> Vec<usize> {
        ops.iter().enumerate().filter(|(_, op)| is(op)).map(|(at, _)| at).collect()
    };
    let said = positions(|op| matches!(op, Op::Said(_)));
    let syncs = positions(|op| matches!(op, Op::Sync { .. }));
    // The first thing said is that it begins, the second that it is open.
    let opened = said.get(1).copied().unwrap_or(ops.len());
    let mut all: Vec<usize> = (0..count)
        .map(|n| match n % 5 {
            0 => luck.index(ops.len()) + 1,
            1 => luck.index(opened) + 1,
            2 | 3 if !said.is_empty() => luck.one_of(&said) + 1,
            _ if !syncs.is_empty() => *luck.one_of(&syncs),
            _ => ops.len(),
        })
        .collect();
    all.push(ops.len());
    all.sort_unstable();
    all
}

/// Cuts the power at some places, judges what is left, and gives one of the states for the next run.
fn cuts(
    rig: &Rig,
    luck: &mut Luck,
    disk: &Disk,
    ops: &[Op],
    base: Base,
    story: &str,
    count: usize,
) -> Result<Base, String> {
    let acks = base.acks;
    fs::remove_dir_all(&base.folder).map_err(|error| error.to_string())?;
    let folder = cut_from(rig, luck, disk, ops, acks, story, count)?;
    let acks = fs::read(folder.join("acks")).map_err(|error| error.to_string())?;
    Ok(Base { folder, acks })
}

/// The same of a disk that is already played back; `acks` is what had been heard before.
pub fn cut_from(
    rig: &Rig,
    luck: &mut Luck,
    disk: &Disk,
    ops: &[Op],
    mut acks: Vec<u8>,
    story: &str,
    count: usize,
) -> Result<PathBuf, String> {
    let mut disk = disk.clone();
    let places = places(ops, luck, count);
    let next = luck.index(places.len());
    let (mut played, mut states, mut chosen) = (0, Vec::new(), None);
    for (n, place) in places.iter().enumerate() {
        for op in &ops[played..*place] {
            disk.play(op)?;
            if let Op::Said(text) = op {
                acks.extend_from_slice(text);
            }
        }
        played = *place;
        let keep = Keep::ALL[n % Keep::ALL.len()];
        rig.tried(format!("{keep:?}").to_lowercase());
        let folder = cut(rig, &disk, keep, luck, &acks)?;
        if n == next {
            let copy = rig.folder()?;
            crate::files::copy(&folder, &copy).map_err(|error| error.to_string())?;
            chosen = Some(copy);
        }
        let story =
            format!("{story}: after call {place} of {}, kept {keep:?} of {}", ops.len(), disk.pending());
        let depth = *luck.one_of(&["read", "read", "retry", "again"]);
        states.push(State { folder, story, truth: None, may: May::Open, depth });
        if states.len() >= BATCH {
            rig.judge_all(std::mem::take(&mut states))?;
        }
    }
    rig.judge_all(states)?;
    chosen.ok_or_else(|| "no state was chosen".into())
}

/// A state, with what had been said until then.
fn cut(rig: &Rig, disk: &Disk, keep: Keep, luck: &mut Luck, acks: &[u8]) -> Result<PathBuf, String> {
    let folder = rig.folder()?;
    disk.cut(keep, luck, &folder.join("disk")).map_err(|error| error.to_string())?;
    fs::write(folder.join("acks"), acks).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Judges cuts of a record that was made by others, from an empty disk.
pub fn cut_record(rig: &Rig, luck: &mut Luck, ops: &[Op], story: &str, count: usize) -> Result<(), String> {
    let folder = rig.folder()?;
    let empty = Disk::load(&folder.join("disk")).map_err(|error| error.to_string())?;
    // Paths in the record are those of the disk it was made on.
    let left = cut_from(rig, luck, &empty.at(record_root(ops)?), ops, Vec::new(), story, count)?;
    fs::remove_dir_all(folder).and_then(|()| fs::remove_dir_all(left)).map_err(|error| error.to_string())
}

fn record_root(ops: &[Op]) -> Result<&Path, String> {
    let found = ops.iter().find_map(|op| match op {
        Op::Open { path, .. } | Op::MakeFolder { path } => {
            path.find("/disk/").map(|at| Path::new(&path[..at + 5]))
        }
        _ => None,
    });
    found.ok_or_else(|| "nothing in the record".into())
}
