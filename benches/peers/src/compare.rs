//! The comparison: every peer at every work, in rounds in which all take turns, and a table for each work.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use crate::child::{self, Work};
use crate::figures::{grouped, median, time};
use crate::peers::{self, postgres};
use crate::work::ACCOUNTS;
use crate::{Options, Result, bars, charts, growth, scratch, this_program};

/// How a peer takes the grants of many callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Ours,
    /// A transaction and a sync for each.
    Each,
    /// Behind the group commit of this program.
    Group,
    /// Answers before it has synced: for information, and in no bar.
    Unsynced,
    Server,
    /// No ledger, for reference, and in no bar.
    NoLedger,
    /// The same behind the group commit of this program.
    NoLedgerGroup,
}

/// A peer under the name it is opened by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerName {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) way: Way,
}

const fn peer(name: &'static str, label: &'static str, way: Way) -> PeerName {
    PeerName { name, label, way }
}

pub(crate) const PEERS: [PeerName; 15] = [
    peer("pointstore", "pointstore", Way::Ours),
    peer("sqlite", "SQLite, a transaction a grant", Way::Each),
    peer("sqlite+group", "SQLite, group commit", Way::Group),
    peer("redb", "redb, a transaction a grant", Way::Each),
    peer("redb+group", "redb, group commit", Way::Group),
    peer("fjall", "fjall, a transaction a grant", Way::Each),
    peer("fjall+group", "fjall, group commit", Way::Group),
    peer("sled-flush", "sled, flush alone: not durable", Way::Unsynced),
    peer("sled", "sled, flush and fdatasync a grant", Way::Each),
    peer("sled+group", "sled, group commit", Way::Group),
    peer("postgres", "PostgreSQL, a statement a grant", Way::Server),
    peer("none", "no ledger: maps and a synced log", Way::NoLedger),
    peer("none+group", "no ledger: maps, log, group commit", Way::NoLedgerGroup),
    peer("none-sled", "no ledger: maps and pages in sled", Way::NoLedger),
    peer("none-sled+group", "no ledger: maps, sled, group commit", Way::NoLedgerGroup),
];

/// Callers of the tables that make the charts.
pub(crate) const CALLERS: [usize; 4] = [1, 8, 64, 256];
const BATCH: u64 = 8192;
const SMALL_BATCH: u64 = 1024;

/// Which works are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    Callers(usize),
    Hot,
    Batches,
}

impl Table {
    fn title(self) -> String {
        match self {
            Self::Callers(1) => "1 caller, one grant a call".into(),
            Self::Callers(callers) => format!("{callers} callers, one grant a call"),
            Self::Hot => "64 callers, one grant a call, all to one account".into(),
            Self::Batches => "1 caller, batches of 8,192".into(),
        }
    }

    /// Who takes turns, under which label.
    fn turns(self) -> Vec<(String, PeerName, Work)> {
        let grants = |callers, len, accounts| Work::Grants { callers, len, accounts };
        let of = |work, ways: &[Way]| {
            let row = move |peer: &PeerName| (peer.label.to_owned(), *peer, work);
            PEERS.iter().filter(|peer| ways.contains(&peer.way)).map(row).collect::<Vec<_>>()
        };
        let [ours, ..] = PEERS;
        match self {
            Self::Callers(callers) => {
                let no_ledger = if callers == 1 { Way::NoLedger } else { Way::NoLedgerGroup };
                let all = [Way::Ours, Way::Each, Way::Group, Way::Unsynced, Way::Server, no_ledger];
                let mut turns = of(grants(callers, 1, ACCOUNTS), &all);
                if callers == 1 {
                    let more = [(RETRIES, Work::Retries), (READS, Work::Reads), (FLOOR, Work::Floor)];
                    turns.extend(more.map(|(label, work)| (label.to_owned(), ours, work)));
                }
                turns
            }
            Self::Hot => {
                let mut turns = of(grants(64, 1, 1), &[Way::Ours, Way::Group, Way::NoLedgerGroup]);
                turns.push((MANY.to_owned(), ours, grants(64, 1, ACCOUNTS)));
                turns
            }
            Self::Batches => {
                let mut turns = of(grants(1, BATCH, ACCOUNTS), &[Way::Ours, Way::Each, Way::NoLedger]);
                for len in [SMALL_BATCH, BATCH] {
                    for (_, peer, work) in of(grants(1, len, ACCOUNTS), &[Way::Server]) {
                        turns.push((format!("PostgreSQL, arrays of {}", grouped(len as f64)), peer, work));
                    }
                }
                for (label, peer, _) in turns.iter_mut().filter(|(.., peer, _)| peer.way == Way::Each) {
                    let engine = peer.label.split(',').next().unwrap_or(peer.label);
                    *label = match peer.name {
                        "sled" => format!("{engine}, one sync a batch"),
                        _ => format!("{engine}, a transaction a batch"),
                    };
                }
                turns
            }
        }
    }
}

