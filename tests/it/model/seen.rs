//! Puts plain requests to a store, and turns its answers and all that it holds into plain data.

use pointstore::{
    AccountId, ApplyError, Command, Difference, ErrorKind, IdempotencyKey, InvalidCommand, Memo, Operation,
    Outcome, PointStore, Points, ReadError, Receipt, Refusal,
};

use super::judge::Dump;
use super::op::{Cmd, Done, No, Rec, Reply, Request};

/// An account from plain names.
pub(crate) fn account(tenant: &str, name: &str) -> AccountId {
    AccountId::in_tenant(tenant, name).unwrap()
}

/// A kind of operation.
pub(crate) fn operation(redeem: bool) -> Operation {
    if redeem { Operation::Redeem } else { Operation::Grant }
}

/// The command that is meant.
pub(crate) fn command(cmd: &Cmd) -> Command {
    let account = account(&cmd.tenant, &cmd.name);
    let key = IdempotencyKey::new(&cmd.key).unwrap();
    let points = Points::try_from(cmd.points).unwrap();
    let mut command = match cmd.redeem {
        true => Command::redeem(account, key, points),
        false => Command::grant(account, key, points),
    };
    if !cmd.memo.is_empty() {
        command = command.with_memo(Memo::new(&cmd.memo).unwrap());
    }
    if let Some(expected) = cmd.expected {
        command = command.expecting(expected);
    }
    command
}

/// Puts a request to a store.
pub(crate) fn submit(store: &PointStore, request: &Request) -> Reply {
    match request {
        Request::One(cmd) => Reply::Each(vec![answer(one(store, &command(cmd)))]),
        Request::Each(list) => {
            let commands: Vec<Command> = list.iter().map(command).collect();
            Reply::Each(store.apply_each(&commands).into_iter().map(answer).collect())
        }
        Request::Atomic(list) => {
            let commands: Vec<Command> = list.iter().map(command).collect();
            Reply::Atomic(match store.apply_atomic(&commands) {
                Ok(outcomes) => Ok(outcomes.iter().map(done).collect()),
                Err(error) => Err((error.index(), no(error.error()))),
            })
        }
    }
}

fn one(store: &PointStore, command: &Command) -> Result<Outcome, ApplyError> {
    let (account, key, points) = (command.account(), command.key(), command.points());
    match command.operation() {
        _ if command.memo().is_some() || command.expected().is_some() => store.apply(command),
        Operation::Redeem => store.redeem(account, key, points),
        _ => store.grant(account, key, points),
    }
}

fn answer(answer: Result<Outcome, ApplyError>) -> Result<Done, No> {
    answer.as_ref().map(done).map_err(no)
}

fn done(outcome: &Outcome) -> Done {
    Done { replay: outcome.is_replay(), rec: rec(outcome.receipt()) }
}

/// A receipt in plain words.
pub(crate) fn rec(receipt: &Receipt) -> Rec {
    let account = receipt.account();
    Rec {
        number: receipt.number(),
        tenant: account.tenant().unwrap_or_default().into(),
        name: account.name().into(),
        redeem: receipt.operation() == Operation::Redeem,
        key: receipt.key().as_str().into(),
        points: receipt.points().get().unsigned_abs(),
        balance_after: receipt.balance_after().get().into(),
        sequence: receipt.sequence(),
        recorded_at_ms: receipt.recorded_at().as_unix_millis(),
        memo: receipt.memo().map(Memo::as_str).unwrap_or_default().into(),
    }
}

fn no(error: &ApplyError) -> No {
    let plain = |points: &Points| points.get().unsigned_abs();
    match error {
        ApplyError::Refused(Refusal::KeyReused { saved, given, differs }) => {
            assert_eq!(error.kind(), ErrorKind::KeyReused);
            let differs = match differs {
                Difference::Points => "points",
                Difference::Memo => "memo",
                Difference::List => "list",
                other => panic!("an unknown difference: {other:?}"),
            };
            No::Reused { saved: plain(saved), given: plain(given), differs }
        }
        ApplyError::Refused(refusal) => {
            assert_eq!(error.kind(), ErrorKind::Rejected);
            match refusal {
                Refusal::SequenceMismatch { expected, actual } => {
                    No::Sequence { expected: *expected, actual: *actual }
                }
                Refusal::InsufficientPoints { balance, requested } => {
                    No::Short { balance: balance.get().into(), requested: plain(requested) }
                }
                Refusal::BalanceOverflow { balance, requested } => {
                    No::Over { balance: balance.get().into(), requested: plain(requested) }
                }
                other => panic!("an unknown refusal: {other:?}"),
            }
        }
        ApplyError::Invalid(InvalidCommand::ListTooLong { len, max }) => No::TooLong { len: *len, max: *max },
        ApplyError::Invalid(InvalidCommand::ListTooLarge { bytes, max }) => {
            No::TooLarge { bytes: *bytes, max: *max }
        }
        ApplyError::Storage(error) => No::Failed(error.kind().to_string()),
        other => panic!("an unknown error: {other:?}"),
    }
}

/// Everything that can be read of a store.
pub(crate) fn dump(store: &PointStore) -> Result<Dump, ReadError> {
    let journal = store.journal(0).map(|receipt| Ok(rec(&receipt?))).collect::<Result<_, ReadError>>()?;
    let stats = store.stats();
    let (granted, redeemed) = (stats.points_granted, stats.points_redeemed);
    Ok(Dump { journal, accounts: accounts(store), granted, redeemed })
}

/// The accounts of a store, which are read from memory.
pub(crate) fn accounts(store: &PointStore) -> Vec<(String, String, i128, u64, u64)> {
    let plain = |account: pointstore::Account| {
        let (tenant, name) = (account.id().tenant().unwrap_or_default(), account.id().name());
        let (sequence, last) = (account.sequence(), account.last());
        (tenant.to_owned(), name.to_owned(), i128::from(account.balance().get()), sequence, last)
    };
    store.accounts().map(plain).collect()
}
