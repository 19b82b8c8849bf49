//! Damage at rest: whatever is done to the files of a stopped store, it serves exactly what was acknowledged, or it
//! is refused by name and every byte is kept (I9, I11).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::child::{Ended, Job, wait};
use crate::files::{self, Listing};
use crate::luck::Luck;
use crate::rig::{May, Rig, State};
use crate::strike;
use crate::work::{Load, Run};

const BATCH: usize = 16;

/// What a refusal of damage may be called.
const DAMAGED: &[&str] = &["Corrupt", "RolledBack", "MissingWatermark"];

/// The same where the file is gone that says what the folder is.
const UNKNOWN: &[&str] = &["Corrupt", "RolledBack", "MissingWatermark", "Foreign"];

/// How a store came to its end before it was damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Clean,
    /// Closed, with nothing written since it was opened: everything is in a snapshot of the engine's.
    Snapshot,
    Killed,
    /// Never opened again, one grant a group, and then killed.
    KilledSingle,
}

const STOPS: [Stop; 4] = [Stop::Clean, Stop::Snapshot, Stop::Killed, Stop::KilledSingle];

/// A stopped store.
pub struct Base {
    pub stop: Stop,
    pub disk: Listing,
    /// The same store, some groups earlier, stopped as well.
    pub older: Listing,
    /// All its receipts.
    pub truth: PathBuf,
    pub acks: Vec<u8>,
}

pub fn part(rig: &Rig) -> Result<(), String> {
    let trials = if rig.short { 75 } else { 400 };
    for round in 0..rig.rounds {
        let mut bases = Vec::new();
        for (n, stop) in STOPS.into_iter().enumerate() {
            bases.push(make(rig, &mut rig.luck(&[6, round, n as u64]), stop)?);
        }
        for (n, base) in bases.iter().enumerate() {
            let other = &bases[(n + 1) % bases.len()];
            let mut states = Vec::new();
            for trial in 0..trials {
                let mut luck = rig.luck(&[7, round, n as u64, trial]);
                states.extend(damage(rig, &mut luck, base, other)?);
                if states.len() >= BATCH {
                    rig.judge_all(std::mem::take(&mut states))?;
                }
            }
            rig.judge_all(states)?;
        }
    }
    Ok(())
}

fn runs(stop: Stop) -> [(Load, u64, u64, bool); 2] {
    match stop {
        Stop::Clean => [(Load::Mix, 4, 40, false), (Load::Mix, 4, 30, false)],
        Stop::Snapshot => [(Load::Mix, 4, 40, false), (Load::Full, 1, 1, false)],
        Stop::Killed => [(Load::Mix, 4, 40, false), (Load::Mix, 4, 30, true)],
        Stop::KilledSingle => [(Load::Single, 4, 150, true), (Load::Single, 0, 0, true)],
    }
}

/// Makes a store, stops it, and learns from a copy what is in it.
pub fn make(rig: &Rig, luck: &mut Luck, stop: Stop) -> Result<Base, String> {
    let folder = rig.folder()?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let list = |path: &Path| files::listing(path).map_err(|error| error.to_string());
    let mut older = Listing::new();
    for (number, (load, threads, steps, leave)) in runs(stop).into_iter().enumerate() {
        if number == 1 {
            older = list(&disk)?;
        }
        if threads > 0 {
            let run = Run { seed: luck.any(), number: number as u64, load, threads, steps };
            ran(Job::new(&rig.tools, &disk, &acks).run(&run, leave)?)?;
        }
    }
    if stop == Stop::Snapshot {
        let run = Run { seed: luck.any(), number: 2, load: Load::ReadOnly, threads: 1, steps: 1 };
        ran(Job::new(&rig.tools, &disk, &acks).run(&run, false)?)?;
    }
    let (copy, truth) = (folder.join("copy"), folder.join("truth"));
    files::copy(&disk, &copy).map_err(|error| error.to_string())?;
    let mut command = Job::new(&rig.tools, &copy, &truth).command(false)?;
    command.arg("truth").arg(copy.join("store"));
    ran(wait(command, None, crate::child::PATIENCE)?)?;
    let said = fs::read(&acks).map_err(|error| error.to_string())?;
    Ok(Base { stop, disk: list(&disk)?, older, truth, acks: said })
}

fn ran(ended: Ended) -> Result<(), String> {
    if ended == Ended::Exit(0) { Ok(()) } else { Err(format!("a run without any fault failed: {ended:?}")) }
}

/// Files that are not the same in two stores, by name; those that only one has are among them.
fn differing(one: &Listing, other: &Listing) -> Vec<PathBuf> {
    let names: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    let is_file = |name: &PathBuf| [one, other].iter().any(|l| l.get(name).is_some_and(Option::is_some));
    names.into_iter().filter(|name| is_file(name) && one.get(*name) != other.get(*name)).cloned().collect()
}

