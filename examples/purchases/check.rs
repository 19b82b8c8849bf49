//! Whether the store holds what its answers said: by receipts, by accounts and in total.

use std::collections::BTreeMap;
use std::error::Error;

use pointstore::{AccountId, Operation, PointStore, Receipt};

use super::input::Input;
use super::passes::{Answer, Pass};

/// A retry of everything grants nothing, and is answered with the first receipts.
pub(crate) fn unchanged(first: &Pass, second: &Pass) -> Result<(), Box<dyn Error>> {
    if second.applied > 0 {
        return Err(format!("the second pass granted for {} purchases again", second.applied).into());
    }
    if second.answers != first.answers {
        return Err("the second pass was answered otherwise than the first".into());
    }
    Ok(())
}

/// Reads everything back from a store that was opened again.
///
/// `fresh` says that it was empty before the first pass: then it must hold these purchases and no more.
pub(crate) fn verified(
    store: &PointStore,
    input: &Input,
    pass: &Pass,
    fresh: bool,
) -> Result<(), Box<dyn Error>> {
    store.verify()?;
    // By number, so that a purchase that stands in the file twice is here once, as it should be in the store.
    let mut receipts: BTreeMap<u64, &Receipt> = BTreeMap::new();
    for (place, answer) in &pass.answers {
        let (Some((line, command)), Answer::Receipt(receipt)) = (input.grants.get(*place), answer) else {
            continue;
        };
        let saved = store.receipt(command.account(), Operation::Grant, command.key())?;
        if saved.as_ref() != Some(receipt) {
            return Err(format!("line {line}: the receipt is not the one that was answered").into());
        }
        receipts.insert(receipt.number(), receipt);
    }
    if fresh { adds_up(store, &receipts) } else { Ok(()) }
}

/// Every balance is the sum of its purchases, and there are no others.
fn adds_up(store: &PointStore, receipts: &BTreeMap<u64, &Receipt>) -> Result<(), Box<dyn Error>> {
    let mut sums: BTreeMap<&AccountId, u128> = BTreeMap::new();
    for receipt in receipts.values() {
        let sum = sums.entry(receipt.account()).or_default();
        *sum = sum.saturating_add(u128::from(receipt.points().get().unsigned_abs()));
    }
    let total = sums.values().fold(0_u128, |total, sum| total.saturating_add(*sum));
    if store.stats().points_granted != total {
        return Err(
            format!("the store holds {} points instead of {total}", store.stats().points_granted).into()
        );
    }
    for account in store.accounts() {
        if sums.remove(account.id()) != Some(u128::from(account.balance().get().unsigned_abs())) {
            return Err(format!("the balance of {} is not the sum of its purchases", account.id()).into());
        }
    }
    if sums.is_empty() { Ok(()) } else { Err(format!("{} customers are missing", sums.len()).into()) }
}

// Compiled into the integration tests, with the rest of the example.
#[cfg(test)]
mod tests {
    use super::super::options::{Asked, Options};
    use super::*;

    fn sample() -> (Input, Options) {
        let Asked::Run(options) = Options::parse([]).unwrap() else { panic!("no arguments are a run") };
        (Input::read(&options.file).unwrap(), options)
    }

    #[test]
    fn a_second_pass_that_grants_or_is_answered_otherwise_is_noticed() {
        let (input, options) = sample();
        let store = PointStore::temporary().unwrap();
        let first = Pass::run("first", &store, &input, &options).unwrap();
        let mut second = Pass::run("second", &store, &input, &options).unwrap();
        unchanged(&first, &second).unwrap();
        second.answers.pop_first();
        assert!(unchanged(&first, &second).is_err());
        let elsewhere = Pass::run("elsewhere", &PointStore::temporary().unwrap(), &input, &options).unwrap();
        assert!(unchanged(&first, &elsewhere).is_err());
    }

    #[test]
    fn a_store_that_holds_less_or_more_than_was_answered_is_noticed() {
        let (input, options) = sample();
        let store = PointStore::temporary().unwrap();
        let pass = Pass::run("first", &store, &input, &options).unwrap();
        verified(&store, &input, &pass, true).unwrap();
        assert!(verified(&PointStore::temporary().unwrap(), &input, &pass, true).is_err());
        store.grant(&"c001".parse().unwrap(), &"gift".parse().unwrap(), "5".parse().unwrap()).unwrap();
        assert!(verified(&store, &input, &pass, true).is_err());
        verified(&store, &input, &pass, false).unwrap();
    }
}
