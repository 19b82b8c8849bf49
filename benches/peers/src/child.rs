//! One peer at one work, in a process of its own, so that its memory and CPU time are its own.
//!
//! The parent writes a line for each round and reads a line with what came of it; between rounds the process waits
//! until it is quiet, so that what a peer has put off meets its own figures and nobody else's round.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pointstore::AccountId;

use crate::Result;
use crate::figures::{disk_bytes, own_cpu, own_memory, percentile};
use crate::peers::{self, Answer, Ours, Peer};
use crate::work::{ACCOUNTS, Grant, account_name, expected, grant, mix};

/// The first word of such a process: `--child PEER FOLDER WORK`.
pub(crate) const OPTION: &str = "--child";

/// Receipts that are there when retries and reads begin.
const KNOWN: u64 = 200_000;
const WRITERS: usize = 8;
const READS: u64 = 64;
const QUIET_LIMIT: Duration = Duration::from_secs(3);

/// What is asked of a peer over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// New grants, `len` a call.
    Grants { callers: usize, len: u64, accounts: u64 },
    /// Grants that are known, from one caller.
    Retries,
    /// One reader of balances beside writers.
    Reads,
    /// 4 KiB appended to a file and synced.
    Floor,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grants { callers, len, accounts } => write!(f, "grants:{callers}:{len}:{accounts}"),
            Self::Retries => f.write_str("retries"),
            Self::Reads => f.write_str("reads"),
            Self::Floor => f.write_str("floor"),
        }
    }
}

impl Work {
    fn of(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split(':').collect();
        Ok(match words.as_slice() {
            ["grants", callers, len, accounts] => {
                Self::Grants { callers: callers.parse()?, len: len.parse()?, accounts: accounts.parse()? }
            }
            ["retries"] => Self::Retries,
            ["reads"] => Self::Reads,
            ["floor"] => Self::Floor,
            _ => return Err(format!("there is no such work, text={text}").into()),
        })
    }
}

/// How long callers go on.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Time(Duration),
    /// So many calls of each.
    Calls(u64),
}

/// What goes on in a process.
trait Task {
    /// Does its work for some time and says how often it did, and how long that took.
    fn round(&mut self, time: Duration, calls: &mut Vec<u64>) -> Result<(u64, Duration)>;

    fn server_cpu(&self) -> Result<Duration> {
        Ok(Duration::ZERO)
    }

    fn server_memory(&self) -> Result<u64> {
        Ok(0)
    }

    /// Fails unless every account has what it was granted; says how many grants that were.
    fn check(&self) -> Result<u64>;
}

/// Grants after which what a grant takes on the disk is told.
const GRANTS_FOR_DISK: u64 = 30_000;

/// Rounds shorter than this are to see that it works.
const WHOLE_ROUND: Duration = Duration::from_millis(500);

/// Answers the parent until it says that it is enough.
pub(crate) fn serve(words: &[String]) -> Result<()> {
    let [peer, folder, work] = words else { return Err("a child needs a peer, a folder and a work".into()) };
    let (folder, work) = (Path::new(folder), Work::of(work)?);
    let (mut task, files) = task(peer, &folder.join("ledger"), work)?;
    let disk_before = match work {
        Work::Grants { .. } => disk_of_none(peer, folder, &files)?,
        _ => 0,
    };
    let (mut calls, mut server_peak) = (Vec::new(), 0);
    let (mut granted, mut last_round) = (0, Duration::ZERO);
    reply(format_args!("ready"))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("round", millis) => {
                let time = Duration::from_millis(millis.parse()?);
                let (server, own) = (task.server_cpu()?, own_cpu()?);
                let (times, took) = task.round(time, &mut calls)?;
                (granted, last_round) = (granted + times, time);
                let own = own_cpu()? - own + wait_until_quiet(&*task)?;
                let cpu = own + task.server_cpu()?.saturating_sub(server);
                server_peak = server_peak.max(task.server_memory()?);
                reply(format_args!("{times} {} {}", took.as_nanos(), cpu.as_nanos()))?;
            }
            ("forget", _) => {
                calls.clear();
                reply(format_args!("forgotten"))?;
            }
            ("finish", _) => {
                let peak = if server_peak > 0 { server_peak } else { own_memory("VmHWM")? };
                // Files grow by large pieces: a caller alone goes on until these do not matter. Not in a quick run.
                let alone = matches!(work, Work::Grants { callers: 1, len: 1, .. });
                while alone && last_round >= WHOLE_ROUND && granted < GRANTS_FOR_DISK {
                    granted += task.round(last_round, &mut Vec::new())?.0;
                }
                let grants = task.check()?;
                drop(task);
                let disk = disk_bytes(&files)?.saturating_sub(disk_before);
                let (p50, p99) = (percentile(&mut calls, 0.5), percentile(&mut calls, 0.99));
                return reply(format_args!("{p50} {p99} {peak} {disk} {grants}"));
            }
            _ => return Err(format!("there is no such order, line={line}").into()),
        }
    }
    Err("the parent is gone".into())
}

