//! A store beside plain sled, in one run: what group commit and pages are worth on this machine.
//!
//! `cargo bench --bench versus -- --rounds 5 --seconds 1`. Both sides answer only what is durable. They take
//! turns within every round, so that whatever else the machine does meets both; each ratio is one of medians
//! over the rounds. At the end every balance of either side is compared with what was granted.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a bench that meets a surprise stops, and its figures are small"
)]

mod baseline;
#[allow(dead_code, reason = "no bench uses all of it")]
mod support;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use pointstore::{AccountId, Command, PointStore, Points};

use baseline::{Answer, Baseline};
use support::options::Options;
use support::samples::{grouped, median, ms, percentile};
use support::work::{ACCOUNTS, Grant, account_names, grant};
use support::{folder, now, timed};

const BATCH: usize = 8192;

/// One side: takes grants in calls.
trait Side: Sync {
    fn name(&self) -> &'static str;

    /// Prepares a call, which then is the only thing timed: it has applied every grant durably when it returns.
    fn call<'a>(&'a self, grants: &'a [Grant]) -> Box<dyn FnOnce() + 'a>;

    fn balance(&self, account: usize) -> u64;
}

struct Ours {
    store: PointStore,
    accounts: Vec<AccountId>,
}

impl Ours {
    fn open(path: &Path) -> Self {
        let accounts = account_names().iter().map(|name| AccountId::new(name).unwrap()).collect();
        Self { store: PointStore::open(path).unwrap(), accounts }
    }
}

impl Side for Ours {
    fn name(&self) -> &'static str {
        "pointstore"
    }

    fn call<'a>(&'a self, grants: &'a [Grant]) -> Box<dyn FnOnce() + 'a> {
        let command = |grant: &Grant| {
            let points = Points::try_from(grant.points).unwrap();
            Command::grant(self.accounts[grant.account].clone(), grant.key.parse().unwrap(), points)
        };
        if let [single] = grants {
            let command = command(single);
            return Box::new(move || assert!(!self.store.apply(&command).unwrap().is_replay()));
        }
        let commands: Vec<Command> = grants.iter().map(command).collect();
        Box::new(move || {
            let answers = self.store.apply_each(&commands);
            assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|outcome| !outcome.is_replay())));
        })
    }

    fn balance(&self, account: usize) -> u64 {
        self.store.balance(&self.accounts[account]).get().unsigned_abs()
    }
}

/// How plain sled takes a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syncs {
    /// A flush and a sync a grant.
    Each,
    /// One flush and one sync behind all transactions of a call.
    Call,
}

struct Plain {
    ledger: Baseline,
    accounts: Vec<String>,
    syncs: Syncs,
}

impl Plain {
    fn open(path: &Path, syncs: Syncs) -> Self {
        Self { ledger: Baseline::open(path).unwrap(), accounts: account_names(), syncs }
    }
}

impl Side for Plain {
    fn name(&self) -> &'static str {
        match self.syncs {
            Syncs::Each => "plain sled, a sync a grant",
            Syncs::Call => "plain sled, a sync a batch",
        }
    }

    fn call<'a>(&'a self, grants: &'a [Grant]) -> Box<dyn FnOnce() + 'a> {
        Box::new(move || {
            for grant in grants {
                let account = &self.accounts[grant.account];
                let answer = match self.syncs {
                    Syncs::Each => self.ledger.grant(account, &grant.key, grant.points),
                    Syncs::Call => self.ledger.grant_unsynced(account, &grant.key, grant.points),
                };
                assert!(matches!(answer, Ok(Answer::Applied(_))));
            }
            if self.syncs == Syncs::Call {
                self.ledger.sync().unwrap();
            }
        })
    }

    fn balance(&self, account: usize) -> u64 {
        self.ledger.balance(&self.accounts[account]).unwrap()
    }
}

/// One side, called in one way, over all rounds.
struct Run<'a> {
    side: &'a dyn Side,
    /// Grants a call.
    len: usize,
    /// How many grants each thread has made.
    made: Vec<u64>,
    rates: Vec<f64>,
    calls: Vec<Duration>,
}

impl<'a> Run<'a> {
    fn new(side: &'a dyn Side, threads: usize, len: usize) -> Self {
        Self { side, len, made: vec![0; threads], rates: Vec::new(), calls: Vec::new() }
    }

    /// Calls for some time. One thread's rate is over the time in calls; that of many, over the time of all.
    fn round(&mut self, time: Duration) {
        let barrier = Barrier::new(self.made.len() + 1);
        let calls = Mutex::new(Vec::new());
        let (before, side, len) = (self.made.iter().sum::<u64>(), self.side, self.len);
        let wall = thread::scope(|scope| {
            for (stream, made) in self.made.iter_mut().enumerate() {
                let (barrier, calls) = (&barrier, &calls);
                scope.spawn(move || {
                    barrier.wait();
                    let own = call_until(now() + time, side, len, stream as u64, made);
                    barrier.wait();
                    calls.lock().unwrap().extend(own);
                });
            }
            barrier.wait();
            timed(|| barrier.wait()).0
        });
        let calls = calls.into_inner().unwrap();
        let granted = (self.made.iter().sum::<u64>() - before) as f64;
        let seconds = if self.made.len() == 1 { calls.iter().sum() } else { wall };
        self.rates.push(granted / seconds.as_secs_f64());
        self.calls.extend(calls);
    }

