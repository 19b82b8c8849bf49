//! What opening a store costs, beside bare sled on the same files; and what a receipt costs in memory and on disk.
//!
//! `cargo bench --bench opening -- [--receipts N] [--rounds N] [--keep]`. A store of a million receipts in full
//! pages is made once and closed (`--keep` leaves it for the next run). Before each measurement its files are
//! copied and synced, outside the timing, so every opening finds the same files, and finds them in memory.
//! Bare sled opens a copy of the generation's folder and walks over all pages; it checks nothing.

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

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::Duration;

use pointstore::{AccountId, Command, PointStore, Points};

use support::options::Options;
use support::samples::{grouped, median_secs};
use support::work::{ACCOUNTS, account_name, grant};
use support::{folder, scratch, timed};

const BATCH: u64 = 32_768;
const CACHE_BYTES: u64 = 64 << 20;
const PAGE_BYTES: u64 = 4096;

/// Makes a store of so many receipts over so many accounts, and closes it.
fn make(path: &Path, receipts: u64, accounts: usize) {
    let store = PointStore::open(path).unwrap();
    let ids: Vec<AccountId> = (0..accounts).map(|a| AccountId::new(account_name(a)).unwrap()).collect();
    for start in (0..receipts).step_by(BATCH as usize) {
        let commands: Vec<Command> = (start..receipts.min(start + BATCH))
            .map(|index| {
                let grant = grant(0, index, accounts);
                let points = Points::try_from(grant.points).unwrap();
                Command::grant(ids[grant.account].clone(), grant.key.parse().unwrap(), points)
            })
            .collect();
        assert!(store.apply_each(&commands).iter().all(Result::is_ok));
    }
    store.close().unwrap();
}

/// The folder of the generation that counts.
fn generation(store: &Path) -> PathBuf {
    let current = fs::read_to_string(store.join("CURRENT")).unwrap();
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.strip_prefix("gen-").is_some_and(|n| current.split_whitespace().any(|word| word == n))
    };
    let mut folders = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    folders.find(|path| path.is_dir() && named(path)).unwrap()
}

/// Copies a folder with everything below it, in the place of what was there, and syncs it.
fn copy(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).unwrap();
    }
    copy_below(from, to);
}

fn copy_below(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_below(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
            File::options().write(true).open(&to).unwrap().sync_all().unwrap();
        }
    }
    File::open(to).unwrap().sync_all().unwrap();
}

fn bytes_of(folder: &Path) -> u64 {
    fs::read_dir(folder).unwrap().fold(0, |sum, entry| {
        let entry = entry.unwrap();
        sum + match entry.file_type().unwrap().is_dir() {
            true => bytes_of(&entry.path()),
            false => entry.metadata().unwrap().len(),
        }
    })
}

/// What was measured of one state of the files.
#[derive(Default)]
struct Times {
    open: Vec<Duration>,
    close: Vec<Duration>,
    bare_open: Vec<Duration>,
    bare_scan: Vec<Duration>,
    bare_drop: Vec<Duration>,
}

impl Times {
    fn ours(&mut self, path: &Path, receipts: u64, clean: bool) {
        let (open, store) = timed(|| PointStore::open(path).unwrap());
        assert_eq!((store.opened().entries(), store.opened().was_clean()), (receipts, clean));
        self.open.push(open);
        self.close.push(timed(|| store.close().unwrap()).0);
    }

    fn bare(&mut self, path: &Path, pages: u64) {
        let (open, (db, journal)) = timed(|| open_bare(path));
        let (scan, (found, bytes)) = timed(|| scan_bare(&journal));
        assert!(found == pages && bytes > pages * PAGE_BYTES / 2, "pages={found} bytes={bytes}");
        self.bare_open.push(open);
        self.bare_scan.push(scan);
        self.bare_drop.push(timed(|| drop((journal, db))).0);
    }

    fn ratio(&self) -> f64 {
        median_secs(&self.open) / median_secs(&sums(&self.bare_open, &self.bare_scan))
    }

    fn print(&self, state: &str) {
        let ms = |times: &[Duration]| format!("{:8.1} ms", median_secs(times) * 1e3);
        println!("\n{state}");
        println!("  pointstore  open {}   close {}", ms(&self.open), ms(&self.close));
        let [open, scan, drop] = [&self.bare_open, &self.bare_scan, &self.bare_drop].map(|t| ms(t));
        println!("  bare sled   open {open}   scan  {scan}   (drop {drop})");
        let bare = sums(&self.bare_open, &self.bare_scan);
        println!("  open {} / open+scan {} = {:.2}", ms(&self.open), ms(&bare), self.ratio());
    }
}

fn sums(one: &[Duration], other: &[Duration]) -> Vec<Duration> {
    one.iter().zip(other).map(|(one, other)| *one + *other).collect()
}

fn open_bare(path: &Path) -> (sled::Db, sled::Tree) {
    let config = sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None);
    let db = config.open().unwrap();
    let journal = db.open_tree("journal").unwrap();
    (db, journal)
}

/// How many pages there are, and their bytes.
fn scan_bare(journal: &sled::Tree) -> (u64, u64) {
    journal.iter().fold((0, 0), |(pages, bytes), row| (pages + 1, bytes + row.unwrap().1.len() as u64))
}

