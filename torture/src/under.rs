//! A store that is removed, moved, replaced or cut while it is in use: it ends, and acknowledges nothing that is not
//! there (I7, I11).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::child::{Ended, Job, PATIENCE};
use crate::faults::{UNAVAILABLE, complaint, settle};
use crate::files;
use crate::luck::Luck;
use crate::rig::{May, Rig};
use crate::work::{Load, Run};

/// More than it gets done before something happens to it.
const STEPS: u64 = 1_000_000;

/// What such a store may be called afterwards, if it is not whole.
const AFTERWARDS: &[&str] = &["Corrupt", "RolledBack", "MissingWatermark", "Foreign"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Remove,
    RemoveLog,
    ReplaceLog,
    CutLog,
    /// The folder gets another name, and another store takes its place.
    Move,
    RemoveWatermark,
    ReplaceWatermark,
}

const DEEDS: [Deed; 7] = [
    Deed::Remove,
    Deed::RemoveLog,
    Deed::ReplaceLog,
    Deed::CutLog,
    Deed::Move,
    Deed::RemoveWatermark,
    Deed::ReplaceWatermark,
];

pub fn all(rig: &Rig) -> Result<(), String> {
    let times = if rig.short { 1 } else { 5 };
    for case in 0..times * rig.rounds {
        for (n, deed) in DEEDS.into_iter().enumerate() {
            under(rig, &mut rig.luck(&[26, case, n as u64]), deed)?;
        }
    }
    Ok(())
}

fn under(rig: &Rig, luck: &mut Luck, deed: Deed) -> Result<(), String> {
    let folder = rig.folder()?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let load = *luck.one_of(&[Load::Mix, Load::Single]);
    let run = Run { seed: luck.any(), number: 1, load, threads: 4, steps: STEPS };
    let other = other_store(rig, luck)?;
    let job = Job::new(&rig.tools, &disk, &acks);
    let Run { seed, number, threads, steps, .. } = run;
    let mut command = job.command(false)?;
    command.arg("run").arg(disk.join("store")).arg(load.name());
    command.args([seed, number, threads, steps].map(|n| n.to_string()));
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let patient = Instant::now();
    let lines = 20 + luck.below(2_000) * 100;
    while fs::metadata(&acks).is_ok_and(|said| said.len() < lines) && patient.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    let done = commit(deed, &disk, &other, luck);
    let story = format!("seed={} {deed:?} under {run:?}", rig.seed);
    // Where it may go on it is killed. A log that is cut while a group is being written is long again before anybody
    // can look; what is missing shows when it is opened.
    let goes_on = !matches!(deed, Deed::Remove | Deed::RemoveLog | Deed::ReplaceLog);
    let patience = if goes_on { Duration::from_millis(700) } else { PATIENCE };
    let start = Instant::now();
    let ended = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status.code().map_or(Ended::Signal(0), Ended::Exit);
        }
        if start.elapsed() > patience {
            let _ = child.kill();
            let _ = child.wait();
            if goes_on {
                rig.note(format!("{deed:?} in use: went on until it was killed"));
                break Ended::Exit(0);
            }
            break Ended::Hung;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    done?;
    rig.tried(format!("{deed:?} in use").to_lowercase());
    judge(rig, luck, deed, folder, other, &story, ended)
}

fn other_store(rig: &Rig, luck: &mut Luck) -> Result<PathBuf, String> {
    let folder = rig.folder()?;
    let run = Run { seed: luck.any(), number: 7, load: Load::Mix, threads: 2, steps: 5 };
    Job::new(&rig.tools, &folder.join("disk"), &folder.join("acks")).run(&run, false)?;
    Ok(folder)
}

fn log_of(store: &Path) -> Result<PathBuf, String> {
    let all = files::listing(store).map_err(|error| error.to_string())?;
    all.keys().rfind(|name| name.ends_with("db")).map(|name| store.join(name)).ok_or_else(|| "no log".into())
}

fn commit(deed: Deed, disk: &Path, other: &Path, luck: &mut Luck) -> Result<(), String> {
    let store = disk.join("store");
    let failed = |error: std::io::Error| error.to_string();
    let replace = |path: &Path| {
        let copy = path.with_extension("copy");
        fs::copy(path, &copy).and_then(|_| fs::rename(&copy, path)).map_err(failed)
    };
    match deed {
        Deed::Remove => {
            // Files may be made while it goes on.
            while fs::remove_dir_all(&store).is_err() && store.exists() {}
            Ok(())
        }
        Deed::RemoveLog => fs::remove_file(log_of(&store)?).map_err(failed),
        Deed::ReplaceLog => replace(&log_of(&store)?),
        Deed::CutLog => {
            let log = File::options().write(true).open(log_of(&store)?).map_err(failed)?;
            let len = log.metadata().map_err(failed)?.len();
            log.set_len(luck.below(len)).map_err(failed)
        }
        Deed::Move => fs::rename(&store, disk.join("moved"))
            .map_err(failed)
            .and_then(|()| files::copy(&other.join("disk/store"), &store).map_err(failed)),
        Deed::RemoveWatermark => fs::remove_file(store.join("WATERMARK")).map_err(failed),
        Deed::ReplaceWatermark => replace(&store.join("WATERMARK")),
    }
}

fn judge(
    rig: &Rig,
    luck: &mut Luck,
    deed: Deed,
    folder: PathBuf,
    other: PathBuf,
    story: &str,
    ended: Ended,
) -> Result<(), String> {
    let (disk, failed) = (folder.join("disk"), |error: std::io::Error| error.to_string());
    match deed {
        Deed::Remove => {
            if let Some(what) = complaint(&folder.join("acks"), ended, UNAVAILABLE)? {
                rig.violation(format!("{story}: {what}"));
            }
            // There is nothing left to hold against what was said: but it must not have gone on for ever.
            rig.passed();
            fs::remove_dir_all(&folder).map_err(failed)?;
        }
        Deed::Move => {
            let theirs = files::listing(&other.join("disk/store")).map_err(failed)?;
            let now = files::listing(&disk.join("store")).map_err(failed)?;
            if theirs != now {
                rig.violation(format!("{story}: the other store: {:?}", files::changed(&theirs, &now)));
            }
            fs::remove_dir_all(disk.join("store")).map_err(failed)?;
            fs::rename(disk.join("moved"), disk.join("store")).map_err(failed)?;
            settle(rig, folder, story, ended, UNAVAILABLE, May::Open, luck)?;
        }
        _ => settle(rig, folder, story, ended, UNAVAILABLE, May::Refuse(AFTERWARDS), luck)?,
    }
    fs::remove_dir_all(other).map_err(failed)
}