/// What a ledger takes that was closed with nothing in it: each has something that no grant is to be charged with.
fn disk_of_none(peer: &str, folder: &Path, files: &Path) -> Result<u64> {
    if peers::has_server(peer) {
        // Its tables are there, and its log is not among these files.
        return disk_bytes(files);
    }
    let none = folder.join("none");
    fs::create_dir(&none)?;
    let opened = peers::open(peer, &none, 1)?;
    drop(opened.peer);
    disk_bytes(&opened.files)
}

fn reply(line: fmt::Arguments<'_>) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn task(peer: &str, folder: &Path, work: Work) -> Result<(Box<dyn Task>, PathBuf)> {
    fs::create_dir(folder)?;
    let known = || -> Result<Ours> {
        let ours = Ours::open(folder)?;
        grant_all(&ours, 0, KNOWN, ACCOUNTS)?;
        Ok(ours)
    };
    let of_folder = |task: Box<dyn Task>| (task, folder.to_owned());
    Ok(match work {
        Work::Grants { callers, len, accounts } => {
            let opened = peers::open(peer, folder, callers)?;
            let grants = Grants { peer: opened.peer, made: vec![0; callers], len, accounts };
            (Box::new(grants), opened.files)
        }
        Work::Retries => of_folder(Box::new(Retries { ours: known()?, at: 0 })),
        Work::Reads => {
            let ids = (0..ACCOUNTS).map(|account| AccountId::new(account_name(account)));
            let ids = ids.collect::<Result<_, _>>()?;
            of_folder(Box::new(Reads { ours: known()?, ids, made: vec![0; WRITERS], at: 0 }))
        }
        Work::Floor => of_folder(Box::new(Floor(File::create(folder.join("floor"))?))),
    })
}

/// Waits until nothing is going on any more, or as long as that may take, and says what CPU time of this process
/// went by meanwhile: without what looking at a server costs.
fn wait_until_quiet(task: &dyn Task) -> Result<Duration> {
    let (start, mut own) = (Instant::now(), Duration::ZERO);
    loop {
        let server = task.server_cpu()?;
        let before = own_cpu()?;
        thread::sleep(Duration::from_millis(30));
        let used = own_cpu()? - before;
        own += used;
        let busy = used + task.server_cpu()?.saturating_sub(server);
        if busy < Duration::from_millis(5) || start.elapsed() > QUIET_LIMIT {
            return Ok(own);
        }
    }
}

/// Grants the first of a stream, in large batches.
pub(crate) fn grant_all(peer: &dyn Peer, stream: u64, count: u64, accounts: u64) -> Result<()> {
    const BATCH: u64 = 32_768;
    for start in (0..count).step_by(BATCH as usize) {
        let range = start..count.min(start + BATCH);
        let grants: Vec<Grant> = range.map(|index| grant(stream, index, accounts)).collect();
        applied(&peer.grant_batch(&grants.iter().collect::<Vec<_>>())?, grants.len())?;
    }
    Ok(())
}

