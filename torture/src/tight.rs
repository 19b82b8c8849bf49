//! Stores on a disk that has no room for a copy: after a clean stop they are opened in place, and only if they are
//! still as they were closed (I7, I11).

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::child::{Ended, Fault, Job, judge};
use crate::damage::{self, Base, Stop};
use crate::disk::Disk;
use crate::files;
use crate::luck::Luck;
use crate::power;
use crate::rig::{May, Rig, State};
use crate::strike;
use crate::trace;
use crate::wider::{Mount, is_root};
use crate::work::{Load, Run};

/// Free: enough to begin, and less than a copy needs beside that.
const FREE: u64 = (2 << 20) + (300 << 10);

/// More calls that change something than an opening in place makes.
const OPENING_CALLS: u64 = 30;

pub fn all(rig: &Rig) -> Result<(), String> {
    if !is_root() {
        rig.note("NOT RUN: disks without room for a copy, which only root may mount");
        return Ok(());
    }
    let (damages, runs) = if rig.short { (24, 2) } else { (100, 8) };
    for round in 0..rig.rounds {
        for (n, stop) in [Stop::Clean, Stop::Killed].into_iter().enumerate() {
            let base = damage::make(rig, &mut rig.luck(&[40, round, n as u64]), stop)?;
            for case in 0..damages {
                damaged(rig, &mut rig.luck(&[41, round, n as u64, case]), &base)?;
            }
            if stop == Stop::Clean {
                for case in 0..runs {
                    cut(rig, &mut rig.luck(&[42, round, case]), &base)?;
                }
                for nth in 1..=OPENING_CALLS {
                    killed(rig, &mut rig.luck(&[43, round, nth]), &base, nth)?;
                }
            }
        }
    }
    Ok(())
}

/// A mounted disk with the store on it, and hardly any room.
fn place(rig: &Rig, base: &Base) -> Result<(PathBuf, Mount), String> {
    let folder = rig.folder()?;
    let disk = folder.join("disk");
    let used: u64 = base.disk.values().flatten().map(|bytes| bytes.len() as u64 + 8192).sum();
    let mount = Mount::tmpfs(&disk, (used + FREE + (1 << 20)) >> 10)?;
    // Without its reserve, which would be given up for room.
    let mut all = base.disk.clone();
    all.retain(|name, _| !name.ends_with("RESERVE"));
    files::write_listing(&all, &disk).map_err(|error| error.to_string())?;
    fs::write(folder.join("acks"), &base.acks).map_err(|error| error.to_string())?;
    Ok((folder, mount))
}

/// Something else takes the room that is left.
fn fill(disk: &Path) -> Result<(), String> {
    let free = free(disk)?.saturating_sub(FREE);
    fs::write(disk.join("filler"), vec![7; free as usize]).map_err(|error| error.to_string())
}

fn free(path: &Path) -> Result<u64, String> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the path ends with a zero, and the answer is written into a value of the right type.
    unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        match libc::statvfs(path.as_ptr(), &mut found) {
            0 => Ok(found.f_bavail * found.f_frsize),
            _ => Err(std::io::Error::last_os_error().to_string()),
        }
    }
}

