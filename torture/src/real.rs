//! Power cuts of real file systems: ext4 and xfs on a loop device, shut down without flushing their journals (I7).
//!
//! Only root may do this, and only where there are loop devices; elsewhere it says that it was not run.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use crate::child::{Ended, Fault, Job};
use crate::files;
use crate::luck::Luck;
use crate::rig::{May, Rig, State};
use crate::wider::{Mount, is_root};
use crate::work::{Load, Run};

/// `_IOR('X', 125, u32)`, and the flag that says: as it is, nothing is flushed.
const SHUTDOWN: libc::Ioctl = 0x8004_587d_u32 as libc::Ioctl;
const NO_LOG_FLUSH: u32 = 2;

const SYSTEMS: [(&str, &[&str]); 2] = [("ext4", &["-q", "-F"]), ("xfs", &["-q", "-f"])];

/// A file system is made anew after so many cuts.
const CUTS_EACH: u64 = 6;

/// Bytes of an image: the least that xfs takes, and room for the reserve. Most of it is never written.
const IMAGE: u64 = 400 << 20;

pub fn part(rig: &Rig) -> Result<(), String> {
    if rig.short {
        rig.note("NOT RUN: cuts of real file systems are no part of the short form");
        return Ok(());
    }
    if !is_root() || !Path::new("/dev/loop-control").exists() {
        rig.note("NOT RUN: cuts of real file systems need root and loop devices");
        return Ok(());
    }
    for (n, (system, options)) in SYSTEMS.into_iter().enumerate() {
        let make = format!("mkfs.{system}");
        if Command::new(&make).arg("-V").output().is_err() {
            rig.note(format!("NOT RUN: there is no {make}"));
            continue;
        }
        for round in 0..5 * rig.rounds {
            on(rig, &mut rig.luck(&[30, n as u64, round]), system, options)?;
        }
    }
    Ok(())
}

/// Several cuts in a row on one file system.
fn on(rig: &Rig, luck: &mut Luck, system: &str, options: &[&str]) -> Result<(), String> {
    let folder = rig.folder()?;
    let (disk, acks, image) = (folder.join("disk"), folder.join("acks"), folder.join("image"));
    let failed = |error: std::io::Error| error.to_string();
    File::create(&image).and_then(|file| file.set_len(IMAGE)).map_err(failed)?;
    let made = Command::new(format!("mkfs.{system}")).args(options).arg(&image).output().map_err(failed)?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned());
    }
    let mut mount = Mount::image(&image, &disk)?;
    let mut story = format!("seed={} {system} cut after", rig.seed);
    for number in 0..CUTS_EACH {
        story += &cut(rig, luck, &disk, &acks, number)?;
        drop(mount);
        // Mounted again, it replays its journal.
        mount = Mount::image(&image, &disk)?;
        rig.tried(system);
        let state = copy(rig, &disk, &acks)?;
        let state = State {
            folder: state,
            story: story.clone(),
            truth: None,
            may: May::Open,
            depth: luck.one_of(&["read", "retry", "again"]).to_owned(),
        };
        rig.judge(&state)?;
        fs::remove_dir_all(state.folder).map_err(failed)?;
    }
    drop(mount);
    fs::remove_dir_all(folder).map_err(failed)
}

fn copy(rig: &Rig, disk: &Path, acks: &Path) -> Result<PathBuf, String> {
    let folder = rig.folder()?;
    files::copy(&disk.join("store"), &folder.join("disk/store"))
        .and_then(|()| fs::copy(acks, folder.join("acks")))
        .map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Runs the store and cuts: at a sync, or at some moment while it is held still.
fn cut(rig: &Rig, luck: &mut Luck, disk: &Path, acks: &Path, number: u64) -> Result<String, String> {
    let load = *luck.one_of(&[Load::Mix, Load::Full, Load::Full, Load::Readers, Load::Single]);
    let run = Run { seed: luck.any(), number, load, threads: 4, steps: 100_000 };
    let mut job = Job::new(&rig.tools, disk, acks);
    if luck.once_in(2) {
        let nth = 1 + if luck.once_in(3) { luck.below(8) } else { luck.below(150) };
        job.fault = Some(Fault { op: "fdatasync", nth, act: "kill", ..Fault::default() });
        let ended = job.run(&run, false)?;
        shut_down(disk)?;
        if ended != Ended::Signal(libc::SIGKILL) {
            rig.violation(format!("the run failed: {ended:?} {}", crate::kill::last_line(acks)));
        }
        return Ok(format!(" [sync {nth} of {run:?}]"));
    }
    let after = Duration::from_micros(luck.below(250_000));
    let mut command = job.command(false)?;
    let Run { seed, threads, steps, .. } = run;
    command.arg("run").arg(disk.join("store")).arg(load.name());
    command.args([seed, number, threads, steps].map(|n| n.to_string()));
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    std::thread::sleep(after);
    hold(&child)?;
    let cut = shut_down(disk);
    let _ = child.kill();
    child.wait().map_err(|error| error.to_string())?;
    cut?;
    Ok(format!(" [{after:?} of {run:?}]"))
}

/// Stops a child, and waits until it stands still: it must not say anything after the cut.
fn hold(child: &Child) -> Result<(), String> {
    let id = child.id() as libc::pid_t;
    let mut status = 0;
    // SAFETY: the child was not waited for, so the id is its own; the status lives for the call.
    let stopped = unsafe {
        libc::kill(id, libc::SIGSTOP);
        libc::waitpid(id, &mut status, libc::WUNTRACED)
    };
    if stopped == id && libc::WIFSTOPPED(status) {
        Ok(())
    } else {
        Err("the run ended before it was cut".into())
    }
}

fn shut_down(disk: &Path) -> Result<(), String> {
    let folder = File::open(disk).map_err(|error| error.to_string())?;
    // SAFETY: the descriptor is open, and the argument is a number that lives for the call.
    match unsafe { libc::ioctl(folder.as_raw_fd(), SHUTDOWN, &NO_LOG_FLUSH) } {
        0 => Ok(()),
        _ => Err(format!("cannot shut the file system down: {}", std::io::Error::last_os_error())),
    }
}

/// What is mounted here is gone with this process, however it ends.
pub fn keep_mounts_to_ourselves() {
    if is_root() {
        // SAFETY: called before there are other threads; the arguments are constants.
        unsafe {
            if libc::unshare(libc::CLONE_NEWNS) == 0 {
                let private = libc::MS_REC | libc::MS_PRIVATE;
                libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), private, std::ptr::null());
            }
        }
    }
}
