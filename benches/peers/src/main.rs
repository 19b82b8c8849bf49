//! The store beside what people would use instead: same work, same durability, same machine, in turns.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml -- [--seconds N] [--rounds N] [--quick]
//! [--only NAME,NAME] [--out FOLDER]` compares; with `growth` before the options it looks at what becomes of the
//! store as it grows. `--out` draws the charts into a folder. A run fails where a balance is wrong; a bar that is
//! missed is only printed.

mod bars;
mod charts;
mod child;
mod compare;
mod figures;
mod group;
mod growth;
mod peers;
mod work;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T, E = Error> = std::result::Result<T, E>;

/// What a run was asked for.
struct Options {
    rounds: usize,
    time: Duration,
    quick: bool,
    only: Option<Vec<String>>,
    out: Option<PathBuf>,
}

impl Options {
    fn of(words: &[String], rounds: usize) -> Result<Self> {
        let quick = words.iter().any(|word| word == "--quick");
        let (rounds, seconds) = if quick { (1, 0.1) } else { (rounds, 1.0) };
        let mut options =
            Self { rounds, time: Duration::from_secs_f64(seconds), quick, only: None, out: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--quick" => {}
                "--rounds" => options.rounds = value()?.parse::<usize>()?.max(1),
                "--seconds" => options.time = Duration::try_from_secs_f64(value()?.parse()?)?,
                "--only" => options.only = Some(value()?.split(',').map(str::to_owned).collect()),
                "--out" => options.out = Some(value()?.into()),
                _ => return Err(format!("there is no such option, word={word}").into()),
            }
        }
        Ok(options)
    }
}

/// This program again, as a process of its own.
fn this_program() -> Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

/// A folder on the disk that holds the build: never in memory.
fn scratch() -> Result<TempDir> {
    let program = std::env::current_exe()?;
    let build = program.parent().unwrap_or(Path::new("."));
    Ok(tempfile::Builder::new().prefix("peers-").tempdir_in(build)?)
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == child::OPTION => child::serve(rest),
        Some((first, rest)) if first == growth::PREPARE => growth::prepare(rest),
        Some((first, rest)) if first == growth::MEASURE => growth::measure(rest),
        Some((first, rest)) if first == "growth" => growth::run(&Options::of(rest, 7)?),
        _ => compare::run(&Options::of(&words, 5)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options> {
        Options::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), 5)
    }

    #[test]
    fn options_are_read_in_any_order_and_unknown_ones_refused() {
        let given = options("--only redb,sqlite --seconds 0.5 --quick --out docs --rounds 3").unwrap();
        assert_eq!((given.rounds, given.time, given.quick), (3, Duration::from_millis(500), true));
        assert_eq!(given.only, Some(vec!["redb".to_owned(), "sqlite".to_owned()]));
        assert_eq!(given.out, Some(PathBuf::from("docs")));
        assert_eq!(options("").unwrap().rounds, 5);
        for bad in ["--second 1", "--rounds", "--seconds -1"] {
            assert!(options(bad).is_err(), "{bad}");
        }
    }
}
