//! Points for the purchases of a shop, from a file, twice: `cargo run --release --example purchases -- FILE`.
//!
//! The order is the key, so sending the whole file again grants nothing. `--help` tells the options.

mod check;
mod input;
mod options;
mod passes;
mod purchase;

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use pointstore::PointStore;

use self::input::Input;
use self::options::{Asked, Options, USAGE};
use self::passes::Pass;

/// Lines that are named for one reason; of further ones only the number is told.
const LINES_SHOWN: usize = 5;

/// Accounts that are listed.
const LARGEST: usize = 10;

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("purchases: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the arguments ask for, and tells it on `out`.
pub(crate) fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let options = match Options::parse(args)? {
        Asked::Run(options) => options,
        Asked::Help => return Ok(write!(out, "{USAGE}")?),
    };
    let input = Input::read(&options.file)?;
    writeln!(out, "{} purchases to grant for, {} lines refused", input.grants.len(), input.refused_len())?;
    for (reason, lines) in &input.refused {
        tell_refused(out, &reason.to_string(), lines.iter().copied())?;
    }

    let (_kept, folder) = match &options.store {
        Some(folder) => (None, folder.clone()),
        None => {
            let folder = tempfile::tempdir()?;
            let path = folder.path().to_path_buf();
            (Some(folder), path)
        }
    };
    let store = PointStore::open(&folder)?;
    let fresh = store.opened().entries() == 0;
    let first = Pass::run("granting", &store, &input, &options)?;
    tell_pass(out, "first pass", &first, &input)?;
    let position = store.position();
    let second = Pass::run("retrying", &store, &input, &options)?;
    tell_pass(out, "second pass", &second, &input)?;
    check::unchanged(&first, &second)?;
    if store.position() != position {
        return Err("the second pass changed the store".into());
    }
    store.close()?;

    let store = PointStore::builder().expect_at_least(position).open(&folder)?;
    check::verified(&store, &input, &second, fresh)?;
    let stats = store.stats();
    writeln!(
        out,
        "opened again and verified: receipts={} customers={} points={}",
        stats.receipts, stats.accounts, stats.points_granted
    )?;
    tell_largest(out, &store)?;
    store.close()?;
    Ok(())
}

fn tell_pass(out: &mut dyn Write, name: &str, pass: &Pass, input: &Input) -> io::Result<()> {
    let refused = pass.refused();
    let refused_len = refused.values().map(Vec::len).sum::<usize>();
    writeln!(
        out,
        "{name}: {} applied, {} replayed, {refused_len} refused, {} grants per second",
        pass.applied,
        pass.replayed,
        pass.per_second()
    )?;
    for (reason, places) in &refused {
        let lines = places.iter().filter_map(|place| input.grants.get(*place)).map(|(line, _)| *line);
        tell_refused(out, reason, lines)?;
    }
    Ok(())
}

fn tell_refused(out: &mut dyn Write, reason: &str, lines: impl Iterator<Item = u64>) -> io::Result<()> {
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    let shown = lines.get(..LINES_SHOWN).unwrap_or(&lines).join(", ");
    let more = match lines.len().saturating_sub(LINES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    writeln!(out, "  {:>6} refused, {reason}: {noun} {shown}{more}", lines.len())
}

fn tell_largest(out: &mut dyn Write, store: &PointStore) -> io::Result<()> {
    let mut accounts: Vec<_> = store.accounts().collect();
    accounts.sort_by(|a, b| b.balance().cmp(&a.balance()).then_with(|| a.id().cmp(b.id())));
    writeln!(out, "largest balances:")?;
    for account in accounts.iter().take(LARGEST) {
        writeln!(out, "  {:>12}  {}", account.balance(), account.id())?;
    }
    Ok(())
}
