//! The store itself.

use std::path::Path;

use pointstore::{AccountId, ApplyError, Command, Outcome, PointStore, Points, Refusal};

use super::{Answer, Balances, Peer};
use crate::Result;
use crate::work::Grant;

pub(crate) struct Ours {
    pub(crate) store: PointStore,
}

impl Ours {
    /// Opens the ledger of a folder, or makes one.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        Ok(Self { store: PointStore::open(folder.join("points"))? })
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if let Err(error) = self.store.close() {
            eprintln!("the store did not close: {error}");
        }
    }
}

impl Peer for Ours {
    fn grant(&self, _caller: usize, grant: &Grant) -> Result<Answer> {
        answer(self.store.apply(&command(grant)?))
    }

    fn grant_batch(&self, grants: &[&Grant]) -> Result<Vec<Answer>> {
        let commands: Vec<Command> = grants.iter().map(|grant| command(grant)).collect::<Result<_>>()?;
        self.store.apply_each(&commands).into_iter().map(answer).collect()
    }

    fn balances(&self) -> Result<Balances> {
        let row = |account: pointstore::Account| {
            (account.id().name().to_owned(), account.balance().get().unsigned_abs())
        };
        Ok(self.store.accounts().map(row).collect())
    }
}

fn command(grant: &Grant) -> Result<Command> {
    Ok(Command::grant(AccountId::new(&grant.account)?, grant.key.parse()?, Points::try_from(grant.points)?))
}

fn answer(given: Result<Outcome, ApplyError>) -> Result<Answer> {
    match given {
        Ok(outcome) => {
            let balance = outcome.receipt().balance_after().get().unsigned_abs();
            Ok(if outcome.is_replay() { Answer::Replayed(balance) } else { Answer::Applied(balance) })
        }
        Err(ApplyError::Refused(Refusal::KeyReused { saved, .. })) => {
            Ok(Answer::Reused(saved.get().unsigned_abs()))
        }
        Err(error) => Err(error.into()),
    }
}