pub(crate) const RETRIES: &str = "pointstore, retry of a known key";
pub(crate) const READS: &str = "pointstore, balance read beside 8 writers";
pub(crate) const FLOOR: &str = "the floor: 4 KiB appended and fdatasync";
pub(crate) const MANY: &str = "pointstore, over many accounts";

/// What came of one peer at one work.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) table: Table,
    pub(crate) label: String,
    pub(crate) peer: PeerName,
    pub(crate) work: Work,
    /// Grants, or whatever it does, in a second: the median of the rounds.
    pub(crate) rate: f64,
    /// Nanoseconds of a call.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Seconds for a million.
    pub(crate) cpu: f64,
    /// Bytes on the disk for each grant.
    pub(crate) disk: f64,
    /// Bytes of memory at most.
    pub(crate) peak: f64,
}

/// A process that waits for its turn.
struct Turn {
    label: String,
    peer: PeerName,
    work: Work,
    child: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
    rates: Vec<f64>,
    times: f64,
    cpu_nanos: f64,
}

impl Turn {
    fn start(folder: &Path, label: String, peer: PeerName, work: Work) -> Result<Self> {
        fs::create_dir(folder)?;
        let mut command = this_program()?;
        command.arg(child::OPTION).arg(peer.name).arg(folder).arg(work.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let orders = child.stdin.take().ok_or("no way to a child")?;
        let replies = BufReader::new(child.stdout.take().ok_or("no way from a child")?);
        let (rates, times, cpu_nanos) = (Vec::new(), 0.0, 0.0);
        let mut turn = Self { label, peer, work, child, orders, replies, rates, times, cpu_nanos };
        turn.reply()?;
        Ok(turn)
    }

    fn order(&mut self, line: &str) -> Result<String> {
        writeln!(self.orders, "{line}")?;
        self.reply()
    }

    fn reply(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            return Err(format!("{} ended early, {status}", self.label).into());
        }
        Ok(line)
    }

    fn round(&mut self, time: Duration) -> Result<()> {
        let [times, nanos, cpu] = numbers(&self.order(&format!("round {}", time.as_millis().max(1)))?)?;
        self.rates.push(times / nanos * 1e9);
        self.times += times;
        self.cpu_nanos += cpu;
        Ok(())
    }

    fn forget(&mut self) -> Result<()> {
        self.order("forget")?;
        self.rates.clear();
        (self.times, self.cpu_nanos) = (0.0, 0.0);
        Ok(())
    }

    fn finish(mut self, table: Table) -> Result<Row> {
        let [p50, p99, peak, disk, grants] = numbers(&self.order("finish")?)?;
        if !self.child.wait()?.success() {
            return Err(format!("{} failed at its end", self.label).into());
        }
        let (rate, cpu) = (median(&self.rates), self.cpu_nanos / 1e9 / self.times * 1e6);
        let (label, peer, work) = (self.label.clone(), self.peer, self.work);
        Ok(Row { table, label, peer, work, rate, p50, p99, cpu, disk: disk / grants, peak })
    }
}

