//! redb: two tables, a write transaction a call, `Durability::Immediate`.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, Table, TableDefinition};

use super::{Answer, Balances, CACHE_BYTES, Peer, Saved, place};
use crate::Result;
use crate::work::Grant;

const BALANCES: TableDefinition<'_, &str, u64> = TableDefinition::new("balances");
const RECEIPTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("receipts");

pub(super) struct Redb(Database);

impl Redb {
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("points.redb");
        let redb = Self(Database::builder().set_cache_size(CACHE_BYTES as usize).create(path)?);
        // Makes the tables.
        redb.grant_batch(&[])?;
        Ok(redb)
    }
}

impl Peer for Redb {
    fn grant(&self, _caller: usize, grant: &Grant) -> Result<Answer> {
        self.grant_batch(&[grant])?.pop().ok_or_else(|| "no answer".into())
    }

    fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        let mut transaction = self.0.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        let answers = {
            let mut balances = transaction.open_table(BALANCES)?;
            let mut receipts = transaction.open_table(RECEIPTS)?;
            let apply = |grant: &&Grant| apply(&mut balances, &mut receipts, grant);
            grants.iter().map(apply).collect::<Result<_>>()?
        };
        transaction.commit()?;
        Ok(answers)
    }

    fn balances(&self) -> Result<Balances> {
        let balances = self.0.begin_read()?.open_table(BALANCES)?;
        let row = |row: Result<(redb::AccessGuard<'_, &'static str>, redb::AccessGuard<'_, u64>), _>| {
            row.map(|(account, points)| (account.value().to_owned(), points.value()))
        };
        Ok(balances.iter()?.map(row).collect::<Result<_, redb::StorageError>>()?)
    }
}

fn apply(
    balances: &mut Table<'_, &'static str, u64>,
    receipts: &mut Table<'_, &'static [u8], &'static [u8]>,
    grant: &Grant,
) -> Result<Answer> {
    let place = place(grant);
    if let Some(row) = receipts.get(place.as_slice())? {
        return Ok(Saved::of_row(row.value())?.replay(grant));
    }
    let balance = balances.get(grant.account.as_str())?.map_or(0, |row| row.value());
    let saved = Saved::new(balance, grant)?;
    balances.insert(grant.account.as_str(), saved.balance_after)?;
    receipts.insert(place.as_slice(), saved.row().as_slice())?;
    Ok(Answer::Applied(saved.balance_after))
}