/// Opens copies of `store`, which holds so many receipts in so many pages: ours and bare in turns; the other way round every second time.
fn measure(store: &Path, scratch: &Path, rounds: usize, holds: (u64, u64), clean: bool) -> Times {
    let (receipts, pages) = holds;
    let (ours, bare) = (scratch.join("ours"), scratch.join("bare"));
    let mut times = Times::default();
    for round in 0..rounds {
        copy(store, &ours);
        copy(&generation(store), &bare);
        if round % 2 == 0 {
            times.ours(&ours, receipts, clean);
            times.bare(&bare, pages);
        } else {
            times.bare(&bare, pages);
            times.ours(&ours, receipts, clean);
        }
    }
    times
}

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_BYTES
}

/// In a process of its own: opens a store, or bare sled, and says by how much the process grew.
fn growth(path: &Path, bare: bool) {
    let before = resident();
    if bare {
        let (_db, journal) = open_bare(path);
        scan_bare(&journal);
        println!("0 0 0 {}", resident().saturating_sub(before));
    } else {
        let store = PointStore::open(path).unwrap();
        let stats = store.stats();
        let grown = resident().saturating_sub(before);
        println!("{} {} {} {grown}", stats.receipts, stats.accounts, stats.index_bytes);
        store.close().unwrap();
    }
}

/// What a process of its own says: receipts, accounts, bytes of the index, bytes it grew by.
fn ask_child(option: &str, path: &Path) -> [u64; 4] {
    let program = std::env::current_exe().unwrap();
    let output = Process::new(program).arg(option).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let figures: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    figures.try_into().unwrap()
}

/// Prints what a receipt and an account take. A second store, of one account, tells them apart.
fn print_memory(store: &Path, scratch: &Path, receipts: u64) {
    let (ours, bare, single) = (scratch.join("ours"), scratch.join("bare"), scratch.join("single"));
    copy(store, &ours);
    copy(&generation(store), &bare);
    make(&single, receipts, 1);
    let [_, accounts, index, grown] = ask_child("--grow", &ours);
    let [.., single_index, _] = ask_child("--grow", &single);
    let [.., bare_grown] = ask_child("--grow-bare", &bare);
    let (receipts, mib) = (receipts as f64, |bytes: u64| bytes as f64 / f64::from(1 << 20));
    println!("\nmemory");
    println!("  index: {:.1} MiB = {:.1} bytes a receipt", mib(index), index as f64 / receipts);
    println!("    of these, without accounts: {:.1} a receipt", single_index as f64 / receipts);
    let of_accounts = index.saturating_sub(single_index) as f64;
    println!("    and each of {} accounts: {:.1}", grouped(accounts as f64), of_accounts / accounts as f64);
    println!(
        "  process after opening: grew by {:.1} MiB = {:.1} a receipt",
        mib(grown),
        grown as f64 / receipts
    );
    println!("    bare sled after open and scan: grew by {:.1} MiB", mib(bare_grown));
    let files = bytes_of(&generation(store));
    println!("disk: {:.1} MiB = {:.1} bytes a receipt", mib(files), files as f64 / receipts);
}

fn main() {
    let options = Options::of_program();
    for (option, bare) in [("--grow", false), ("--grow-bare", true)] {
        if let Some(path) = options.value::<PathBuf>(option) {
            return growth(&path, bare);
        }
    }
    let (receipts, rounds) = if options.measure() { (1_000_000, 7) } else { (5_000, 1) };
    let receipts: u64 = options.value("--receipts").unwrap_or(receipts);
    let rounds: usize = options.value("--rounds").unwrap_or(rounds).max(1);
    let folder = folder();
    let fresh = match options.has("--keep") {
        true => scratch().join(format!("opening-{receipts}")),
        false => folder.path().join("fresh"),
    };
    // Made under another name, so that one left by a run that was stopped is never taken for whole.
    if !fresh.exists() {
        let half = folder.path().join("half");
        make(&half, receipts, ACCOUNTS);
        fs::rename(half, &fresh).unwrap();
    }
    let reopened = folder.path().join("reopened");
    copy(&fresh, &reopened);
    let unclean = folder.path().join("unclean");
    let store = PointStore::open(&reopened).unwrap();
    // The files of a store that is open are those of one that was never closed.
    copy(&reopened, &unclean);
    let holds = (receipts, store.stats().pages);
    store.close().unwrap();
    drop(store);

    println!("{} receipts over {ACCOUNTS} accounts, {rounds} rounds, medians", grouped(receipts as f64));
    let first = measure(&fresh, folder.path(), rounds, holds, true);
    first.print("first opening after they were written, closed cleanly");
    let again = measure(&reopened, folder.path(), rounds, holds, true);
    again.print("opened before, closed cleanly");
    let after_stop = measure(&unclean, folder.path(), rounds.min(3), holds, false);
    after_stop.print("opened before, not closed: copied first (for information)");
    print_memory(&fresh, folder.path(), receipts);
    println!();
    for (times, what) in [(&first, "first opening"), (&again, "later openings")] {
        let (ratio, bar) = (times.ratio(), 3.0);
        println!("{what}: {ratio:.2}, bar {bar}, {}", if ratio <= bar { "met" } else { "MISSED" });
    }
}
