//! Answers that get lost between a store and a job, by a limit and by a crash, and a job that asks again:
//! `cargo run --release --features worker,retry,testing --example lost_acknowledgement`.
//!
//! It checks what it tells, fails if anything is otherwise, and prints the same on every run; the README shows what, and
//! a test compares the two.

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{self, Command as Program};
use std::thread;
use std::time::Duration;

use pointstore::retry::{RetryError, RetryPolicy};
use pointstore::testing::LostAcks;
use pointstore::worker::{Doubt, Worker, WorkerError};
use pointstore::{Command, ErrorKind, InvalidCommand, Outcome, PointStore, Points};

type Told<T = ()> = Result<T, Box<dyn Error>>;

/// What the second process is told first, before the folder of the store.
const DIE: &str = "grant-and-die";

/// How long a job waits for an answer.
const PATIENCE: Duration = Duration::from_millis(500);

fn main() -> Told {
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    match args.as_slice() {
        [] => {
            let program = env::current_exe()?;
            let itself = |folder: &Path| {
                let mut child = Program::new(&program);
                child.arg(DIE).arg(folder);
                child
            };
            run(&mut io::stdout().lock(), itself)
        }
        [what, folder] if what == DIE => grant_and_die(Path::new(folder)),
        _ => Err("usage: lost_acknowledgement".into()),
    }
}

/// Plays the story and tells it on `out`. `child` makes a process that does [`grant_and_die`] on a folder.
pub(crate) fn run(out: &mut dyn Write, child: impl Fn(&Path) -> Program) -> Told {
    let folder = tempfile::tempdir()?;
    PointStore::open(folder.path())?.close()?;
    lose_an_answer(out, folder.path())?;
    crash_before_an_answer(out, folder.path(), child(folder.path()))
}

/// The job: the order's own number is the key, the same in every attempt.
fn reward(order: &str, points: i64) -> Result<Command, InvalidCommand> {
    Ok(Command::grant("alice".parse()?, order.parse()?, Points::new(points)?))
}

/// How the job asks: again, with the same command, wherever that is safe and can help.
fn ask(worker: &Worker, command: &Command) -> Result<Outcome, RetryError<WorkerError>> {
    RetryPolicy::default().run(|| worker.apply_blocking_within(command.clone(), PATIENCE))
}

/// A worker in front of a store that was there before.
fn start(folder: &Path, acks: &LostAcks) -> Told<Worker> {
    let store = PointStore::builder().create(false).open(folder)?;
    Ok(Worker::builder(store).lose_acks(acks).spawn()?)
}

fn stop(worker: &Worker) -> Told {
    worker.shutdown_blocking();
    Ok(worker.store().close()?)
}

/// The answer does not come in time, twice.
fn lose_an_answer(out: &mut dyn Write, folder: &Path) -> Told {
    let acks = LostAcks::new();
    let worker = start(folder, &acks)?;
    let order = reward("order-1001", 100)?;

    // Nobody hears of it: the job has nothing but its own limit.
    acks.keep_silent(true);
    acks.lose_next(2);
    let unknown = match worker.apply_blocking_within(order.clone(), PATIENCE) {
        Err(error @ WorkerError::OutcomeUnknown(Doubt::Expired)) => error,
        other => return Err(format!("expected to hear nothing in time: {other:?}").into()),
    };
    writeln!(out, "grant 100 for order-1001:  {unknown}")?;

    // Where the disk is slower than the job's patience, the points come later than the job gives up.
    while acks.lost() == 0 {
        thread::yield_now();
    }
    let balance = worker.store().balance(order.account());
    writeln!(
        out,
        "a look at the balance:     {balance}, though nobody was told; without a key, a retry makes it 200"
    )?;
    check(balance.get() == 100, "the grant is there")?;

    let retried = ask(&worker, &order)?;
    check(acks.lost() == 2, "the first retry went unanswered, too")?;
    check(retried.is_replay(), "the retry is a replay")?;
    writeln!(out, "the job asks again, twice: {}", told(&retried))?;
    check(worker.store().balance(order.account()).get() == 100, "the customer has 100")?;

    match ask(&worker, &reward("order-1001", 250)?) {
        Err(error) if error.kind() == ErrorKind::KeyReused => {
            writeln!(out, "grant 250 for order-1001:  refused: {}", error.error())?;
        }
        other => return Err(format!("expected a refusal: {other:?}").into()),
    }
    stop(&worker)
}

/// A whole process is gone between the disk and the answer.
fn crash_before_an_answer(out: &mut dyn Write, folder: &Path, mut child: Program) -> Told {
    let died = child.output()?;
    check(!died.status.success(), "the other process crashed")?;
    check(
        !String::from_utf8_lossy(&died.stdout).contains("answered"),
        "it was gone before it had an answer",
    )?;
    writeln!(out, "grant 40 for order-1002:   the process died before it had an answer")?;

    let worker = start(folder, &LostAcks::new())?;
    let store = worker.store();
    writeln!(out, "open the store again:      {} receipts, all checked", store.opened().entries())?;

    let order = reward("order-1002", 40)?;
    let retried = ask(&worker, &order)?;
    check(retried.is_replay(), "the retry is a replay")?;
    writeln!(out, "the job asks again:        {}", told(&retried))?;

    let mut keys = BTreeSet::new();
    // The latest comes first.
    let mut receipts = store.statement(order.account()).collect::<Result<Vec<_>, _>>()?;
    receipts.reverse();
    for receipt in receipts {
        let (key, points, balance) = (receipt.key(), receipt.points(), receipt.balance_after());
        writeln!(out, "  {key}  {points:>3} points, balance {balance}")?;
        check(keys.insert(key.to_string()), "a key has one receipt")?;
    }
    check(keys.len() == 2 && store.verify()?.entries() == 2, "there are two receipts")?;
    check(store.balance(order.account()).get() == 140, "the customer has 140")?;
    writeln!(out, "one receipt for each key, balance {}", store.balance(order.account()))?;
    stop(&worker)
}

/// The second process: its grant gets to the disk, and it dies before it hears of that.
pub(crate) fn grant_and_die(folder: &Path) -> Told {
    let acks = LostAcks::new();
    // Asked after the store has answered, and before the caller is.
    acks.lose_where(|_| process::abort());
    let outcome = ask(&start(folder, &acks)?, &reward("order-1002", 40)?)?;
    println!("answered: {outcome:?}");
    Ok(())
}

fn check(holds: bool, what: &str) -> Told {
    if holds { Ok(()) } else { Err(format!("it does not hold that {what}").into()) }
}

/// An answer in words.
fn told(outcome: &Outcome) -> String {
    let how = if outcome.is_replay() { "replayed" } else { "applied" };
    let receipt = outcome.receipt();
    format!("{how}: receipt {}, balance {}", receipt.number(), receipt.balance_after())
}
