//! Async callers through a worker beside threads that call the store themselves, in one run.
//!
//! `cargo bench --bench worker -- --rounds 5 --seconds 1`: 256 threads on one store, 512 tasks on a worker in front of
//! another, taking turns; every answer durable. `--callers`, `--threads`, `--capacity` and `--batch` change that.
//!
//! `cargo bench --bench worker -- --flat`: ten million retries of known keys (`--retries`) through a worker of capacity
//! 16, from producers that far outrun it, and what memory the process had before and after.

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

#[allow(dead_code, reason = "no bench uses all of it")]
mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use pointstore::worker::{Worker, WorkerError};
use pointstore::{AccountId, Command, PointStore, Points};
use tokio::runtime::{Builder, Runtime};

use support::options::Options;
use support::samples::{grouped, median};
use support::work::{ACCOUNTS, account_names, grant};
use support::{folder, now, timed};

/// What is granted; no two streams share a key.
struct Source {
    accounts: Vec<AccountId>,
}

impl Source {
    fn command(&self, stream: usize, index: u64) -> Command {
        let grant = grant(stream as u64, index, ACCOUNTS);
        let points = Points::try_from(grant.points).unwrap();
        Command::grant(self.accounts[grant.account].clone(), grant.key.parse().unwrap(), points)
    }
}

/// Grants made by threads that call the store until a time.
fn threads(store: &PointStore, source: &Source, made: &mut [u64], time: Duration) -> f64 {
    let before: u64 = made.iter().sum();
    let (wall, ()) = timed(|| {
        let end = now() + time;
        thread::scope(|scope| {
            for (stream, made) in made.iter_mut().enumerate() {
                scope.spawn(move || {
                    while now() < end {
                        assert!(!store.apply(&source.command(stream, *made)).unwrap().is_replay());
                        *made += 1;
                    }
                });
            }
        });
    });
    (made.iter().sum::<u64>() - before) as f64 / wall.as_secs_f64()
}

/// Grants made by tasks that go through a worker until a time.
fn tasks(runtime: &Runtime, worker: &Worker, source: &Arc<Source>, made: &mut [u64], time: Duration) -> f64 {
    let before: u64 = made.iter().sum();
    let (wall, ()) = timed(|| {
        let end = now() + time;
        let running: Vec<_> = made
            .iter()
            .copied()
            .enumerate()
            .map(|(stream, mut made)| {
                let (worker, source) = (worker.clone(), Arc::clone(source));
                runtime.spawn(async move {
                    while now() < end {
                        let outcome = worker.apply(source.command(stream, made)).await.unwrap();
                        assert!(!outcome.is_replay());
                        made += 1;
                    }
                    made
                })
            })
            .collect();
        for (made, task) in made.iter_mut().zip(running) {
            *made = runtime.block_on(task).unwrap();
        }
    });
    (made.iter().sum::<u64>() - before) as f64 / wall.as_secs_f64()
}

/// Both sides hold what was granted, to the point.
fn check(store: &PointStore, made: &[u64]) {
    let granted: u128 = (0..)
        .zip(made)
        .flat_map(|(stream, made)| (0..*made).map(move |index| grant(stream, index, ACCOUNTS).points))
        .map(u128::from)
        .sum();
    assert_eq!(store.stats().points_granted, granted);
    assert_eq!(store.stats().receipts, made.iter().sum::<u64>());
}