impl Drop for Turn {
    /// Leaves no process behind where another one has failed: its orders end with this.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// So many numbers of a line.
pub(crate) fn numbers<const N: usize>(line: &str) -> Result<[f64; N]> {
    let numbers: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    numbers.try_into().map_err(|_| format!("a reply was not understood, line={line}").into())
}

/// Compares all at all works, or as asked.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = scratch()?;
    let server = server_works(folder.path(), options);
    let callers = CALLERS.map(Table::Callers);
    let mut rows = Vec::new();
    println!(
        "{} rounds of {:?} for each, taking turns, after a quarter of one to warm up; {} accounts",
        options.rounds,
        options.time,
        grouped(ACCOUNTS as f64)
    );
    for (place, table) in callers.into_iter().chain([Table::Hot, Table::Batches]).enumerate() {
        let mut turns = table.turns();
        turns.retain(|(_, peer, _)| wanted(peer, options) && (peer.way != Way::Server || server));
        let folder = folder.path().join(format!("table-{place}"));
        let of_table = compete(table, turns, &folder, options)?;
        fs::remove_dir_all(&folder)?;
        print(&table.title(), &of_table);
        rows.extend(of_table);
    }
    println!("\nevery balance of every peer is what was granted");
    let memory =
        if wanted(&PEERS[0], options) { Some(growth::memory(folder.path(), options.quick)?) } else { None };
    bars::print(&bars::comparison(&rows, memory));
    if let Some(out) = &options.out {
        charts::comparison(out, &rows)?;
    }
    Ok(())
}

fn wanted(peer: &PeerName, options: &Options) -> bool {
    let engine = peer.name.split(['+', '-']).next().unwrap_or_default();
    options.only.as_ref().is_none_or(|only| only.iter().any(|name| name == peer.name || name == engine))
}

/// Whether the server can be measured; says so where not.
fn server_works(folder: &Path, options: &Options) -> bool {
    if !PEERS.iter().any(|peer| peer.way == Way::Server && wanted(peer, options)) {
        return false;
    }
    if postgres::installed().is_none() {
        println!("PostgreSQL: not installed, left out");
        return false;
    }
    let probe = folder.join("probe");
    let opened = fs::create_dir(&probe).map_err(Into::into).and_then(|()| peers::open("postgres", &probe, 1));
    match opened {
        Ok(_) => true,
        Err(error) => {
            println!("PostgreSQL: installed but does not start here, left out: {error}");
            false
        }
    }
}

/// Lets all of a table take turns, in another order each round.
fn compete(
    table: Table,
    turns: Vec<(String, PeerName, Work)>,
    folder: &Path,
    options: &Options,
) -> Result<Vec<Row>> {
    fs::create_dir(folder)?;
    let start = |(place, (label, peer, work)): (usize, (String, PeerName, Work))| {
        Turn::start(&folder.join(place.to_string()), label, peer, work)
    };
    let mut turns: Vec<Turn> = turns.into_iter().enumerate().map(start).collect::<Result<_>>()?;
    for turn in &mut turns {
        turn.round(options.time / 4)?;
        turn.forget()?;
    }
    for round in 0..options.rounds {
        let len = turns.len().max(1);
        for place in 0..turns.len() {
            // Forwards, then backwards: nobody always follows the same one.
            let place = if round % 2 == 0 { place } else { len - 1 - place };
            if let Some(turn) = turns.get_mut(place) {
                turn.round(options.time)?;
            }
        }
    }
    turns.into_iter().map(|turn| turn.finish(table)).collect()
}

fn print(title: &str, rows: &[Row]) {
    println!("\n{title}");
    println!(
        "  {:<42}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>9}",
        "", "a second", "p50", "p99", "CPU s/M", "bytes each", "peak MiB", "ratio"
    );
    let ours = rows.iter().find(|row| row.peer.way == Way::Ours).map(|row| row.rate);
    for row in rows {
        let ratio = ours.map_or_else(|| "-".into(), |ours| format!("{:.2}x", ours / row.rate));
        let disk = match row.work {
            Work::Grants { .. } => format!("{:.0}", row.disk),
            _ => "-".into(),
        };
        println!(
            "  {:<42}{:>11}{:>11}{:>11}{:>11.2}{:>11}{:>11.1}{:>9}",
            row.label,
            grouped(row.rate),
            time(row.p50),
            time(row.p99),
            row.cpu,
            disk,
            row.peak / f64::from(1 << 20),
            ratio
        );
    }
}
