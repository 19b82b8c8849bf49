//! Faults of the whole place: full disks, limits of the process, folders that cannot be written, second openers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::child::{Ended, Job};
use crate::faults::{UNAVAILABLE, complaint, settle};
use crate::files;
use crate::rig::{May, Rig};
use crate::work::{Load, Run};

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

pub fn all(rig: &Rig) -> Result<(), String> {
    let times = if rig.short { 8 } else { 30 };
    rig.each(times * rig.rounds, |case| file_too_large(rig, case))?;
    if is_root() {
        (0..times / 2 * rig.rounds).try_for_each(|case| full_disk(rig, case))?;
    } else {
        rig.note("NOT RUN: a small file system, which only root may mount");
    }
    rig.each(2 * times * rig.rounds, |case| no_descriptors(rig, case))?;
    read_only(rig)?;
    second_opener(rig)
}

pub fn is_root() -> bool {
    // SAFETY: has no conditions.
    unsafe { libc::geteuid() == 0 }
}

fn run(rig: &Rig, of: &[u64], number: u64, load: Load) -> Run {
    let steps = if load == Load::Full { 8 } else { 20 };
    Run { seed: rig.luck(of).any(), number, load, threads: 3, steps }
}

/// No file may grow beyond some size, as with a quota.
fn file_too_large(rig: &Rig, case: u64) -> Result<(), String> {
    let mut luck = rig.luck(&[12, case]);
    let folder = rig.folder()?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let mut job = Job::new(&rig.tools, &disk, &acks);
    if luck.once_in(2) {
        job.run(&run(rig, &[13, case], 0, Load::Mix), luck.once_in(2))?;
    }
    let most = if luck.once_in(2) { 5 << 20 } else { 1 << 20 };
    let bytes = 1 + luck.below(most);
    job.file_size = Some(bytes);
    let full = Run { threads: 8, steps: 70, ..run(rig, &[14, case], 1, Load::Mix) };
    let ended = match job.run(&full, luck.once_in(2))? {
        // What it said could not be written either: it ended as by a kill.
        Ended::Exit(4) => Ended::Exit(0),
        ended => ended,
    };
    rig.tried("file size limit");
    settle(
        rig,
        folder,
        &format!("seed={} files of {bytes} bytes at most", rig.seed),
        ended,
        UNAVAILABLE,
        May::Open,
        &mut luck,
    )
}

/// A file system that is really full, opened again while it is, and again when there is room.
fn full_disk(rig: &Rig, case: u64) -> Result<(), String> {
    let mut luck = rig.luck(&[15, case]);
    let folder = rig.folder()?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let kib = 2_500 + luck.below(14_000);
    let mount = Mount::tmpfs(&disk, kib)?;
    let job = Job::new(&rig.tools, &disk, &acks);
    let mut story = format!("seed={} a disk of {kib} KiB:", rig.seed);
    for number in 0..3 {
        let load = *luck.one_of(&[Load::Full, Load::Mix]);
        if number > 0 {
            // Somebody else takes what is left of the room.
            let room = vec![7; luck.index(3 << 20)];
            let _ = fs::write(disk.join(format!("other-{number}")), room);
        }
        let ended = job.run(&run(rig, &[16, case, number], number, load), luck.once_in(2))?;
        story += &format!(" {ended:?}");
        if let Some(what) = complaint(&acks, ended, UNAVAILABLE)? {
            rig.violation(format!("{story}: {what}"));
        }
    }
    rig.tried("disk full");
    // The judge has room; it works on a copy.
    let kept = rig.folder()?;
    files::copy(&disk, &kept.join("disk")).map_err(|error| error.to_string())?;
    fs::copy(&acks, kept.join("acks")).map_err(|error| error.to_string())?;
    drop(mount);
    fs::remove_dir_all(folder).map_err(|error| error.to_string())?;
    settle(rig, kept, &story, Ended::Exit(0), UNAVAILABLE, May::Open, &mut luck)
}

/// A file system that is unmounted when this goes away.
pub struct Mount(std::path::PathBuf);

impl Mount {
    pub fn tmpfs(at: &Path, kib: u64) -> Result<Self, String> {
        mount(Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "torture"]).arg(at))?;
        Ok(Self(at.into()))
    }

    /// An image with a file system in it.
    pub fn image(image: &Path, at: &Path) -> Result<Self, String> {
        mount(Command::new("mount").args(["-o", "loop"]).arg(image).arg(at))?;
        Ok(Self(at.into()))
    }
}

