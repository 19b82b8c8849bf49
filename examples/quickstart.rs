//! A grant whose answer is lost, the retry that makes it good, and a restart: `cargo run --example quickstart`.
//!
//! It prints the same on every run; the README shows what, and a test compares the two.

use std::error::Error;
use std::io::{self, Write};

use pointstore::{AccountId, ApplyError, IdempotencyKey, Operation, Outcome, PointStore, Points};

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout().lock())
}

/// Plays the story and tells it on `out`.
pub(crate) fn run(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let alice = AccountId::new("alice")?;
    let order = IdempotencyKey::new("order-1001")?;

    let store = PointStore::open(folder.path())?;
    writeln!(out, "open a new store:           {} receipts", store.opened().entries())?;

    // The points are on the disk, and the answer gets lost on its way: all we know is that none came.
    let _lost = store.grant(&alice, &order, Points::new(100)?)?;
    writeln!(out, "grant 100 for order-1001:   (the answer is lost)")?;

    // So we ask again, for the same and with the same key.
    let retry = store.grant(&alice, &order, Points::new(100)?)?;
    writeln!(out, "the same again:             {}", told(&retry))?;

    // The same key for another amount can only be a mistake.
    match store.grant(&alice, &order, Points::new(250)?) {
        Err(ApplyError::Refused(refusal)) => writeln!(out, "grant 250 for order-1001:   refused: {refusal}")?,
        Err(error) => return Err(error.into()),
        Ok(_) => return Err("the key was accepted for another amount".into()),
    }

    let second = store.grant(&alice, &IdempotencyKey::new("order-1002")?, Points::new(40)?)?;
    writeln!(out, "grant 40 for order-1002:    {}", told(&second))?;

    // A receipt says what was true when it was written, and goes on saying it.
    let receipt = store.receipt(&alice, Operation::Grant, &order)?.ok_or("the receipt is gone")?;
    writeln!(
        out,
        "the receipt of order-1001:  {} points, balance {}",
        receipt.points(),
        receipt.balance_after()
    )?;
    writeln!(out, "balance now:                {}", store.balance(&alice))?;

    store.close()?;
    let store = PointStore::open(folder.path())?;
    writeln!(out, "close, and open again:      {} receipts, all checked", store.opened().entries())?;

    let late = store.grant(&alice, &order, Points::new(100)?)?;
    writeln!(out, "order-1001 once more:       {}", told(&late))?;
    writeln!(out, "balance now:                {}", store.balance(&alice))?;
    store.close()?;
    Ok(())
}

/// An answer in words.
fn told(outcome: &Outcome) -> String {
    let how = if outcome.is_replay() { "replayed" } else { "applied" };
    let receipt = outcome.receipt();
    format!("{how}: receipt {}, balance {}", receipt.number(), receipt.balance_after())
}
