//! A peer: a points ledger that makes retries safe, as people would write it on what they have.
//!
//! All keep the same: a balance for each account, and for each (account, key) a receipt with its points, the balance
//! after it and the time. All with a cache have 64 MiB of it, and all answer only what has been synced, but for
//! the one that says so.

mod fjall;
mod no_ledger;
mod ours;
pub(crate) mod postgres;
mod redb;
mod sled;
mod sqlite;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::Result;
use crate::group::Grouped;
use crate::work::Grant;

use no_ledger::NoLedger;
pub(crate) use ours::Ours;

const CACHE_BYTES: u32 = 64 << 20;

/// Balances by the name of the account.
pub(crate) type Balances = HashMap<String, u64>;

/// The answer to a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It had its effect now, and the balance is this.
    Applied(u64),
    /// It had had it before; the balance was this then.
    Replayed(u64),
    /// The key belongs to a grant of so many other points.
    Reused(u64),
}

/// A ledger to be measured.
pub(crate) trait Peer: Send + Sync {
    /// Grants points once for each account and key; durable when it returns. Callers are numbered from 0.
    fn grant(&self, caller: usize, grant: &Grant) -> Result<Answer>;

    /// The same for many, in order, with one sync.
    fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>>;

    /// What every account has that was ever granted anything.
    fn balances(&self) -> Result<Balances>;

    /// CPU time that its server has used so far, if it has one.
    fn server_cpu(&self) -> Result<Duration> {
        Ok(Duration::ZERO)
    }

    /// Memory of its server, if it has one.
    fn server_memory(&self) -> Result<u64> {
        Ok(0)
    }
}

/// A peer and the folder that holds its data.
pub(crate) struct Opened {
    pub(crate) peer: Box<dyn Peer>,
    pub(crate) files: PathBuf,
}

/// Opens a new ledger in a folder: a name of [`crate::compare::PEERS`].
pub(crate) fn open(name: &str, folder: &Path, callers: usize) -> Result<Opened> {
    let mut files = folder.to_owned();
    let peer: Box<dyn Peer> = match name {
        "pointstore" => Box::new(Ours::open(folder)?),
        "sqlite" => Box::new(sqlite::Sqlite::open(folder)?),
        "sqlite+group" => Box::new(Grouped::new(sqlite::Sqlite::open(folder)?)),
        "redb" => Box::new(redb::Redb::open(folder)?),
        "redb+group" => Box::new(Grouped::new(redb::Redb::open(folder)?)),
        "fjall" => Box::new(fjall::Fjall::open(folder)?),
        "fjall+group" => Box::new(Grouped::new(fjall::Fjall::open(folder)?)),
        "none" => Box::new(NoLedger::on_log(folder)?),
        "none+group" => Box::new(Grouped::new(NoLedger::on_log(folder)?)),
        "none-sled" => Box::new(NoLedger::on_sled(folder)?),
        "none-sled+group" => Box::new(Grouped::new(NoLedger::on_sled(folder)?)),
        "sled-flush" => Box::new(sled::Sled::open(folder, false)?),
        "sled" => Box::new(sled::Sled::open(folder, true)?),
        "sled+group" => Box::new(Grouped::new(sled::Sled::open(folder, true)?)),
        "postgres" => {
            files = postgres::data(folder);
            Box::new(postgres::Postgres::open(folder, callers)?)
        }
        _ => return Err(format!("there is no such peer, name={name}").into()),
    };
    Ok(Opened { peer, files })
}

/// Whether a peer is a process of its own.
pub(crate) fn has_server(name: &str) -> bool {
    name == "postgres"
}

/// What is kept of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Saved {
    points: u64,
    balance_after: u64,
    recorded_at_ms: u64,
}

impl Saved {
    const LEN: usize = 24;

    /// The receipt of a grant that is made now.
    fn new(balance: u64, grant: &Grant) -> Result<Self> {
        let balance_after = balance.checked_add(grant.points).ok_or("the balance is too large")?;
        Ok(Self { points: grant.points, balance_after, recorded_at_ms: now_ms()? })
    }

