//! Memory stays where it is, however many retries go through a small worker. In a process of its own: others have theirs.

use std::env;
use std::fs;
use std::process::Command as Process;

use pointstore::testing::SimDisk;
use pointstore::worker::{Worker, WorkerError};
use pointstore::{Command, PointStore};

use super::grant;
use crate::concurrency::together;

const CHILD: &str = "POINTSTORE_TEST_FLAT";
const THREADS: usize = 16;
const RETRIES: usize = 2_500;

#[test]
fn retries_through_a_small_worker_leave_memory_flat() {
    if env::var_os(CHILD).is_some() {
        println!("\nGREW {}", child());
        return;
    }
    let name = "worker::memory::retries_through_a_small_worker_leave_memory_flat";
    let child = Process::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{said}\n{}", String::from_utf8_lossy(&child.stderr));
    let grew = said.lines().find_map(|line| line.strip_prefix("GREW ")).expect("it measured");
    // A hundred thousand commands kept somewhere would be 20 MB and more.
    assert!(grew.parse::<u64>().unwrap() < 6_000, "kB={grew}");
}

/// By how many kB it grew over many retries, once everything was warm.
fn child() -> u64 {
    let store = PointStore::builder().open_simulated(&SimDisk::new(70)).unwrap();
    let known: Vec<Command> = (0..500).map(|i| grant(format!("k{i}"))).collect();
    assert!(store.apply_each(&known).iter().all(Result::is_ok));
    let worker = Worker::builder(store.clone()).capacity(16).spawn().unwrap();
    let round = || {
        together(THREADS, |thread| {
            for i in 0..RETRIES {
                let command = known[(thread * 31 + i) % known.len()].clone();
                // Half of them listen to nothing; all come faster than they are taken.
                match worker.try_apply(command.clone()) {
                    Ok(ticket) if i % 2 == 0 => drop(ticket),
                    Ok(ticket) => assert!(ticket.wait().unwrap().is_replay()),
                    Err(WorkerError::Busy { .. }) => {
                        assert!(worker.apply_blocking(command).unwrap().is_replay());
                    }
                    Err(error) => panic!("{error}"),
                }
                assert!(worker.stats().queued <= 16);
            }
        })
    };
    round();
    let before = resident_kb();
    (0..2).for_each(|_| drop(round()));
    let grew = resident_kb().saturating_sub(before);
    worker.shutdown_blocking();
    assert_eq!(worker.stats().accepted, (3 * THREADS * RETRIES) as u64);
    assert_eq!(store.stats().receipts, 500);
    grew
}

/// Elsewhere than on Linux there is no such file, and only the counts are checked.
fn resident_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}
