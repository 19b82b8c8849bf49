//! Children of the rig: the program under test and the judge, with limits on time and memory, under the shim.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::work::Run;

/// More than any opening here needs; a length read out of damaged bytes is to meet it.
const MEMORY: u64 = 2 << 30;

/// Longer than anything here takes, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Exit(i32),
    Signal(i32),
    /// It was killed by the rig, because it took too long.
    Hung,
}

/// What the shim is told.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    pub op: &'static str,
    pub nth: u64,
    pub act: &'static str,
    pub path: &'static str,
    pub sticky: bool,
    pub after: bool,
    pub delay_ms: u64,
}

/// The programs and where they work.
#[derive(Clone, Debug)]
pub struct Tools {
    pub worker: PathBuf,
    pub shim: PathBuf,
}

impl Tools {
    /// Compiles the shim beside this program.
    pub fn make() -> Result<Self, String> {
        let here = std::env::current_exe().map_err(|error| error.to_string())?;
        let folder = here.parent().ok_or("a program without a folder")?;
        let (worker, shim) = (folder.join("worker"), folder.join("torture-shim.so"));
        let source = folder.join("torture-shim.c");
        fs::write(&source, include_str!("../shim.c")).map_err(|error| error.to_string())?;
        let made = Command::new("cc")
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
            .arg(&shim)
            .arg(&source)
            .arg("-ldl")
            .output()
            .map_err(|error| format!("cc: {error}"))?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        Ok(Self { worker, shim })
    }
}

/// One start of the program under test.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    pub tools: &'a Tools,
    /// The disk: only files below it count.
    pub root: &'a Path,
    /// Where what it says is added.
    pub said: &'a Path,
    pub fault: Option<Fault>,
    pub trace: Option<&'a Path>,
    pub file_size: Option<u64>,
    pub files: Option<u64>,
    pub user: Option<u32>,
    /// It is killed after so long.
    pub kill_after: Option<Duration>,
    pub patience: Duration,
}

impl<'a> Job<'a> {
    pub fn new(tools: &'a Tools, root: &'a Path, said: &'a Path) -> Self {
        Self {
            tools,
            root,
            said,
            fault: None,
            trace: None,
            file_size: None,
            files: None,
            user: None,
            kill_after: None,
            patience: PATIENCE,
        }
    }

    /// Runs the store `store` below the root.
    pub fn run(&self, run: &Run, leave: bool) -> Result<Ended, String> {
        let mut command = self.command(true)?;
        let Run { seed, number, load, threads, steps } = run;
        command.arg("run").arg(self.root.join("store")).arg(load.name());
        command.args([seed, number, threads, steps].map(u64::to_string));
        if leave {
            command.arg("exit");
        }
        self.end(command)
    }

    /// A file that is there once the fault was met.
    fn met(&self) -> PathBuf {
        self.said.with_extension("met")
    }

    /// Whether the fault of the last run was met, which is forgotten by asking.
    pub fn fault_was_met(&self) -> bool {
        fs::remove_file(self.met()).is_ok()
    }

    pub fn command(&self, shimmed: bool) -> Result<Command, String> {
        let out = File::options().append(true).create(true).open(self.said).map_err(|e| e.to_string())?;
        let mut command = Command::new(&self.tools.worker);
        command.stdin(Stdio::null()).stdout(out).stderr(Stdio::null());
        if shimmed && (self.fault.is_some() || self.trace.is_some()) {
            command.env("LD_PRELOAD", &self.tools.shim).env("SHIM_ROOT", self.root);
        }
        if let Some(trace) = self.trace {
            command.env("SHIM_TRACE", trace).env("SHIM_ACKS", "1").env("SHIM_FAKE", "1");
        }
        if let Some(fault) = &self.fault {
            command.env("SHIM_OP", fault.op).env("SHIM_ACT", fault.act).env("SHIM_PATH", fault.path);
            command.env("SHIM_N", fault.nth.to_string()).env("SHIM_DELAY_MS", fault.delay_ms.to_string());
            command.env("SHIM_MET", self.met());
            if fault.sticky {
                command.env("SHIM_STICKY", "1");
            }
            if fault.after {
                command.env("SHIM_AFTER", "1");
            }
        }
        if let Some(user) = self.user {
            command.uid(user);
        }
        let (file_size, files) = (self.file_size, self.files);
        // SAFETY: between fork and exec only async-signal-safe calls are made.
        unsafe {
            command.pre_exec(move || {
                end_with_the_rig()?;
                limit(libc::RLIMIT_FSIZE, file_size)?;
                limit(libc::RLIMIT_NOFILE, files)?;
                if file_size.is_some() {
                    libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                }
                Ok(())
            });
        }
        Ok(command)
    }

    fn end(&self, command: Command) -> Result<Ended, String> {
        wait(command, self.kill_after, self.patience)
    }
}

/// A child does not outlive the thread that started it, and leaves no core.
fn end_with_the_rig() -> io::Result<()> {
    limit(libc::RLIMIT_CORE, Some(0))?;
    // SAFETY: sets a flag of this process, with plain numbers.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn limit(what: libc::__rlimit_resource_t, to: Option<u64>) -> io::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let both = libc::rlimit { rlim_cur: to, rlim_max: to };
    // SAFETY: the argument is a valid structure that lives for the call.
    match unsafe { libc::setrlimit(what, &both) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Starts it and waits for its end; kills it where it is to be killed, or takes too long.
pub fn wait(mut command: Command, kill_after: Option<Duration>, patience: Duration) -> Result<Ended, String> {
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("cannot start a child: {error}"))?;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(match status.code() {
                Some(code) => Ended::Exit(code),
                None => Ended::Signal(status.signal().unwrap_or_default()),
            });
        }
        let took = start.elapsed();
        let hangs = took > patience;
        if hangs || kill_after.is_some_and(|after| took >= after) {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(if hangs { Ended::Hung } else { Ended::Signal(libc::SIGKILL) });
        }
        let step = Duration::from_micros(500);
        std::thread::sleep(kill_after.map_or(step, |after| (after - took).min(step)));
    }
}

/// What the judge said, or how it ended without saying anything.
pub fn judge(
    tools: &Tools,
    store: &Path,
    acks: &Path,
    truth: Option<&Path>,
    depth: &str,
) -> Result<String, String> {
    let said = acks.with_extension("verdict");
    let _ = fs::remove_file(&said);
    let mut command = Command::new(&tools.worker);
    let out = File::create(&said).map_err(|error| error.to_string())?;
    let errors = File::create(acks.with_extension("stderr")).map_err(|error| error.to_string())?;
    command.arg("judge").arg(store).arg(acks).arg(truth.unwrap_or(Path::new("-"))).arg(depth);
    command.stdin(Stdio::null()).stdout(out).stderr(errors);
    // SAFETY: between fork and exec only async-signal-safe calls are made.
    unsafe {
        command.pre_exec(|| {
            limit(libc::RLIMIT_AS, Some(MEMORY)).and_then(|()| limit(libc::RLIMIT_CORE, Some(0)))
        });
    }
    let ended = wait(command, None, PATIENCE)?;
    let verdict = fs::read_to_string(&said).map_err(|error| error.to_string())?;
    if ended != Ended::Exit(0) || verdict.is_empty() {
        let stderr = fs::read_to_string(acks.with_extension("stderr")).unwrap_or_default();
        let last: Vec<&str> = stderr.lines().rev().take(3).collect();
        return Ok(format!("died\t{ended:?}\t{}", last.join(" | ")));
    }
    Ok(verdict.trim_end().to_owned())
}
