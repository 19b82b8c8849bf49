//! The rig: `scripts/torture [--rounds N] [--seed S] [--short] [PART...]`, or `scripts/torture --judge KEPT`.

use std::path::{Path, PathBuf};
use std::process::exit;
use std::time::Instant;

use pointstore_torture::child::{Tools, judge};
use pointstore_torture::files::{self, Scratch};
use pointstore_torture::rig::{Rig, Tally};
use pointstore_torture::{damage, faults, kill, power, real, window};

type Part = fn(&Rig) -> Result<(), String>;

const PARTS: [(&str, Part); 6] = [
    ("kill", kill::part),
    ("power", power::part),
    ("window", window::part),
    ("faults", faults::part),
    ("damage", damage::part),
    ("real", real::part),
];

/// Violations that are listed once more at the end.
const LISTED: usize = 5;

struct Options {
    rounds: u64,
    seed: u64,
    short: bool,
    judge: Option<PathBuf>,
    parts: Vec<&'static str>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { rounds: 1, seed: 1, short: false, judge: None, parts: Vec::new() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
        match arg.as_str() {
            "--rounds" => options.rounds = number(value()?)?,
            "--seed" => options.seed = number(value()?)?,
            "--short" => options.short = true,
            "--judge" => options.judge = Some(value()?.into()),
            name => match PARTS.iter().find(|(part, _)| *part == name) {
                Some((part, _)) => options.parts.push(part),
                None => return Err(format!("there is no part {name}; there are: {}", names().join(" "))),
            },
        }
    }
    if options.parts.is_empty() {
        options.parts = names();
    }
    Ok(options)
}

fn names() -> Vec<&'static str> {
    PARTS.iter().map(|(name, _)| *name).collect()
}

fn main() {
    real::keep_mounts_to_ourselves();
    let options = match options() {
        Ok(options) => options,
        Err(what) => {
            eprintln!("torture: {what}");
            exit(2)
        }
    };
    match run(&options) {
        Ok(true) => {}
        Ok(false) => exit(1),
        Err(what) => {
            eprintln!("torture: cannot go on: {what}");
            exit(1)
        }
    }
}

fn run(options: &Options) -> Result<bool, String> {
    let tools = Tools::make()?;
    if let Some(kept) = &options.judge {
        return judge_again(&tools, kept);
    }
    let scratch = Scratch::new().map_err(|error| error.to_string())?;
    let keep = tools.worker.with_file_name("torture-violations");
    let mut all_well = true;
    println!(
        "{:<8} {:>7} {:>9} {:>9} {:>9} {:>6}  fault kinds tried",
        "part", "states", "survived", "(refused)", "violated", "secs"
    );
    for (name, part) in PARTS.iter().filter(|(name, _)| options.parts.contains(name)) {
        let start = Instant::now();
        let Options { rounds, seed, short, .. } = *options;
        let rig = Rig::new(&tools, name, seed, rounds, short, scratch.path(), &keep);
        let went = part(&rig);
        let mut tally = rig.finish();
        if let Err(what) = went {
            tally.violations.push(format!("the rig itself cannot go on: {what}"));
        }
        let not_run = tally.notes.keys().any(|note| note.starts_with("NOT RUN"));
        all_well &= tally.violations.is_empty() && (tally.states > 0 || not_run);
        report(name, &tally, start.elapsed().as_secs());
        if !tally.violations.is_empty() {
            let short = if short { " --short" } else { "" };
            println!("         repeat it: scripts/torture --seed {seed} --rounds {rounds}{short} {name}");
        }
    }
    Ok(all_well)
}

fn report(name: &str, tally: &Tally, seconds: u64) {
    let kinds: Vec<String> = tally.kinds.iter().map(|(kind, times)| format!("{kind} {times}")).collect();
    println!(
        "{name:<8} {:>7} {:>9} {:>9} {:>9} {seconds:>6}  {}",
        tally.states,
        tally.survived,
        tally.refused,
        tally.violations.len(),
        kinds.join(", ")
    );
    let (there, absent) = tally.doubt;
    println!(
        "         - receipts found as acknowledged: {}; in doubt: there {there}, not there {absent}",
        tally.found
    );
    for (note, times) in &tally.notes {
        println!("         - {note} ({times})");
    }
    for violation in tally.violations.iter().take(LISTED) {
        println!("         VIOLATED: {violation}");
    }
    if tally.violations.len() > LISTED {
        println!("         VIOLATED: and {} more", tally.violations.len() - LISTED);
    }
}

/// Judges a state that was kept, on a copy of it.
fn judge_again(tools: &Tools, kept: &Path) -> Result<bool, String> {
    let scratch = Scratch::new().map_err(|error| error.to_string())?;
    let copy = scratch.path().join("judged");
    files::copy(&kept.join("disk"), &copy).map_err(|error| error.to_string())?;
    let (acks, truth) = (scratch.path().join("acks"), kept.join("truth"));
    std::fs::copy(kept.join("acks"), &acks).map_err(|error| error.to_string())?;
    let said = judge(tools, &copy.join("store"), &acks, truth.exists().then_some(&truth), "again")?;
    println!("{}\n{said}", std::fs::read_to_string(kept.join("story")).unwrap_or_default());
    let before = files::listing(&kept.join("disk")).map_err(|error| error.to_string())?;
    let after = files::listing(&copy).map_err(|error| error.to_string())?;
    println!("evidence: {}", files::changed(&before, &after).unwrap_or("as it was".into()));
    Ok(said.starts_with("good"))
}