/// Lets callers grant at the same time, each from a stream of its own, and says how long that took: from the start
/// of all to the end of the last, or, where there is one, in its calls alone.
pub(crate) fn grant_from(
    peer: &dyn Peer,
    streams: (u64, &mut [u64]),
    len: u64,
    accounts: u64,
    until: Until,
    calls: &mut Vec<u64>,
) -> Result<Duration> {
    let (first, made) = streams;
    let (alone, before) = (made.len() == 1, calls.len());
    let barrier = Barrier::new(made.len() + 1);
    let wall = thread::scope(|scope| {
        let start = |(caller, made): (usize, &mut u64)| {
            let (barrier, stream) = (&barrier, first + caller as u64);
            // Moved into the thread and written back at its end: neighbours in memory slow each other down.
            let mut count = *made;
            scope.spawn(move || {
                barrier.wait();
                let own = call(peer, caller, stream, &mut count, len, accounts, until);
                own.map(|own| (own, count))
            })
        };
        let threads: Vec<_> = made.iter_mut().enumerate().map(start).collect();
        barrier.wait();
        let start = Instant::now();
        let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        let wall = start.elapsed();
        for (made, end) in made.iter_mut().zip(ends) {
            let (own, count) = end.map_err(|_| "a caller panicked")??;
            *made = count;
            calls.extend(own);
        }
        Ok::<_, crate::Error>(wall)
    })?;
    let in_calls = calls.iter().skip(before).sum();
    Ok(if alone { Duration::from_nanos(in_calls) } else { wall })
}

/// Makes calls, at least one, and says how long each took.
fn call(
    peer: &dyn Peer,
    caller: usize,
    stream: u64,
    made: &mut u64,
    len: u64,
    accounts: u64,
    until: Until,
) -> Result<Vec<u64>> {
    let (start, mut calls) = (Instant::now(), Vec::new());
    let more = |calls: usize| match until {
        Until::Time(time) => calls == 0 || start.elapsed() < time,
        Until::Calls(count) => (calls as u64) < count,
    };
    while more(calls.len()) {
        let grants: Vec<Grant> = (*made..*made + len).map(|index| grant(stream, index, accounts)).collect();
        let grants: Vec<&Grant> = grants.iter().collect();
        let begun = Instant::now();
        let answers = match grants.as_slice() {
            [single] => vec![peer.grant(caller, single)?],
            many => peer.grant_batch(many)?,
        };
        calls.push(nanos(begun));
        applied(&answers, grants.len())?;
        *made += len;
    }
    Ok(calls)
}

fn applied(answers: &[Answer], len: usize) -> Result<()> {
    let new = answers.iter().filter(|answer| matches!(answer, Answer::Applied(_))).count();
    if new == len {
        Ok(())
    } else {
        Err(format!("new grants were not applied, of={len} applied={new}").into())
    }
}