fn compare(options: &Options) {
    let (rounds, seconds) = if options.measure() { (5, 1.0) } else { (1, 0.05) };
    let rounds: usize = options.value("--rounds").unwrap_or(rounds).max(1);
    let time = Duration::from_secs_f64(options.value("--seconds").unwrap_or(seconds));
    let thread_count: usize = options.value("--threads").unwrap_or(256);
    let callers: usize = options.value("--callers").unwrap_or(512);
    let folder = folder();
    let source =
        Arc::new(Source { accounts: account_names().iter().map(|name| name.parse().unwrap()).collect() });
    let direct = PointStore::open(folder.path().join("direct")).unwrap();
    let behind = PointStore::open(folder.path().join("behind")).unwrap();
    let worker = Worker::builder(behind.clone())
        .capacity(options.value("--capacity").unwrap_or(1024))
        .batch_at_most(options.value("--batch").unwrap_or(512))
        .spawn()
        .unwrap();
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (mut by_threads, mut by_tasks) = (vec![0; thread_count], vec![0; callers]);
    let mut rates = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let of_threads = threads(&direct, &source, &mut by_threads, time);
        let of_tasks = tasks(&runtime, &worker, &source, &mut by_tasks, time);
        // The first round warms up, where there are others.
        if round > 0 {
            println!("  round {round}: {} | {}", grouped(of_threads), grouped(of_tasks));
            rates.0.push(of_threads);
            rates.1.push(of_tasks);
        }
    }
    worker.shutdown_blocking();
    check(&direct, &by_threads);
    check(&behind, &by_tasks);
    let (of_threads, of_tasks) = (median(&rates.0), median(&rates.1));
    println!("{thread_count} threads on the store: {} grants/s", grouped(of_threads));
    println!("{callers} async callers, one worker: {} grants/s", grouped(of_tasks));
    let ratio = of_tasks / of_threads;
    println!("ratio: {ratio:.2}, bar 0.90, {}", if ratio >= 0.9 { "met" } else { "MISSED" });
    println!("{:?}", worker.stats());
}

/// Kilobytes of memory that the process has.
fn resident_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Retries of known keys from many producers, far faster than the worker takes them.
fn flat(options: &Options, path: &Path) {
    const KEYS: u64 = 10_000;
    const PRODUCERS: usize = 64;
    let retries: u64 = options.value("--retries").unwrap_or(10_000_000);
    let source =
        Arc::new(Source { accounts: account_names().iter().map(|name| name.parse().unwrap()).collect() });
    let store = PointStore::open(path).unwrap();
    let known: Vec<Command> = (0..KEYS).map(|index| source.command(0, index)).collect();
    assert!(store.apply_each(&known).iter().all(Result::is_ok));
    let worker = Worker::builder(store.clone()).capacity(16).spawn().unwrap();
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (next, most_queued) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let part = |end: u64| {
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let (worker, next, known) = (worker.clone(), Arc::clone(&next), known.clone());
                let most_queued = Arc::clone(&most_queued);
                runtime.spawn(async move {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= end {
                            return;
                        }
                        let command = known[(index % KEYS) as usize].clone();
                        // A quarter does not wait for room, and so meets a full queue again and again.
                        let answer = match (producer % 4, worker.try_apply(command.clone())) {
                            (0, Ok(ticket)) => ticket.await,
                            (0, Err(WorkerError::Busy { .. })) => worker.apply(command).await,
                            (0, Err(error)) => Err(error),
                            (_, Ok(ticket)) => {
                                drop(ticket);
                                worker.apply(command).await
                            }
                            (_, Err(_)) => worker.apply(command).await,
                        };
                        assert!(answer.unwrap().is_replay());
                        most_queued.fetch_max(worker.stats().queued, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for producer in producers {
            runtime.block_on(producer).unwrap();
        }
        next.store(end, Ordering::Relaxed);
    };
    part(retries / 10);
    let before = resident_kb();
    println!("after {} retries: {} kB resident", grouped(retries as f64 / 10.0), grouped(before as f64));
    let (wall, ()) = timed(|| part(retries));
    let after = resident_kb();
    println!("after {} retries: {} kB resident", grouped(retries as f64), grouped(after as f64));
    println!("{} retries/s", grouped((retries - retries / 10) as f64 / wall.as_secs_f64()));
    println!("most ever queued: {} of 16; {:?}", most_queued.load(Ordering::Relaxed), worker.stats());
    assert!(most_queued.load(Ordering::Relaxed) <= 16);
    assert_eq!(store.stats().receipts, KEYS, "retries have no effect");
    let grown = after.saturating_sub(before);
    println!("grown: {grown} kB, {}", if grown < 4096 { "flat" } else { "NOT FLAT" });
}

fn main() {
    let options = Options::of_program();
    if options.has("--flat") {
        let folder = folder();
        flat(&options, &folder.path().join("flat"));
    } else {
        compare(&options);
    }
}
