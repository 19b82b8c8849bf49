//! Each thing a caller does, with statistics and plots in `target/criterion`.
//!
//! `cargo bench --bench grants`: concurrent grants, each acknowledged alone and durable, over many accounts and
//! on one; batches; retries of known keys; balances, read alone and beside writers. Throughput is in grants,
//! retries or reads a second, over all threads.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a bench that meets a surprise stops, criterion's macros make undocumented functions, and figures are small"
)]

#[allow(dead_code, reason = "no bench uses all of it")]
mod support;

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pointstore::{AccountId, Command, PointStore, Points};

use support::work::{ACCOUNTS, account_name, grant, mix};
use support::{folder, timed};

/// Threads that write while others read.
const WRITERS: u64 = 8;

/// An open store, the accounts it is about, and which keys were used.
struct Bench {
    store: PointStore,
    accounts: Vec<AccountId>,
    /// Grants taken so far: no key is used by two.
    taken: AtomicU64,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new(accounts: usize) -> Self {
        let folder = folder();
        let store = PointStore::open(folder.path()).unwrap();
        let accounts = (0..accounts).map(|a| AccountId::new(account_name(a)).unwrap()).collect();
        Self { store, accounts, taken: AtomicU64::new(0), _folder: folder }
    }

    fn command(&self, index: u64) -> Command {
        let grant = grant(0, index, self.accounts.len());
        let points = Points::try_from(grant.points).unwrap();
        Command::grant(self.accounts[grant.account].clone(), grant.key.parse().unwrap(), points)
    }

    /// Grants that were never asked for before.
    fn fresh(&self, len: u64) -> Vec<Command> {
        let start = self.taken.fetch_add(len, Ordering::Relaxed);
        (start..start + len).map(|index| self.command(index)).collect()
    }

    /// Applies so many fresh grants from so many threads, one a call, and says how long that took.
    fn grant_from(&self, threads: u64, grants: u64) -> Duration {
        let barrier = Barrier::new(threads as usize + 1);
        thread::scope(|scope| {
            for thread in 0..threads {
                let share = grants / threads + u64::from(thread < grants % threads);
                let (commands, barrier) = (self.fresh(share), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    for command in &commands {
                        assert!(!self.store.apply(command).unwrap().is_replay());
                    }
                    barrier.wait();
                });
            }
            barrier.wait();
            timed(|| barrier.wait()).0
        })
    }
}

fn concurrent_grants(c: &mut Criterion) {
    for (name, accounts) in [("grants, many accounts", ACCOUNTS), ("grants, one account", 1)] {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(1));
        for threads in [1, 2, 8, 64] {
            let bench = Bench::new(accounts);
            group.bench_function(BenchmarkId::new("threads", threads), |b| {
                b.iter_custom(|grants| bench.grant_from(threads, grants));
            });
        }
        group.finish();
    }
}

fn batches(c: &mut Criterion) {
    let mut group = c.benchmark_group("batches");
    for len in [64, 512, 8192] {
        let bench = Bench::new(ACCOUNTS);
        group.throughput(Throughput::Elements(len));
        group.bench_function(BenchmarkId::new("grants", len), |b| {
            let fresh = || bench.fresh(len);
            b.iter_batched(fresh, |commands| bench.store.apply_each(&commands), BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// Keys that a store knows: answered without writing.
fn retries(c: &mut Criterion) {
    const KNOWN: u64 = 200_000;
    let bench = Bench::new(ACCOUNTS);
    assert!(bench.store.apply_each(&bench.fresh(KNOWN)).iter().all(Result::is_ok));
    let mut at = 0;
    let mut next = || {
        at += 1;
        bench.command(mix(at) % KNOWN)
    };
    let mut group = c.benchmark_group("retries");
    group.throughput(Throughput::Elements(1));
    group.bench_function("one by one", |b| {
        let retry = |command: Command| assert!(bench.store.apply(&command).unwrap().is_replay());
        b.iter_batched(&mut next, retry, BatchSize::SmallInput);
    });
    group.throughput(Throughput::Elements(512));
    group.bench_function("batches of 512", |b| {
        let known = || (0..512).map(|_| next()).collect::<Vec<_>>();
        b.iter_batched(known, |commands| bench.store.apply_each(&commands), BatchSize::SmallInput);
    });
    group.finish();
}

fn balances(c: &mut Criterion) {
    let bench = Bench::new(ACCOUNTS);
    assert!(bench.store.apply_each(&bench.fresh(200_000)).iter().all(Result::is_ok));
    let mut at = 0;
    let mut read = || {
        at += 1;
        let account = mix(at) as usize % bench.accounts.len();
        black_box(bench.store.balance(&bench.accounts[account]))
    };
    let mut group = c.benchmark_group("balances");
    group.throughput(Throughput::Elements(1));
    group.bench_function("alone", |b| b.iter(&mut read));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert!(bench.fresh(1).iter().all(|command| bench.store.apply(command).is_ok()));
                }
            });
        }
        group.bench_function(BenchmarkId::new("beside writers", WRITERS), |b| b.iter(&mut read));
        stop.store(true, Ordering::Relaxed);
    });
    group.finish();
}

fn brief() -> Criterion {
    let (warm_up, measured) = (Duration::from_millis(500), Duration::from_secs(3));
    Criterion::default().sample_size(20).warm_up_time(warm_up).measurement_time(measured)
}

criterion_group! {
    name = benches;
    config = brief();
    targets = concurrent_grants, batches, retries, balances
}
criterion_main!(benches);