/// Puts some files of another listing in place of those here.
fn exchange(disk: &mut Listing, with: &Listing, names: &[&PathBuf]) {
    for name in names {
        match with.get(*name) {
            Some(bytes) => disk.insert((*name).clone(), bytes.clone()),
            None => disk.remove(*name),
        };
    }
    // A folder goes with the last of its files.
    let left: Vec<PathBuf> = files_of(disk);
    disk.retain(|name, bytes| {
        bytes.is_some() || with.contains_key(name) || left.iter().any(|file| file.starts_with(name))
    });
}

/// Whether what counts is all of the other store: its journal, and what it knows of itself. Beside a generation that
/// is newer it is not: that one would not be there.
fn is_the_whole(names: &[&PathBuf], all: &[PathBuf], with: &Listing) -> bool {
    let is_taken = |end: &str| {
        let mut there = all.iter().filter(|name| name.ends_with(end) && with.contains_key(*name));
        there.all(|name| names.contains(&name))
    };
    let newest = with.keys().filter_map(|name| generation(name)).max();
    let left = all.iter().filter(|name| !with.contains_key(*name) && !names.contains(name));
    names.len() == all.len()
        || (["db", "WATERMARK", "FORMAT", "CURRENT"].iter().all(|end| is_taken(end))
            && left.filter_map(|name| generation(name)).all(|number| Some(number) < newest))
}

/// The number of the generation that a file belongs to.
fn generation(name: &Path) -> Option<u64> {
    name.components().find_map(|part| part.as_os_str().to_str()?.strip_prefix("gen-")?.parse().ok())
}

fn damage(rig: &Rig, luck: &mut Luck, base: &Base, other: &Base) -> Result<Option<State>, String> {
    let mut disk = base.disk.clone();
    let mut may = May::Refuse(DAMAGED);
    let mut truth = Some(base.truth.clone());
    let what = match luck.below(8) {
        kind @ 0..=2 => {
            let (with, how) = match kind {
                0 | 1 if base.older != base.disk => (&base.older, "older"),
                _ => (&other.disk, "another store's"),
            };
            let all = differing(&disk, with);
            let mut names: Vec<&PathBuf> = all.iter().filter(|_| luck.once_in(2)).collect();
            if names.is_empty() {
                names.push(luck.one_of(&all));
            }
            let whole = luck.once_in(6);
            if whole || is_the_whole(&names, &all, with) {
                // Only somebody outside can know.
                names = all.iter().collect();
                (may, truth) = (May::OnlyRefuse(&["RolledBack"]), None);
            } else if names.iter().any(|name| name.ends_with("FORMAT")) {
                may = May::Refuse(UNKNOWN);
            }
            exchange(&mut disk, with, &names);
            rig.tried(if truth.is_none() { format!("{how} whole store") } else { format!("{how} files") });
            format!("{how} {names:?}")
        }
        3 => {
            let name = luck.one_of(&files_of(&disk)).clone();
            disk.remove(&name);
            may = if name.ends_with("FORMAT") { May::Refuse(UNKNOWN) } else { may };
            rig.tried("removed");
            format!("removed {name:?}")
        }
        _ => {
            let (mut all, mut struck) = (Vec::new(), Vec::new());
            // Now and then in several places.
            for _ in 0..1 + luck.below(2) * luck.below(3) {
                let name = pick(&disk, luck);
                // Its newest slot and the end of the log at once: nobody is left who knows of that end.
                let beside = |other: &PathBuf| name.ends_with("WATERMARK") != other.ends_with("WATERMARK");
                if struck.iter().any(beside) {
                    continue;
                }
                struck.push(name.clone());
                if let Some(Some(bytes)) = disk.get_mut(&name) {
                    let blow = *luck.one_of(&strike::ALL);
                    all.push(format!("{name:?} {}", strike::strike(blow, bytes, luck)));
                    rig.tried(format!("{blow:?}").to_lowercase());
                }
            }
            all.join(", ")
        }
    };
    if disk == base.disk {
        return Ok(None);
    }
    let folder = rig.folder()?;
    files::write_listing(&disk, &folder.join("disk")).map_err(|error| error.to_string())?;
    fs::write(folder.join("acks"), &base.acks).map_err(|error| error.to_string())?;
    let story = format!("seed={} after {:?}: {what}", rig.seed, base.stop);
    let depth = *luck.one_of(&["read", "read", "again"]);
    Ok(Some(State { folder, story, truth, may, depth }))
}

fn files_of(disk: &Listing) -> Vec<PathBuf> {
    disk.iter().filter(|(_, bytes)| bytes.is_some()).map(|(name, _)| name.clone()).collect()
}

/// Half of the time the log, which holds nearly everything.
fn pick(disk: &Listing, luck: &mut Luck) -> PathBuf {
    let all = files_of(disk);
    let logs: Vec<PathBuf> = all.iter().filter(|name| name.ends_with("db")).cloned().collect();
    let from = if luck.once_in(2) && !logs.is_empty() { &logs } else { &all };
    luck.one_of(from).clone()
}
