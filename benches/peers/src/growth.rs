//! What becomes of the store as it grows: throughput, retries, opening, memory and disk at several sizes.
//!
//! A store of each size is made once, in batches. Every round takes all sizes in turn: it copies the store, so each
//! measurement finds the same one, and lets a process of its own open the copy and work on it.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::bars::Bar;
use crate::charts::{Chart, Line};
use crate::child::{Until, check, grant_all, grant_from, retry};
use crate::compare::numbers;
use crate::figures::{disk_bytes, grouped, median, own_memory, percentile, time};
use crate::peers::Ours;
use crate::work::ACCOUNTS;
use crate::{Options, Result, bars, charts, scratch, this_program};

/// The first words of this mode's processes: `--prepare FOLDER RECEIPTS ACCOUNTS`, `--measure FOLDER RECEIPTS`.
pub(crate) const PREPARE: &str = "--prepare";
pub(crate) const MEASURE: &str = "--measure";

const SIZES: [u64; 3] = [100_000, 1_000_000, 10_000_000];
const QUICK_SIZES: [u64; 3] = [1_000, 10_000, 100_000];

/// What a round adds to a copy: so little that even the smallest store stays about as large as it is.
const CALLERS: usize = 64;
const CALLS: u64 = 400;
const BATCH: u64 = 8192;
const BATCHES: u64 = 6;
const RETRY_TIME: Duration = Duration::from_millis(200);

/// Bytes that the index takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) receipt: f64,
    pub(crate) account: f64,
}

/// What the index takes for a receipt and for an account: two stores, one of many accounts and one of a single
/// account, tell them apart.
pub(crate) fn memory(folder: &Path, quick: bool) -> Result<Memory> {
    let receipts = if quick { 200_000 } else { 1_000_000 };
    let index = |name: &str, accounts: u64| prepare_apart(&folder.join(name), receipts, accounts);
    let ([accounts, many], [_, single]) = (index("many", ACCOUNTS)?, index("single", 1)?);
    Ok(Memory { receipt: single / receipts as f64, account: (many - single) / accounts })
}

/// In a process of its own: makes a store, and says how many accounts it has and what its index takes.
pub(crate) fn prepare(words: &[String]) -> Result<()> {
    let [folder, receipts, accounts] = words else { return Err("what to prepare?".into()) };
    let (folder, receipts, accounts) = (Path::new(folder), receipts.parse()?, accounts.parse()?);
    fs::create_dir(folder)?;
    let ours = Ours::open(folder)?;
    grant_all(&ours, 0, receipts, accounts)?;
    let stats = ours.store.stats();
    println!("{} {}", stats.accounts, stats.index_bytes);
    Ok(())
}

fn prepare_apart(folder: &Path, receipts: u64, accounts: u64) -> Result<[f64; 2]> {
    let arguments = [receipts.to_string(), accounts.to_string()];
    numbers(&output(this_program()?.arg(PREPARE).arg(folder).args(arguments))?)
}

fn output(command: &mut std::process::Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("a process failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// In a process of its own: opens a copy of a store that was prepared, works on it, and says how fast that was.
pub(crate) fn measure(words: &[String]) -> Result<()> {
    let [folder, receipts] = words else { return Err("what to measure?".into()) };
    let receipts: u64 = receipts.parse()?;
    let before = own_memory("VmRSS")?;
    let start = Instant::now();
    let ours = Ours::open(Path::new(folder))?;
    let opening = start.elapsed();
    let memory = own_memory("VmRSS")?.saturating_sub(before);
    let index = ours.store.stats().index_bytes;

    let (mut retries, mut at) = (Vec::new(), 0);
    retry(&ours, receipts, &mut at, RETRY_TIME, &mut retries)?;
    let (retry_p50, retry_p99) = (percentile(&mut retries, 0.5), percentile(&mut retries, 0.99));

    let (mut made, mut batched) = ([0; CALLERS], [0]);
    let (until, mut calls) = (Until::Calls(CALLS), Vec::new());
    let many = grant_from(&ours, (1, made.as_mut_slice()), 1, ACCOUNTS, until, &mut calls)?;
    let (until, stream) = (Until::Calls(BATCHES), 1 + CALLERS as u64);
    let batches = grant_from(&ours, (stream, batched.as_mut_slice()), BATCH, ACCOUNTS, until, &mut calls)?;
    let all: Vec<u64> = [receipts].into_iter().chain(made).chain(batched).collect();
    check(&ours, &all, ACCOUNTS)?;

    let rate = |made: &[u64], took: Duration| made.iter().sum::<u64>() as f64 / took.as_secs_f64();
    let (many, batches) = (rate(&made, many), rate(&batched, batches));
    println!("{many} {batches} {retry_p50} {retry_p99} {} {memory} {index}", opening.as_nanos());
    Ok(())
}

/// Copies a folder with everything below it and syncs it, so that nothing of it is written later.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
            File::options().write(true).open(&to)?.sync_all()?;
        }
    }
    Ok(File::open(to)?.sync_all()?)
}

/// Figures of a size, one of each round.
#[derive(Default)]
struct Size {
    receipts: u64,
    disk: f64,
    rounds: Vec<[f64; 7]>,
}

impl Size {
    fn figures(&self) -> Figures {
        let column = |at: usize| {
            median(&self.rounds.iter().filter_map(|round| round.get(at).copied()).collect::<Vec<_>>())
        };
        let a_receipt = |bytes: f64| bytes / self.receipts as f64;
        Figures {
            many: column(0),
            batches: column(1),
            retry_p50: column(2),
            retry_p99: column(3),
            opening: column(4),
            memory: a_receipt(column(5)),
            index: a_receipt(column(6)),
        }
    }
}

