//! What all parts share: states to judge, what came of them, and what is kept of those that came out wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::child::{Tools, judge};
use crate::files::{self, Listing};
use crate::luck::Luck;

/// How many states are judged at once.
const JUDGES: usize = 2;

/// What may come out of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum May {
    /// It must be opened.
    Open,
    /// It may also be refused, with everything kept, by an error that one of these words begins.
    Refuse(&'static [&'static str]),
    /// It must be refused.
    OnlyRefuse(&'static [&'static str]),
}

/// A state on the disk that is to be judged.
#[derive(Debug)]
pub struct State {
    /// Holds the folder `disk`, with the store in `disk/store`, and the file `acks`.
    pub folder: PathBuf,
    /// What happened to it, in words.
    pub story: String,
    pub truth: Option<PathBuf>,
    pub may: May,
    pub depth: &'static str,
}

/// What a part did and found.
#[derive(Debug, Default)]
pub struct Tally {
    pub kinds: BTreeMap<String, u64>,
    pub states: u64,
    pub survived: u64,
    pub refused: u64,
    pub violations: Vec<String>,
    /// Receipts that were acknowledged and found, over all states.
    pub found: u64,
    /// Operations in doubt that were there, and that were not.
    pub doubt: (u64, u64),
    /// Worth saying, and no violation.
    pub notes: BTreeMap<String, u64>,
}

/// One part of the rig at work.
#[derive(Debug)]
pub struct Rig {
    pub tools: Tools,
    pub seed: u64,
    pub rounds: u64,
    pub short: bool,
    pub part: &'static str,
    scratch: PathBuf,
    keep: PathBuf,
    next: AtomicU64,
    tally: Mutex<Tally>,
}

impl Rig {
    pub fn new(
        tools: &Tools,
        part: &'static str,
        seed: u64,
        rounds: u64,
        short: bool,
        scratch: &Path,
        keep: &Path,
    ) -> Self {
        Self {
            tools: tools.clone(),
            seed,
            rounds,
            short,
            part,
            scratch: scratch.join(part),
            keep: keep.join(part),
            next: AtomicU64::new(0),
            tally: Mutex::default(),
        }
    }

    pub fn luck(&self, of: &[u64]) -> Luck {
        Luck::new(self.seed, of)
    }

