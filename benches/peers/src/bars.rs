//! What the store is held to, as ratios within one run.

use crate::child::Work;
use crate::compare::{MANY, READS, RETRIES, Row, Table, Way};
use crate::growth::Memory;

/// A figure and what it must not be under, or over.
pub(crate) struct Bar {
    what: String,
    /// Nothing where it was not measured.
    figure: Option<f64>,
    bar: Limit,
}

#[derive(Clone, Copy)]
enum Limit {
    /// A ratio of so much at least.
    Ratio(f64),
    /// So many bytes at most.
    Bytes(f64),
}

impl Bar {
    pub(crate) fn ratio(what: impl Into<String>, figure: Option<f64>, least: f64) -> Self {
        Self { what: what.into(), figure, bar: Limit::Ratio(least) }
    }

    pub(crate) fn bytes(what: impl Into<String>, figure: Option<f64>, most: f64) -> Self {
        Self { what: what.into(), figure, bar: Limit::Bytes(most) }
    }

    /// Whether it holds, where it was measured.
    fn met(&self) -> Option<bool> {
        let figure = self.figure.filter(|figure| figure.is_finite())?;
        Some(match self.bar {
            Limit::Ratio(least) => figure >= least,
            Limit::Bytes(most) => figure <= most,
        })
    }

    fn line(&self) -> String {
        let verdict = match self.met() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not measured",
        };
        let figure =
            |unit: &str| self.figure.map_or_else(|| "-".into(), |figure| format!("{figure:.2}{unit}"));
        match self.bar {
            Limit::Ratio(least) => {
                format!("  {:<72}{:>12}   at least {least}x   {verdict}", self.what, figure("x"))
            }
            Limit::Bytes(most) => {
                format!("  {:<72}{:>12}   at most {most} B   {verdict}", self.what, figure(" B"))
            }
        }
    }
}

/// Prints them all.
pub(crate) fn print(bars: &[Bar]) {
    println!("\nbars");
    for bar in bars {
        println!("{}", bar.line());
    }
    let missed = bars.iter().filter(|bar| bar.met() == Some(false)).count();
    println!("  {} bars, {missed} missed", bars.len());
}

/// The bars of the comparison.
pub(crate) fn comparison(rows: &[Row], memory: Option<Memory>) -> Vec<Bar> {
    let of = |table: Table| rows.iter().filter(move |row| row.table == table);
    let labelled = |table, label: &str| of(table).find(|row| row.label == label).map(|row| row.rate);
    let named = |table, name: &str| of(table).find(|row| row.peer.name == name);
    let rate = |table, name: &str| named(table, name).map(|row| row.rate);
    let fastest =
        |table, way| of(table).filter(|row| row.peer.way == way).map(|row| row.rate).reduce(f64::max);
    let disk = |table| named(table, "pointstore").filter(|row| is_grants(row)).map(|row| row.disk);
    let over = |ours: Option<f64>, theirs: Option<f64>| Some(ours? / theirs?);
    let ours = |table| rate(table, "pointstore");
    let (one, many, most) = (Table::Callers(1), Table::Callers(64), Table::Callers(256));
    let (hot, batches) = (Table::Hot, Table::Batches);
    vec![
        Bar::ratio(
            "64 callers / fastest embedded peer behind group commit",
            over(ours(many), fastest(many, Way::Group)),
            2.0,
        ),
        Bar::ratio(
            "64 callers / PostgreSQL, a statement a grant, 64 clients",
            over(ours(many), fastest(many, Way::Server)),
            5.0,
        ),
        Bar::ratio(
            "256 callers / fastest embedded peer behind group commit",
            over(ours(most), fastest(most, Way::Group)),
            2.5,
        ),
        Bar::ratio("64 callers on one account / on many accounts", over(ours(hot), labelled(hot, MANY)), 1.0),
        Bar::ratio(
            "batches of 8,192 / fastest embedded peer",
            over(ours(batches), fastest(batches, Way::Each)),
            5.0,
        ),
        Bar::ratio(
            "batches of 8,192 / PostgreSQL's best batch",
            over(ours(batches), fastest(batches, Way::Server)),
            5.0,
        ),
        Bar::ratio("1 caller / plain sled with flush and fdatasync", over(ours(one), rate(one, "sled")), 1.1),
        Bar::ratio("1 caller / SQLite, a transaction a grant", over(ours(one), rate(one, "sqlite")), 0.7),
        Bar::ratio(
            "retry of a known key / new grant of one caller",
            over(labelled(one, RETRIES), ours(one)),
            30.0,
        ),
        Bar::ratio(
            "balance read beside writers / new grant of one caller",
            over(labelled(one, READS), ours(one)),
            300.0,
        ),
        Bar::bytes("memory of the index, a receipt", memory.map(|memory| memory.receipt), 48.0),
        Bar::bytes("memory of the index, an account", memory.map(|memory| memory.account), 200.0),
        Bar::bytes("disk, a grant in batches", disk(batches), 110.0),
        Bar::bytes("disk, a grant of one caller", disk(one), 300.0),
    ]
}

fn is_grants(row: &Row) -> bool {
    matches!(row.work, Work::Grants { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{PEERS, PeerName};

    fn row(table: Table, peer: &PeerName, label: &str, rate: f64) -> Row {
        let work = Work::Grants { callers: 64, len: 1, accounts: 1 };
        let label = label.to_owned();
        Row { table, label, peer: *peer, work, rate, p50: 1.0, p99: 1.0, cpu: 1.0, disk: 100.0, peak: 1.0 }
    }

    #[test]
    fn a_bar_is_met_at_its_very_figure_and_missed_beyond() {
        assert_eq!(Bar::ratio("", Some(2.0), 2.0).met(), Some(true));
        assert_eq!(Bar::ratio("", Some(1.99), 2.0).met(), Some(false));
        assert_eq!(Bar::bytes("", Some(48.0), 48.0).met(), Some(true));
        assert_eq!(Bar::bytes("", Some(48.1), 48.0).met(), Some(false));
        assert_eq!(Bar::ratio("", None, 2.0).met(), None);
    }

    #[test]
    fn the_fastest_durable_peer_behind_group_commit_is_what_counts() {
        let table = Table::Callers(64);
        let rate = |peer: &PeerName| match peer.name {
            "pointstore" => 60.0,
            "redb+group" => 20.0,
            "sled-flush" => 50.0,
            none if none.starts_with("none") => 1000.0,
            _ => 10.0,
        };
        let rows: Vec<Row> = PEERS.iter().map(|peer| row(table, peer, peer.label, rate(peer))).collect();
        let bars = comparison(&rows, None);
        assert_eq!(bars[0].figure, Some(3.0));
        assert_eq!(bars[1].figure, Some(6.0));
        assert_eq!(bars[2].met(), None);
    }

    #[test]
    fn retries_and_the_hot_account_are_found_by_their_labels() {
        let ours = &PEERS[0];
        let one = Table::Callers(1);
        let rows = [
            row(one, ours, ours.label, 3.0),
            row(one, ours, RETRIES, 300.0),
            row(one, ours, READS, 3000.0),
            row(Table::Hot, ours, ours.label, 12.0),
            row(Table::Hot, ours, MANY, 10.0),
        ];
        let bars = comparison(&rows, Some(Memory { receipt: 36.0, account: 300.0 }));
        assert_eq!(bars[3].figure, Some(1.2));
        assert_eq!(bars[8].figure, Some(100.0));
        assert_eq!(bars[9].figure, Some(1000.0));
        assert_eq!(bars[10].met(), Some(true));
        assert_eq!(bars[11].met(), Some(false));
    }
}