/// Damaged after it was stopped, or not at all: served as it was, or refused with every byte kept.
fn damaged(rig: &Rig, luck: &mut Luck, base: &Base) -> Result<(), String> {
    let (folder, mount) = place(rig, base)?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let mut all = files::listing(&disk).map_err(|error| error.to_string())?;
    let names: Vec<PathBuf> = all
        .keys()
        .filter(|name| name.parent().is_some_and(|p| p.ends_with("gen-1") || p.ends_with("gen-2")))
        .cloned()
        .collect();
    let name = luck.one_of(&names).clone();
    let mut what = "nothing".to_owned();
    if !luck.once_in(4)
        && let Some(Some(bytes)) = all.get_mut(&name)
    {
        let blow = *luck.one_of(&strike::ALL);
        what = format!("{name:?} {}", strike::strike(blow, bytes, luck));
        fs::write(disk.join(&name), bytes).map_err(|error| error.to_string())?;
    }
    fill(&disk)?;
    let before = files::listing(&disk).map_err(|error| error.to_string())?;
    let said = judge(&rig.tools, &disk.join("store"), &acks, Some(&base.truth), "read")?;
    let after = files::listing(&disk).map_err(|error| error.to_string())?;
    rig.tried("no room for a copy");
    let story = format!("seed={} no room for a copy, after {:?}: {what}: {said}", rig.seed, base.stop);
    let refused = ["DiskFull", "Corrupt", "RolledBack"].iter().any(|e| said.contains(&format!("\t{e}")));
    if said.starts_with("good\t") {
        rig.note(if said.contains("clean: true") {
            "opened in place"
        } else {
            "opened from a copy all the same"
        });
        rig.passed();
    } else if !said.starts_with("refused\t") || !refused {
        rig.violation(story);
    } else if let Some(changed) = files::changed(&before, &after) {
        rig.violation(format!("{story}: I11: {changed}"));
    } else if what == "nothing" && base.stop == Stop::Clean {
        rig.violation(format!("{story}: nothing is wrong with it"));
    } else {
        rig.note("refused where there is no room for a copy");
        rig.passed();
    }
    drop(mount);
    fs::remove_dir_all(folder).map_err(|error| error.to_string())
}

/// Killed at a call while it is opened in place. There is no copy then that could be thrown away.
fn killed(rig: &Rig, luck: &mut Luck, base: &Base, nth: u64) -> Result<(), String> {
    let (folder, mount) = place(rig, base)?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    fill(&disk)?;
    let mut job = Job::new(&rig.tools, &disk, &acks);
    let act = *luck.one_of(&["kill", "killafter", "torn"]);
    job.fault = Some(Fault { op: "change", nth, act, ..Fault::default() });
    let run = Run { seed: luck.any(), number: 9, load: Load::Mix, threads: 2, steps: 3 };
    let ended = job.run(&run, true)?;
    rig.tried("killed while opened in place");
    let story = format!("seed={} opened in place, call {nth} {act} {run:?} {ended:?}", rig.seed);
    let left = rig.folder()?;
    files::copy(&disk.join("store"), &left.join("disk/store"))
        .and_then(|()| fs::copy(&acks, left.join("acks")))
        .map_err(|error| error.to_string())?;
    drop(mount);
    let depth = *luck.one_of(&["read", "again"]);
    let state = State { folder: left, story, truth: None, may: May::Open, depth };
    rig.judge(&state)?;
    fs::remove_dir_all(folder)
        .and_then(|()| fs::remove_dir_all(state.folder))
        .map_err(|error| error.to_string())
}

/// Opened in place, loaded, and cut.
fn cut(rig: &Rig, luck: &mut Luck, base: &Base) -> Result<(), String> {
    let (folder, mount) = place(rig, base)?;
    let (root, acks, record) = (folder.join("disk"), folder.join("acks"), folder.join("trace"));
    fill(&root)?;
    let disk = Disk::load(&root).map_err(|error| error.to_string())?;
    let mut job = Job::new(&rig.tools, &root, &acks);
    job.trace = Some(&record);
    let load = *luck.one_of(&[Load::Mix, Load::Readers, Load::Single]);
    let run = Run { seed: luck.any(), number: 9, load, threads: 3, steps: 8 };
    let ended = job.run(&run, luck.once_in(2))?;
    let story = format!("seed={} opened in place, {run:?} {ended:?}", rig.seed);
    if ended != Ended::Exit(0) {
        rig.violation(format!("{story}: {}", crate::kill::last_line(&acks)));
    }
    rig.tried("cut after an opening in place");
    let ops = trace::read(&record)?;
    drop(mount);
    let left = power::cut_from(rig, luck, &disk, &ops, base.acks.clone(), &story, 25)?;
    fs::remove_dir_all(left).and_then(|()| fs::remove_dir_all(folder)).map_err(|error| error.to_string())
}
