//! What the command line asks for.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// Shown for `--help`, and where the command line makes no sense.
pub(crate) const USAGE: &str = "\
usage: purchases [FILE] [--threads N] [--batch N] [--store DIR]

Grants one point for every whole dollar of each purchase in FILE, a CSV with the header
order_id,customer_id,date,items,dollars; then sends all of it again, as a job does that
was told nothing; then opens the store anew and checks it. Without FILE: a small sample.

  --threads N   how many threads send at once (1 to 256, default 8)
  --batch N     how many grants each of them sends at a time (1 to 65536, default 512)
  --store DIR   where the store is, and stays (default: a temporary folder)
";

const THREADS_MAX: usize = 256;
const BATCH_MAX: usize = 65_536;

/// What to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The purchases; the sample where none is given.
    pub(crate) file: PathBuf,
    /// The folder of the store; a temporary one where none is given.
    pub(crate) store: Option<PathBuf>,
    /// How many threads send.
    pub(crate) threads: usize,
    /// How many grants each sends at a time.
    pub(crate) batch: usize,
}

/// What the command line comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To run.
    Run(Options),
    /// To be told how.
    Help,
}

/// The command line makes no sense; the text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Senseless(String);

impl fmt::Display for Senseless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\n{USAGE}", self.0)
    }
}

impl std::error::Error for Senseless {}

impl Options {
    /// Reads the arguments, the program's name left out.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Asked, Senseless> {
        let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/purchases-sample.csv");
        let mut options = Self { file: sample.into(), store: None, threads: 8, batch: 512 };
        let mut file = None;
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--help" | "-h") => return Ok(Asked::Help),
                Some(name @ "--threads") => options.threads = number(name, args.next(), THREADS_MAX)?,
                Some(name @ "--batch") => options.batch = number(name, args.next(), BATCH_MAX)?,
                Some(name @ "--store") => options.store = Some(value(name, args.next())?.into()),
                Some(name) if name.starts_with('-') => {
                    return Err(Senseless(format!("unknown option {name}")));
                }
                _ if file.is_some() => return Err(Senseless("more than one file is given".into())),
                _ => file = Some(PathBuf::from(arg)),
            }
        }
        options.file = file.unwrap_or(options.file);
        Ok(Asked::Run(options))
    }
}

fn value(name: &str, value: Option<OsString>) -> Result<OsString, Senseless> {
    value.ok_or_else(|| Senseless(format!("{name} needs a value")))
}

fn number(name: &str, given: Option<OsString>, max: usize) -> Result<usize, Senseless> {
    let number = value(name, given)?.to_str().and_then(|text| text.parse().ok());
    number
        .filter(|number| (1..=max).contains(number))
        .ok_or_else(|| Senseless(format!("{name} takes a whole number from 1 to {max}")))
}
