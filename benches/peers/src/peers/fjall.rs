//! fjall: two keyspaces, a single-writer transaction a call, `PersistMode::SyncData`: the fdatasync of the others.

use std::path::Path;

use fjall::{
    KeyspaceCreateOptions, PersistMode, Readable, SingleWriterTxDatabase, SingleWriterTxKeyspace,
    SingleWriterWriteTx,
};

use super::{Answer, Balances, CACHE_BYTES, Peer, Saved, number, place};
use crate::Result;
use crate::work::Grant;

pub(super) struct Fjall {
    database: SingleWriterTxDatabase,
    balances: SingleWriterTxKeyspace,
    receipts: SingleWriterTxKeyspace,
}

impl Fjall {
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let database = SingleWriterTxDatabase::builder(folder).cache_size(u64::from(CACHE_BYTES)).open()?;
        let balances = database.keyspace("balances", KeyspaceCreateOptions::default)?;
        let receipts = database.keyspace("receipts", KeyspaceCreateOptions::default)?;
        Ok(Self { database, balances, receipts })
    }

    fn apply(&self, transaction: &mut SingleWriterWriteTx<'_>, grant: &Grant) -> Result<Answer> {
        let place = place(grant);
        if let Some(row) = transaction.get(&self.receipts, &place)? {
            return Ok(Saved::of_row(&row)?.replay(grant));
        }
        let balance = transaction.get(&self.balances, &grant.account)?.map_or(Ok(0), |row| number(&row))?;
        let saved = Saved::new(balance, grant)?;
        transaction.insert(&self.balances, grant.account.as_str(), saved.balance_after.to_be_bytes());
        transaction.insert(&self.receipts, place, saved.row());
        Ok(Answer::Applied(saved.balance_after))
    }
}

impl Peer for Fjall {
    fn grant(&self, _caller: usize, grant: &Grant) -> Result<Answer> {
        self.grant_batch(&[grant])?.pop().ok_or_else(|| "no answer".into())
    }

    fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        let mut transaction = self.database.write_tx().durability(Some(PersistMode::SyncData));
        let answers =
            grants.iter().map(|grant| self.apply(&mut transaction, grant)).collect::<Result<_>>()?;
        transaction.commit()?;
        Ok(answers)
    }

    fn balances(&self) -> Result<Balances> {
        let row = |row: fjall::Guard| {
            let (account, points) = row.into_inner()?;
            Ok((String::from_utf8(account.to_vec())?, number(&points)?))
        };
        self.database.read_tx().iter(&self.balances).map(row).collect()
    }
}