fn mount(command: &mut Command) -> Result<(), String> {
    let made = command.output().map_err(|error| format!("mount: {error}"))?;
    if made.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&made.stderr).into_owned()) }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// No descriptor is left, for opening or at all.
fn no_descriptors(rig: &Rig, case: u64) -> Result<(), String> {
    let mut luck = rig.luck(&[17, case]);
    let folder = rig.folder()?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let mut job = Job::new(&rig.tools, &disk, &acks);
    if luck.once_in(2) {
        job.run(&run(rig, &[18, case], 0, Load::Mix), luck.once_in(2))?;
    }
    let files = 4 + luck.below(14);
    job.files = Some(files);
    let ended = job.run(&run(rig, &[19, case], 1, Load::Mix), luck.once_in(2))?;
    rig.tried("few descriptors");
    settle(
        rig,
        folder,
        &format!("seed={} {files} descriptors", rig.seed),
        ended,
        UNAVAILABLE,
        May::Open,
        &mut luck,
    )
}

fn read_only(rig: &Rig) -> Result<(), String> {
    for leave in [false, true] {
        let folder = rig.folder()?;
        let (disk, acks) = (folder.join("disk"), folder.join("acks"));
        let mut job = Job::new(&rig.tools, &disk, &acks);
        job.run(&run(rig, &[20], 0, Load::Mix), leave)?;
        let before = files::listing(&disk).map_err(|error| error.to_string())?;
        set_modes(&disk, 0o555, 0o444)?;
        // Permissions do not hold root back.
        job.user = is_root().then_some(NOBODY);
        let ended = job.run(&run(rig, &[21], 1, Load::Mix), false)?;
        let story = format!("seed={} a folder that cannot be written, after {leave}", rig.seed);
        let after = files::listing(&disk).map_err(|error| error.to_string())?;
        if before != after || ended != Ended::Exit(3) {
            rig.violation(format!("{story}: {ended:?} {:?}", files::changed(&before, &after)));
        }
        set_modes(&disk, 0o755, 0o644)?;
        rig.tried("read-only folder");
        settle(rig, folder, &story, ended, UNAVAILABLE, May::Open, &mut rig.luck(&[22]))?;
    }
    Ok(())
}

fn set_modes(path: &Path, folder: u32, file: u32) -> Result<(), String> {
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| error.to_string())
    };
    if path.is_dir() {
        set(path, 0o755)?;
        for entry in fs::read_dir(path).map_err(|error| error.to_string())? {
            set_modes(&entry.map_err(|error| error.to_string())?.path(), folder, file)?;
        }
    }
    set(path, if path.is_dir() { folder } else { file })
}

/// Another process opens what is open, and later what is closed.
fn second_opener(rig: &Rig) -> Result<(), String> {
    let folder = rig.folder()?;
    let (disk, acks) = (folder.join("disk"), folder.join("acks"));
    let job = Job::new(&rig.tools, &disk, &acks);
    job.run(&run(rig, &[23], 0, Load::Mix), false)?;
    let said = folder.join("held");
    let held = Job::new(&rig.tools, &disk, &said);
    let mut holder = held
        .command(false)?
        .arg("hold")
        .arg(disk.join("store"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut byte = [0];
    let mut out = holder.stdout.take().ok_or("no pipe")?;
    std::io::Read::read_exact(&mut out, &mut byte).map_err(|error| format!("the holder: {error}"))?;
    let before = files::listing(&disk).map_err(|error| error.to_string())?;
    for _ in 0..5 {
        let ended = job.run(&run(rig, &[24], 1, Load::Mix), false)?;
        let said = crate::kill::last_line(&acks);
        if ended != Ended::Exit(3) || !said.contains("AlreadyOpen") {
            rig.violation(format!("a second opener was not told so: {ended:?} {said}"));
        }
        rig.tried("second opener");
    }
    let after = files::listing(&disk).map_err(|error| error.to_string())?;
    if let Some(what) = files::changed(&before, &after) {
        rig.violation(format!("a second opener: {what}"));
    }
    drop(holder.stdin.take());
    holder.wait().map_err(|error| error.to_string())?;
    settle(rig, folder, "a second opener", Ended::Exit(3), UNAVAILABLE, May::Open, &mut rig.luck(&[25]))
}