    fn name(&self) -> String {
        match self.made.len() {
            1 => self.side.name().to_owned(),
            threads => format!("{}, {threads} threads", self.side.name()),
        }
    }

    fn forget(&mut self) {
        self.rates.clear();
        self.calls.clear();
    }

    fn rate(&self) -> f64 {
        median(&self.rates)
    }

    /// Compares every balance with what was granted.
    fn check(&self) {
        let mut expected = vec![0; ACCOUNTS];
        for (stream, made) in self.made.iter().enumerate() {
            for index in 0..*made {
                let grant = grant(stream as u64, index, ACCOUNTS);
                expected[grant.account] += grant.points;
            }
        }
        for (account, expected) in expected.into_iter().enumerate() {
            assert_eq!(self.side.balance(account), expected, "{} account={account}", self.side.name());
        }
    }
}

/// Makes calls until a time, at least one, and says how long each took.
fn call_until(end: Duration, side: &dyn Side, len: usize, stream: u64, made: &mut u64) -> Vec<Duration> {
    let mut calls = Vec::new();
    while calls.is_empty() || now() < end {
        let grants: Vec<Grant> =
            (*made..*made + len as u64).map(|index| grant(stream, index, ACCOUNTS)).collect();
        calls.push(timed(side.call(&grants)).0);
        *made += len as u64;
    }
    calls
}

/// Lets the sides take turns, prints what came of it, and gives their rates.
fn compete(name: &str, mut runs: Vec<Run<'_>>, rounds: usize, time: Duration) -> Vec<f64> {
    for run in &mut runs {
        run.round(time / 4);
        run.forget();
    }
    for _ in 0..rounds {
        for run in &mut runs {
            run.round(time);
        }
    }
    println!("\n{:<42}{:>12}{:>14}{:>14}{:>10}", name, "grants/s", "p50 of call", "p99 of call", "ratio");
    let ours = runs[0].rate();
    for run in &mut runs {
        let (p50, p99) = (percentile(&mut run.calls, 0.5), percentile(&mut run.calls, 0.99));
        let ratio = format!("{:.1}x", ours / run.rate());
        println!(
            "  {:<40}{:>12}{:>14}{:>14}{:>10}",
            run.name(),
            grouped(run.rate()),
            ms(p50),
            ms(p99),
            ratio
        );
    }
    let per_round: Vec<String> =
        runs.iter().map(|run| run.rates.iter().map(|r| grouped(*r)).collect::<Vec<_>>().join(" ")).collect();
    println!("  rounds: {}", per_round.join(" | "));
    for run in &runs {
        run.check();
    }
    runs.iter().map(Run::rate).collect()
}

/// What the disk itself takes, for scale.
fn sync_time(path: &Path) -> Duration {
    let mut file = File::create(path).unwrap();
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            file.write_all(&[1; 4096]).unwrap();
            timed(|| file.sync_data().unwrap()).0
        })
        .collect();
    percentile(&mut times, 0.5)
}

fn bar(what: &str, ratio: f64, least: f64) {
    println!("{what}: {ratio:.1}x, bar {least:.0}x, {}", if ratio >= least { "met" } else { "MISSED" });
}

fn main() {
    let options = Options::of_program();
    let (rounds, seconds) = if options.measure() { (5, 1.0) } else { (1, 0.05) };
    let rounds: usize = options.value("--rounds").unwrap_or(rounds).max(1);
    let time = Duration::from_secs_f64(options.value("--seconds").unwrap_or(seconds));
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    println!("{rounds} rounds of {time:?} a side, taking turns; every answer durable; {ACCOUNTS} accounts");
    println!("fdatasync of 4 KiB appended: p50 {}", ms(sync_time(&path("sync"))));

    let (ours, plain) = (Ours::open(&path("64")), Plain::open(&path("64-plain"), Syncs::Each));
    let runs = vec![Run::new(&ours, 64, 1), Run::new(&plain, 64, 1)];
    let many = compete("one grant a call", runs, rounds, time);
    drop((ours, plain));

    let ours = Ours::open(&path("batch"));
    let each = Plain::open(&path("batch-each"), Syncs::Each);
    let call = Plain::open(&path("batch-call"), Syncs::Call);
    let busy = Plain::open(&path("batch-busy"), Syncs::Each);
    let mut runs: Vec<Run<'_>> =
        [&ours as &dyn Side, &each, &call].into_iter().map(|side| Run::new(side, 1, BATCH)).collect();
    // Plain sled at its best without batches: many callers.
    runs.push(Run::new(&busy, 64, 1));
    let batch = compete("batches of 8,192, 1 caller", runs, rounds, time);
    drop((ours, each, call, busy));

    let (ours, plain) = (Ours::open(&path("one")), Plain::open(&path("one-plain"), Syncs::Each));
    compete("one grant a call, 1 caller", vec![Run::new(&ours, 1, 1), Run::new(&plain, 1, 1)], rounds, time);

    println!("\nevery balance is what was granted, on every side");
    bar("64 threads / plain sled with 64 threads", many[0] / many[1], 6.0);
    bar("batches / plain sled, a sync a grant", batch[0] / batch[1], 30.0);
    bar("batches / plain sled with 64 threads", batch[0] / batch[3], 30.0);
    println!("batches / plain sled, a sync a batch: {:.1}x", batch[0] / batch[2]);
}
