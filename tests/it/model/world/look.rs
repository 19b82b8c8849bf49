//! Looking at a store: whatever can be read is held against the model.

use pointstore::ReadError;

use super::super::op::Look;
use super::super::seen;
use super::{Place, Tally, World};

impl World {
    /// Looks at everything that can be read.
    pub(crate) fn inspect(&mut self) {
        let dump = self.model.dump();
        seen::dump(self.store()).unwrap().must_equal(&dump, "the store");
        for rec in &dump.journal {
            self.look_up(&rec.tenant, &rec.name, rec.redeem, &rec.key);
            self.look_up(&rec.tenant, &rec.name, !rec.redeem, &rec.key);
        }
        for (tenant, name, ..) in &dump.accounts {
            self.look_at(tenant, name);
        }
        self.look(&Look::Stats);
        self.look(&Look::Verify);
    }

    /// Looks at one thing.
    pub(super) fn look(&mut self, look: &Look) {
        match look {
            Look::Account { tenant, name } => self.look_at(tenant, name),
            Look::Receipt { tenant, name, redeem, key } => self.look_up(tenant, name, *redeem, key),
            Look::Journal { from } => {
                let mut journal = self.model.dump().journal;
                journal.retain(|rec| rec.number >= *from);
                let seen = self.store().journal(*from).map(|receipt| Ok(seen::rec(&receipt?))).collect();
                if let Some(seen) = self.readable::<Vec<_>>(seen) {
                    assert_eq!(seen, journal, "from={from}");
                }
            }
            Look::Accounts => assert_eq!(seen::accounts(self.store()), self.model.dump().accounts),
            Look::Stats => self.look_at_stats(),
            Look::Verify => {
                if let Some(report) = self.readable(self.store().verify()) {
                    let held = self.model.dump();
                    let (entries, accounts) = (held.journal.len() as u64, held.accounts.len() as u64);
                    assert_eq!((report.entries(), report.accounts()), (entries, accounts));
                    assert_eq!(report.position(), self.store().position());
                }
            }
            Look::Backup => self.look_at_backup(),
        }
    }

    fn look_at(&self, tenant: &str, name: &str) {
        self.look_at_memory(tenant, name);
        let statement = self.store().statement(&seen::account(tenant, name));
        let statement = statement.map(|receipt| Ok(seen::rec(&receipt?))).collect();
        if let Some(statement) = self.readable::<Vec<_>>(statement) {
            assert_eq!(statement, self.model.statement(tenant, name));
        }
    }

    /// Looks at what is in memory of an account.
    pub(super) fn look_at_memory(&self, tenant: &str, name: &str) {
        let id = seen::account(tenant, name);
        let (balance, sequence, last) = self.model.standing(tenant, name);
        assert_eq!(i128::from(self.store().balance(&id).get()), balance, "balance of {id}");
        match self.store().account(&id) {
            None => assert_eq!(sequence, 0, "account {id} is not there"),
            Some(account) => {
                assert_eq!((account.id(), i128::from(account.balance().get())), (&id, balance));
                assert_eq!((account.sequence(), account.last()), (sequence, last));
                assert!(sequence > 0, "account {id} has no receipt");
            }
        }
    }

    fn look_up(&self, tenant: &str, name: &str, redeem: bool, key: &str) {
        let (id, key_id) = (seen::account(tenant, name), key.parse().unwrap());
        let receipt = self.store().receipt(&id, seen::operation(redeem), &key_id);
        if let Some(receipt) = self.readable(receipt) {
            let saved = self.model.receipt(tenant, name, redeem, key);
            assert_eq!(receipt.as_ref().map(seen::rec), saved, "receipt of {id} {key:?} redeem={redeem}");
        }
    }

    fn look_at_stats(&self) {
        let (stats, held, tally) = (self.store().stats(), self.model.dump(), &self.tally);
        let seen = Tally {
            applied: stats.applied,
            replayed: stats.replayed,
            key_reused: stats.key_reused,
            sequence_mismatch: stats.sequence_mismatch,
            insufficient_points: stats.insufficient_points,
            balance_overflow: stats.balance_overflow,
            invalid: stats.invalid,
            storage_errors: stats.storage_errors,
        };
        assert_eq!(seen, *tally);
        assert_eq!((stats.points_granted, stats.points_redeemed), (held.granted, held.redeemed));
        assert_eq!(stats.receipts, held.journal.len() as u64);
        assert_eq!(stats.accounts, held.accounts.len() as u64);
        assert!(stats.groups <= stats.applied && stats.largest_group <= stats.applied);
        assert!(stats.groups * stats.largest_group >= stats.applied, "groups hold what was applied");
        if let (Place::Sim(disk), false) = (&self.place, self.faulty) {
            let pages = disk.durable_pages();
            assert_eq!(stats.pages, pages.len() as u64);
            let bytes = pages.values().map(|page| page.len() as u64).sum::<u64>();
            assert_eq!(stats.page_bytes, bytes);
        }
    }

    fn look_at_backup(&self) {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("copy");
        match self.store().backup(&to) {
            Ok(report) => {
                assert_eq!(report.position(), self.store().position());
                let copy = self.builder.open(&to).unwrap();
                assert_eq!(copy.position(), report.position());
                seen::dump(&copy).unwrap().must_equal(&self.model.dump(), "the backup");
            }
            Err(error) => {
                assert!(self.faulty || self.reads_fail, "a backup failed without a cause: {error}");
            }
        }
    }

    /// What was read; or nothing, where there is a cause for a read to fail. It never fails as damage.
    fn readable<T>(&self, read: Result<T, ReadError>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(ReadError::Io(_)) if self.reads_fail || self.dark => None,
            Err(error) => panic!("a read failed without a cause: {error:?}"),
        }
    }
}
