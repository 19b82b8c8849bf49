//! Each thing a caller does, with statistics and plots in `target/criterion`.
//!
//! `cargo bench --bench grants`: concurrent grants, each acknowledged alone and durable, over many accounts, over
//! accounts of which few have most of the grants, and on one; batches; retries of known keys; balances, read alone
//! and beside writers; statements; opening and verifying. Throughput is in grants, retries, reads or receipts a second, over
//! all threads. A part alone: `cargo bench --bench grants -- statements`.

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
    /// Which accounts grants go to.
    spread: Spread,
    /// Grants taken so far: no key is used by two.
    taken: AtomicU64,
    folder: tempfile::TempDir,
}

/// How grants are spread over accounts.
#[derive(Clone, Copy)]
enum Spread {
    Even,
    /// The n-th account gets a share of about 1/n, as customers do.
    Zipf,
}

impl Bench {
    fn new(accounts: usize) -> Self {
        let folder = folder();
        let store = PointStore::open(folder.path()).unwrap();
        let accounts = (0..accounts).map(|a| AccountId::new(account_name(a)).unwrap()).collect();
        Self { store, accounts, spread: Spread::Even, taken: AtomicU64::new(0), folder }
    }

    /// One that holds so many receipts already.
    fn holding(receipts: u64) -> Self {
        let bench = Self::new(ACCOUNTS);
        assert!(bench.store.apply_each(&bench.fresh(receipts)).iter().all(Result::is_ok));
        bench
    }

    fn command(&self, index: u64) -> Command {
        let grant = grant(0, index, self.accounts.len());
        let points = Points::try_from(grant.points).unwrap();
        let account = match self.spread {
            Spread::Even => grant.account,
            Spread::Zipf => {
                // Even in the logarithm of the rank.
                let share = mix(index ^ 0x5eed) as f64 / u64::MAX as f64;
                ((self.accounts.len() as f64).powf(share) as usize).min(self.accounts.len()) - 1
            }
        };
        Command::grant(self.accounts[account].clone(), grant.key.parse().unwrap(), points)
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
    for (name, accounts, spread) in [
        ("grants, many accounts", ACCOUNTS, Spread::Even),
        ("grants, few with most", ACCOUNTS, Spread::Zipf),
        ("grants, one account", 1, Spread::Even),
    ] {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(1));
        for threads in [1, 2, 8, 64, 256] {
            let bench = Bench { spread, ..Bench::new(accounts) };
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
    let bench = Bench::holding(KNOWN);
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
    let bench = Bench::holding(200_000);
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

/// Everything of an account, newest first, of accounts with few receipts and of one with many.
fn statements(c: &mut Criterion) {
    let mut group = c.benchmark_group("statements");
    let many = Bench::holding(400_000);
    let one = Bench::new(1);
    assert!(one.store.apply_each(&one.fresh(4_000)).iter().all(Result::is_ok));
    for (name, bench, receipts) in [("of some receipts", &many, 4), ("of 4,000 receipts", &one, 4_000)] {
        let mut at = 0;
        group.throughput(Throughput::Elements(receipts));
        group.bench_function(name, |b| {
            b.iter(|| {
                at += 1;
                let account = &bench.accounts[mix(at) as usize % bench.accounts.len()];
                bench.store.statement(account).map(Result::unwrap).count()
            });
        });
    }
    group.finish();
}

/// Reading everything: of a store that was closed, to open it, and of an open one, to verify it.
fn whole_stores(c: &mut Criterion) {
    let mut group = c.benchmark_group("whole stores");
    for receipts in [10_000, 200_000] {
        let Bench { store, folder, .. } = Bench::holding(receipts);
        group.throughput(Throughput::Elements(receipts));
        group.bench_function(BenchmarkId::new("verify", receipts), |b| {
            b.iter(|| assert_eq!(store.verify().unwrap().entries(), receipts));
        });
        store.close().unwrap();
        group.bench_function(BenchmarkId::new("open and close", receipts), |b| {
            b.iter(|| PointStore::open(folder.path()).unwrap().close().unwrap());
        });
    }
    group.finish();
}

fn brief() -> Criterion {
    let (warm_up, measured) = (Duration::from_millis(500), Duration::from_secs(3));
    Criterion::default().sample_size(20).warm_up_time(warm_up).measurement_time(measured)
}

criterion_group! {
    name = benches;
    config = brief();
    targets = concurrent_grants, batches, retries, balances, statements, whole_stores
}
criterion_main!(benches);
