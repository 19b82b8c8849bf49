//! Figures out of measurements: medians, percentiles, what a process and a folder take, and how they are printed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

use crate::Result;

/// The value that so great a share of all do not exceed (nearest rank); they need not be sorted.
pub(crate) fn percentile(values: &mut [u64], share: f64) -> u64 {
    values.sort_unstable();
    let rank = (values.len() as f64 * share).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// The middle one of some figures.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let lower = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default();
    (lower + upper) / 2.0
}

/// CPU time that this process has used, in itself and in the kernel for it.
pub(crate) fn own_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = [usage.user_time(), usage.system_time()].map(|t| t.tv_sec() * 1_000_000 + t.tv_usec());
    Ok(Duration::from_micros(micros.iter().sum::<i64>().unsigned_abs()))
}

/// A field of /proc/self/status that is in kB, in bytes: `VmHWM` (peak memory) or `VmRSS` (memory now).
pub(crate) fn own_memory(field: &str) -> Result<u64> {
    memory_field(&fs::read_to_string("/proc/self/status")?, field)
}

/// The bytes of a line `Field:   123 kB`.
pub(crate) fn memory_field(text: &str, field: &str) -> Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib: u64 = line.and_then(|rest| rest.split_whitespace().next()).ok_or("no such field")?.parse()?;
    Ok(kib * 1024)
}

/// What a folder takes on the disk, with everything below it.
pub(crate) fn disk_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}

/// A whole number with its thousands apart.
pub(crate) fn grouped(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds, in the unit that reads best.
pub(crate) fn time(nanos: f64) -> String {
    match nanos {
        n if n < 1e4 => format!("{:.2} µs", n / 1e3),
        n if n < 1e5 => format!("{:.1} µs", n / 1e3),
        n if n < 1e8 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.0} ms", n / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_value_of_the_nearest_rank() {
        let mut values: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(percentile(&mut values, 0.5), 50);
        assert_eq!(percentile(&mut values, 0.99), 99);
        assert_eq!(percentile(&mut values, 1.0), 100);
        assert_eq!(percentile(&mut [7], 0.5), 7);
        assert_eq!(percentile(&mut [], 0.99), 0);
    }

    #[test]
    fn a_median_is_the_middle_or_the_mean_of_the_two_in_the_middle() {
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), 3.0);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let text = "Name:\tx\nVmPeak:\t 10 kB\nVmHWM:\t   3 kB\n";
        assert_eq!(memory_field(text, "VmHWM").unwrap(), 3072);
        assert!(memory_field(text, "VmRSS").is_err());
    }

    #[test]
    fn a_folder_takes_what_its_files_take_at_every_depth() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        let file = fs::File::create(folder.path().join("below/file")).unwrap();
        std::io::Write::write_all(&mut &file, &[1; 100_000]).unwrap();
        file.sync_all().unwrap();
        let bytes = disk_bytes(folder.path()).unwrap();
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn figures_read_well() {
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(12.0), "12");
        assert_eq!(time(950.0), "0.95 µs");
        assert_eq!(time(1_250_000.0), "1.25 ms");
    }
}