    /// A new folder with a folder `disk` in it.
    pub fn folder(&self) -> Result<PathBuf, String> {
        let path = self.scratch.join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir_all(path.join("disk")).map_err(|error| error.to_string())?;
        Ok(path)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Tally) -> T) -> T {
        act(&mut self.tally.lock().expect("no judge panics"))
    }

    /// Counts a kind of fault that was tried.
    pub fn tried(&self, kind: impl Into<String>) {
        self.with(|tally| *tally.kinds.entry(kind.into()).or_default() += 1);
    }

    pub fn note(&self, what: impl Into<String>) {
        self.with(|tally| *tally.notes.entry(what.into()).or_default() += 1);
    }

    /// Counts a state that was looked at without the judge.
    pub fn passed(&self) {
        self.with(|tally| {
            tally.states += 1;
            tally.survived += 1;
        });
    }

    pub fn violation(&self, what: String) {
        eprintln!("VIOLATED {}: {what}", self.part);
        self.with(|tally| {
            tally.states += 1;
            tally.violations.push(what);
        });
    }

    pub fn finish(self) -> Tally {
        let _ = fs::remove_dir_all(&self.scratch);
        self.tally.into_inner().expect("no judge panics")
    }

    /// Does some cases, several at once: most of their time they wait.
    pub fn each(&self, cases: u64, act: impl Fn(u64) -> Result<(), String> + Sync) -> Result<(), String> {
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let work = || loop {
                let case = next.fetch_add(1, Ordering::Relaxed);
                if case >= cases {
                    return Ok(());
                }
                act(case)?;
            };
            let workers: Vec<_> = (0..2 * JUDGES).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a case panicked")?)
        })
    }

    /// Judges states, several at once, and removes them.
    pub fn judge_all(&self, states: Vec<State>) -> Result<(), String> {
        let left = Arc::new(Mutex::new(states));
        std::thread::scope(|scope| {
            let judges: Vec<_> = (0..JUDGES)
                .map(|_| {
                    let left = Arc::clone(&left);
                    scope.spawn(move || -> Result<(), String> {
                        loop {
                            let state = left.lock().map_err(|_| "a judge panicked")?.pop();
                            let Some(state) = state else { return Ok(()) };
                            self.judge(&state)?;
                            fs::remove_dir_all(&state.folder).map_err(|error| error.to_string())?;
                        }
                    })
                })
                .collect();
            judges.into_iter().try_for_each(|judge| judge.join().map_err(|_| "a judge panicked")?)
        })
    }

    /// Judges one state on a copy of it; whether it was served.
    pub fn judge(&self, state: &State) -> Result<bool, String> {
        let (disk, copy) = (state.folder.join("disk"), state.folder.join("judged"));
        let before = files::listing(&disk).map_err(|error| format!("{}: {error}", disk.display()))?;
        files::write_listing(&before, &copy).map_err(|error| error.to_string())?;
        let acks = state.folder.join("acks");
        if !acks.exists() {
            fs::write(&acks, "").map_err(|error| error.to_string())?;
        }
        let said = judge(&self.tools, &copy.join("store"), &acks, state.truth.as_deref(), state.depth)?;
        let served = said.starts_with("good\t");
        match self.wrong(state, &said, &before, &copy) {
            None => self.with(|tally| {
                tally.states += 1;
                tally.survived += 1;
                tally.refused += u64::from(!served);
                tally.found += fact(&said, "acknowledged");
                tally.doubt.0 += fact(&said, "doubt_there");
                tally.doubt.1 += fact(&said, "doubt_absent");
                if fact(&said, "dropped_pages") > 0 {
                    *tally.notes.entry("pages of an unfinished group were dropped".into()).or_default() += 1;
                }
            }),
            Some(what) => {
                let kept = self.keep(state);
                self.violation(format!("{}\n    {what}\n    state kept in {kept}", state.story));
            }
        }
        fs::remove_dir_all(&copy).map_err(|error| error.to_string())?;
        Ok(served)
    }

    fn wrong(&self, state: &State, said: &str, before: &Listing, copy: &Path) -> Option<String> {
        let mut words = said.splitn(3, '\t');
        match (words.next().unwrap_or_default(), &state.may) {
            ("good", May::OnlyRefuse(_)) => Some(format!("served: {said}")),
            ("good", _) => None,
            ("refused", May::Refuse(errors) | May::OnlyRefuse(errors)) => {
                let error = words.nth(1).unwrap_or_default();
                if !errors.iter().any(|known| error.starts_with(known)) {
                    return Some(format!("refused by the wrong error: {said}"));
                }
                self.note(format!("refused: {}", error.split([' ', '(']).next().unwrap_or_default()));
                match files::listing(copy) {
                    Ok(after) => {
                        files::changed(before, &after).map(|what| format!("I11: {what} after {said}"))
                    }
                    Err(error) => Some(error.to_string()),
                }
            }
            _ => Some(said.to_owned()),
        }
    }

    /// Keeps a state, and gives the command that judges it again.
    fn keep(&self, state: &State) -> String {
        let kept =
            self.keep.join(format!("seed-{}-{}", self.seed, self.next.fetch_add(1, Ordering::Relaxed)));
        let copied = files::copy(&state.folder.join("disk"), &kept.join("disk"))
            .and_then(|()| fs::copy(state.folder.join("acks"), kept.join("acks")))
            .and_then(|_| match &state.truth {
                Some(truth) => fs::copy(truth, kept.join("truth")),
                None => Ok(0),
            })
            .and_then(|_| fs::write(kept.join("story"), &state.story));
        match copied {
            Ok(()) => format!("{0}; judge it again: scripts/torture --judge {0}", kept.display()),
            Err(error) => format!("nowhere: {error}"),
        }
    }
}

/// A number among those the judge gives.
fn fact(said: &str, name: &str) -> u64 {
    let behind = said.split_once(&format!("{name}: ")).map_or("", |(_, behind)| behind);
    behind.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).unwrap_or_default()
}