/// Medians over the rounds.
struct Figures {
    /// Grants a second.
    many: f64,
    batches: f64,
    /// Nanoseconds.
    retry_p50: f64,
    retry_p99: f64,
    opening: f64,
    /// Bytes a receipt, accounts and sled's cache included.
    memory: f64,
    /// Bytes a receipt, accounts included.
    index: f64,
}

/// Measures all sizes.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = scratch()?;
    let path = |name: &str| folder.path().join(name);
    let mut sizes = Vec::new();
    for receipts in if options.quick { QUICK_SIZES } else { SIZES } {
        let prepared = path(&receipts.to_string());
        prepare_apart(&prepared, receipts, ACCOUNTS)?;
        let disk = disk_bytes(&prepared)? as f64 / receipts as f64;
        sizes.push(Size { receipts, disk, rounds: Vec::new() });
    }
    for round in 0..options.rounds {
        // Up, then down again.
        for step in 0..sizes.len() {
            let place = if round % 2 == 0 { step } else { sizes.len() - 1 - step };
            let Some(size) = sizes.get_mut(place) else { continue };
            let copied = path("copy");
            copy(&path(&size.receipts.to_string()), &copied)?;
            let mut command = this_program()?;
            let line = output(command.arg(MEASURE).arg(&copied).arg(size.receipts.to_string()))?;
            size.rounds.push(numbers(&line)?);
            fs::remove_dir_all(copied)?;
        }
    }
    let figures: Vec<(&Size, Figures)> = sizes.iter().map(|size| (size, size.figures())).collect();
    print(&figures, options.rounds);
    bars::print(&growth_bars(&figures));
    match &options.out {
        Some(out) => draw(out, &figures),
        None => Ok(()),
    }
}

fn print(figures: &[(&Size, Figures)], rounds: usize) {
    println!(
        "growth: medians of {rounds} rounds; each adds {} grants from {CALLERS} callers and {} in batches of {} \
         to a copy; every balance is what was granted",
        grouped((CALLERS as u64 * CALLS) as f64),
        grouped((BATCHES * BATCH) as f64),
        grouped(BATCH as f64)
    );
    println!(
        "  {:>12}{:>14}{:>14}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "receipts",
        "64 callers/s",
        "batches/s",
        "retry p50",
        "retry p99",
        "opening",
        "process B",
        "index B",
        "disk B"
    );
    for (size, of) in figures {
        println!(
            "  {:>12}{:>14}{:>14}{:>12}{:>12}{:>12}{:>12.1}{:>12.1}{:>12.1}",
            grouped(size.receipts as f64),
            grouped(of.many),
            grouped(of.batches),
            time(of.retry_p50),
            time(of.retry_p99),
            time(of.opening),
            of.memory,
            of.index,
            size.disk
        );
    }
    println!(
        "  (bytes a receipt; {} accounts, sled's cache and what every store has are spread over them)",
        grouped(ACCOUNTS as f64)
    );
}

fn growth_bars(figures: &[(&Size, Figures)]) -> Vec<Bar> {
    let ratio = |figure: fn(&Figures) -> f64| {
        let (first, last) = (figures.first()?, figures.last()?);
        Some(figure(&last.1) / figure(&first.1))
    };
    let size = |end: Option<&(&Size, Figures)>| end.map_or(0.0, |(size, _)| size.receipts as f64);
    let sizes = format!("at {} / at {}", grouped(size(figures.last())), grouped(size(figures.first())));
    vec![
        Bar::ratio(format!("64 callers {sizes}"), ratio(|of| of.many), 0.85),
        Bar::ratio(format!("batches {sizes}"), ratio(|of| of.batches), 0.85),
    ]
}

fn draw(out: &Path, figures: &[(&Size, Figures)]) -> Result<()> {
    let line = |label: &str, colour, figure: fn(&Figures) -> f64| {
        let points = figures.iter().map(|(size, of)| (size.receipts as f64, figure(of))).collect();
        Line { label: label.into(), colour, dashed: false, points }
    };
    let lines = [
        line("retries, 1 caller", plotters::style::RGBColor(28, 156, 108), |of| 1e9 / of.retry_p50),
        line("batches of 8,192, 1 caller", plotters::style::RGBColor(56, 132, 222), |of| of.batches),
        line("grants, 64 callers", plotters::style::RGBColor(224, 62, 62), |of| of.many),
    ];
    let chart =
        Chart { title: "Throughput as a store grows", across: "receipts in the store", up: "a second" };
    charts::draw(&out.join("growth.svg"), &chart, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(receipts: u64, many: f64) -> Size {
        let round = [many, 2.0 * many, 3.0, 4.0, 5.0, 36.0 * receipts as f64, 30.0 * receipts as f64];
        Size { receipts, disk: 70.0, rounds: vec![round] }
    }

    #[test]
    fn figures_are_medians_and_bytes_are_those_of_a_receipt() {
        let mut size = size(10, 100.0);
        for many in [50.0, 90.0] {
            size.rounds.push([many, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        }
        assert_eq!(size.figures().many, 90.0);
        size.rounds.truncate(1);
        assert_eq!((size.figures().memory, size.figures().index), (36.0, 30.0));
    }

    #[test]
    fn a_copy_has_every_file_at_every_depth() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/file"), "text").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b/file")).unwrap(), "text");
    }
}
