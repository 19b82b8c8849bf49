//! Kills: at random moments, and before, after and halfway through every file call of making, running, recovering
//! and closing a store (I1, I2, I7).

use std::path::Path;
use std::time::Duration;

use crate::child::{Ended, Fault, Job};
use crate::luck::Luck;
use crate::rig::{May, Rig, State};
use crate::trace;
use crate::work::{Load, Run};

const ACTS: [&str; 3] = ["kill", "killafter", "torn"];

/// More states than this are not on the disk at once.
const BATCH: usize = 16;

pub fn part(rig: &Rig) -> Result<(), String> {
    let (boundaries, moments) = if rig.short { (150, 40) } else { (700, 150) };
    let calls = measure(rig)?;
    let mut states = Vec::new();
    for case in 0..boundaries * rig.rounds {
        // From one end to the other, so that no phase is left out, with luck within.
        let mut luck = rig.luck(&[2, case]);
        let place = case % boundaries;
        let nth = 1 + (place * calls + luck.below(calls)) / boundaries;
        states.push(boundary(rig, &mut luck, nth, calls)?);
        if states.len() >= BATCH {
            rig.judge_all(std::mem::take(&mut states))?;
        }
    }
    for case in 0..moments * rig.rounds {
        states.push(moment(rig, &mut rig.luck(&[3, case]))?);
        if states.len() >= BATCH {
            rig.judge_all(std::mem::take(&mut states))?;
        }
    }
    rig.judge_all(states)
}

fn small(luck: &mut Luck, number: u64) -> Run {
    Run { seed: luck.any(), number, load: Load::Mix, threads: 3, steps: 12 }
}

/// How many calls making, running and closing take.
fn measure(rig: &Rig) -> Result<u64, String> {
    let folder = rig.folder()?;
    let (disk, acks, record) = (folder.join("disk"), folder.join("acks"), folder.join("trace"));
    let mut job = Job::new(&rig.tools, &disk, &acks);
    job.trace = Some(&record);
    job.run(&small(&mut rig.luck(&[4]), 0), false)?;
    let ops = trace::read(&record)?;
    std::fs::remove_dir_all(folder).map_err(|error| error.to_string())?;
    let calls = trace::counts(&ops).iter().filter(|(kind, _)| *kind != "read").map(|(_, count)| count).sum();
    if calls < 100 { Err(format!("only {calls} calls were seen")) } else { Ok(calls) }
}

/// Killed at a call of the first run, and then perhaps at one of later runs, while they recover.
fn boundary(rig: &Rig, luck: &mut Luck, nth: u64, calls: u64) -> Result<State, String> {
    let folder = rig.folder()?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let mut story = format!("seed={} killed at", rig.seed);
    let kills = 1 + luck.below(3);
    for number in 0..kills {
        let run = small(luck, number);
        let act = *luck.one_of(&ACTS);
        // A later run opens what the kill left: half of its kills come while it does.
        let later = if luck.once_in(2) { 150 } else { calls };
        let nth = if number == 0 { nth } else { 1 + luck.below(later) };
        let mut job = Job::new(&rig.tools, &disk, &acks);
        job.fault = Some(Fault { op: "all", nth, act, ..Fault::default() });
        let ended = job.run(&run, false)?;
        story += &format!(" [call {nth} {act} {run:?} {ended:?}]");
        rig.tried(act);
        if !matches!(ended, Ended::Signal(libc::SIGKILL) | Ended::Exit(0)) {
            rig.violation(format!("{story}: the run failed, {}", last_line(&acks)));
        }
        if ended == Ended::Exit(0) {
            rig.note("a kill came after the end");
        }
    }
    let depth = *luck.one_of(&["read", "retry", "again"]);
    Ok(State { folder, story, truth: None, may: May::Open, depth })
}

/// Killed at some moments, on one store.
fn moment(rig: &Rig, luck: &mut Luck) -> Result<State, String> {
    let folder = rig.folder()?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let mut story = format!("seed={} killed after", rig.seed);
    for number in 0..1 + luck.below(4) {
        let load = *luck.one_of(&[Load::Mix, Load::Mix, Load::Full, Load::Readers, Load::Single]);
        let run = Run { seed: luck.any(), number, load, threads: 6, steps: 10_000 };
        let mut job = Job::new(&rig.tools, &disk, &acks);
        let end = if luck.once_in(2) { 25_000 } else { 120_000 };
        let after = Duration::from_micros(luck.below(end));
        job.kill_after = Some(after);
        let ended = job.run(&run, false)?;
        story += &format!(" [{after:?} {run:?} {ended:?}]");
        rig.tried("any moment");
        if ended != Ended::Signal(libc::SIGKILL) {
            rig.violation(format!("{story}: the run failed, {}", last_line(&acks)));
        }
    }
    let depth = *luck.one_of(&["read", "retry", "again"]);
    Ok(State { folder, story, truth: None, may: May::Open, depth })
}

pub fn last_line(acks: &Path) -> String {
    let text = std::fs::read_to_string(acks).unwrap_or_default();
    text.lines().last().unwrap_or_default().to_owned()
}