    /// The answer to a grant whose key is known.
    fn replay(&self, grant: &Grant) -> Answer {
        match self.points == grant.points {
            true => Answer::Replayed(self.balance_after),
            false => Answer::Reused(self.points),
        }
    }

    fn row(&self) -> [u8; Self::LEN] {
        let mut row = [0; Self::LEN];
        let fields = [self.points, self.balance_after, self.recorded_at_ms];
        for (bytes, field) in row.chunks_exact_mut(8).zip(fields) {
            bytes.copy_from_slice(&field.to_be_bytes());
        }
        row
    }

    fn of_row(row: &[u8]) -> Result<Self> {
        let mut fields = row.chunks(8).map(number);
        let mut next = || fields.next().unwrap_or_else(|| Err("a receipt is too short".into()));
        Ok(Self { points: next()?, balance_after: next()?, recorded_at_ms: next()? })
    }
}

/// Where a receipt stands in a table of bytes.
fn place(grant: &Grant) -> Vec<u8> {
    [grant.account.as_bytes(), &[0], grant.key.as_bytes()].concat()
}

fn number(row: &[u8]) -> Result<u64> {
    Ok(u64::from_be_bytes(row.try_into()?))
}

fn now_ms() -> Result<u64> {
    Ok(u64::try_from(SystemTime::UNIX_EPOCH.elapsed()?.as_millis())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::PEERS;
    use crate::work::{expected, grant};

    fn check(name: &str) {
        let folder = tempfile::Builder::new().prefix("peer-").tempdir().unwrap();
        let peer = open(name, folder.path(), 2).unwrap().peer;
        let first = grant(0, 0, 10);
        let Answer::Applied(balance) = peer.grant(0, &first).unwrap() else {
            panic!("{name} did not apply a new grant");
        };
        assert_eq!(balance, first.points, "{name}");
        let grants: Vec<Grant> = (0..200).map(|index| grant(0, index, 10)).collect();
        let asked: Vec<&Grant> = grants.iter().chain(grants.last()).collect();
        let answers = peer.grant_batch(&asked).unwrap();
        assert_eq!(answers.len(), 201, "{name}");
        assert_eq!(answers[0], Answer::Replayed(first.points), "{name}");
        assert!(answers[1..200].iter().all(|answer| matches!(answer, Answer::Applied(_))), "{name}");
        let Answer::Applied(last) = answers[199] else { panic!("{name}") };
        assert_eq!(answers[200], Answer::Replayed(last), "{name} doubled a key of one batch");
        assert_eq!(peer.grant(1, &grants[199]).unwrap(), Answer::Replayed(last), "{name}");
        let other = Grant { points: first.points + 1, ..first.clone() };
        assert_eq!(peer.grant(1, &other).unwrap(), Answer::Reused(first.points), "{name}");
        let fresh: Vec<Grant> = (0..100).map(|index| grant(1, index, 10)).collect();
        let answers = peer.grant_batch(&fresh.iter().collect::<Vec<_>>()).unwrap();
        let mut balances = expected(&[200], 10);
        for (grant, answer) in fresh.iter().zip(answers) {
            let balance = balances.get_mut(&grant.account).unwrap();
            *balance += grant.points;
            assert_eq!(answer, Answer::Applied(*balance), "{name} answers another balance");
        }
        assert_eq!(peer.balances().unwrap(), expected(&[200, 100], 10), "{name}");
    }

    #[test]
    fn every_embedded_peer_grants_once_replays_and_refuses() {
        let embedded = PEERS.iter().filter(|peer| peer.name != "postgres");
        assert_eq!(embedded.map(|peer| check(peer.name)).count(), 14);
    }

    #[test]
    fn the_server_grants_once_replays_and_refuses_where_it_is_installed() {
        match postgres::installed() {
            Some(_) => check("postgres"),
            None => assert!(open("postgres", Path::new("nowhere"), 1).is_err()),
        }
    }
}