fn nanos(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

/// Fails unless the balances of a peer are those of the first `made` grants of each stream; says how many they are.
pub(crate) fn check(peer: &dyn Peer, made: &[u64], accounts: u64) -> Result<u64> {
    let (expected, found) = (expected(made, accounts), peer.balances()?);
    for (account, points) in &expected {
        if found.get(account) != Some(points) {
            let found = found.get(account);
            return Err(
                format!("a balance is wrong, account={account} expected={points} found={found:?}").into()
            );
        }
    }
    let sum = |balances: &peers::Balances| balances.values().map(|points| u128::from(*points)).sum::<u128>();
    if found.len() != expected.len() || sum(&found) != sum(&expected) {
        return Err("there are accounts that nothing was granted to".into());
    }
    Ok(made.iter().sum())
}

struct Grants {
    peer: Box<dyn Peer>,
    /// How many grants each caller has made.
    made: Vec<u64>,
    len: u64,
    accounts: u64,
}

impl Task for Grants {
    fn round(&mut self, time: Duration, calls: &mut Vec<u64>) -> Result<(u64, Duration)> {
        let before: u64 = self.made.iter().sum();
        let streams = (0, self.made.as_mut_slice());
        let took = grant_from(&*self.peer, streams, self.len, self.accounts, Until::Time(time), calls)?;
        Ok((self.made.iter().sum::<u64>() - before, took))
    }

    fn server_cpu(&self) -> Result<Duration> {
        self.peer.server_cpu()
    }

    fn server_memory(&self) -> Result<u64> {
        self.peer.server_memory()
    }

    fn check(&self) -> Result<u64> {
        check(&*self.peer, &self.made, self.accounts)
    }
}

struct Retries {
    ours: Ours,
    at: u64,
}

/// Asks once more for some of so many known grants, and gives how many times.
pub(crate) fn retry(
    ours: &Ours,
    known: u64,
    at: &mut u64,
    time: Duration,
    calls: &mut Vec<u64>,
) -> Result<u64> {
    let (start, mut times) = (Instant::now(), 0);
    while times == 0 || start.elapsed() < time {
        *at += 1;
        let grant = grant(0, mix(*at) % known, ACCOUNTS);
        let begun = Instant::now();
        let answer = ours.grant(0, &grant)?;
        calls.push(nanos(begun));
        if !matches!(answer, Answer::Replayed(_)) {
            return Err(format!("a retry was no replay, answer={answer:?}").into());
        }
        times += 1;
    }
    Ok(times)
}

impl Task for Retries {
    fn round(&mut self, time: Duration, calls: &mut Vec<u64>) -> Result<(u64, Duration)> {
        let before = calls.len();
        let times = retry(&self.ours, KNOWN, &mut self.at, time, calls)?;
        Ok((times, Duration::from_nanos(calls.iter().skip(before).sum())))
    }

    fn check(&self) -> Result<u64> {
        check(&self.ours, &[KNOWN], ACCOUNTS)
    }
}

struct Reads {
    ours: Ours,
    ids: Vec<AccountId>,
    /// Grants of the writers, from stream 1 on.
    made: Vec<u64>,
    at: u64,
}

impl Task for Reads {
    fn round(&mut self, time: Duration, calls: &mut Vec<u64>) -> Result<(u64, Duration)> {
        let (ours, ids, made, at) = (&self.ours, &self.ids, self.made.as_mut_slice(), &mut self.at);
        let (over, before) = (AtomicBool::new(false), calls.len());
        thread::scope(|scope| {
            let over = &over;
            let writers = scope.spawn(move || {
                let streams = (1, made);
                grant_from(ours, streams, 1, ACCOUNTS, Until::Time(time), &mut Vec::new())?;
                over.store(true, Ordering::Relaxed);
                Ok::<_, crate::Error>(())
            });
            // Read for as long as they write, so no read is made in quiet.
            while !over.load(Ordering::Relaxed) && !writers.is_finished() {
                let begun = Instant::now();
                for _ in 0..READS {
                    *at += 1;
                    let id = ids.get((mix(*at) % ACCOUNTS) as usize).ok_or("no such account")?;
                    std::hint::black_box(ours.store.balance(id));
                }
                calls.push(nanos(begun) / READS);
            }
            writers.join().map_err(|_| "a writer panicked")?
        })?;
        let reads = (calls.len() - before) as u64 * READS;
        Ok((reads, Duration::from_nanos(calls.iter().skip(before).sum::<u64>() * READS)))
    }

    fn check(&self) -> Result<u64> {
        let made: Vec<u64> = [KNOWN].iter().chain(&self.made).copied().collect();
        check(&self.ours, &made, ACCOUNTS)
    }
}

struct Floor(File);

impl Task for Floor {
    fn round(&mut self, time: Duration, calls: &mut Vec<u64>) -> Result<(u64, Duration)> {
        let (start, before) = (Instant::now(), calls.len());
        while start.elapsed() < time || calls.len() == before {
            let begun = Instant::now();
            self.0.write_all(&[1; 4096])?;
            self.0.sync_data()?;
            calls.push(nanos(begun));
        }
        let times = (calls.len() - before) as u64;
        Ok((times, Duration::from_nanos(calls.iter().skip(before).sum())))
    }

    fn check(&self) -> Result<u64> {
        Ok(self.0.metadata()?.len() / 4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_is_read_as_it_was_written() {
        let works =
            [Work::Grants { callers: 64, len: 1, accounts: 7 }, Work::Retries, Work::Reads, Work::Floor];
        for work in works {
            assert_eq!(Work::of(&work.to_string()).unwrap(), work);
        }
        assert!(Work::of("grants:1").is_err());
    }

    #[test]
    fn a_balance_that_is_wrong_fails_the_check() {
        let folder = tempfile::tempdir().unwrap();
        let ours = Ours::open(folder.path()).unwrap();
        let mut made = [0, 0];
        let streams = (0, made.as_mut_slice());
        let mut calls = Vec::new();
        grant_from(&ours, streams, 1, 10, Until::Calls(20), &mut calls).unwrap();
        assert_eq!((made, calls.len()), ([20, 20], 40));
        assert_eq!(check(&ours, &made, 10).unwrap(), 40);
        assert!(check(&ours, &[20, 19], 10).is_err());
        assert!(check(&ours, &[20, 21], 10).is_err());
    }
}
