//! The program under test, and the judge in a process of its own.
//!
//! `worker run DIR LOAD SEED RUN THREADS STEPS [exit]` loads a store and says each answer on stdout after it was
//! given. `worker judge DIR ACKS TRUTH|- DEPTH` opens what is left and judges it. `worker truth DIR` says all receipts.
//! `worker hold DIR` opens a store, says so, and waits for the end of its stdin.

use std::io::{Read, Write};
use std::path::Path;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pointstore::{ApplyError, AtomicError, ErrorKind, Outcome, PointStore};
use pointstore_torture::acks::{CUT, answer_line, receipt_text};
use pointstore_torture::judge;
use pointstore_torture::luck::Luck;
use pointstore_torture::work::{Load, Request, Run};

/// Longer than a healthy disk takes, shorter than the rig waits.
const STALL_LIMIT: Duration = Duration::from_secs(3);

/// Requests of a thread after its first failure: later ones must be told that the store is finished.
const AFTER_FAILURE: u32 = 3;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["run", folder, load, seed, number, threads, steps, ref more @ ..] => {
            let of = |text: &str| text.parse::<u64>().expect("a number");
            let load = Load::named(load).expect("a load");
            let run =
                Run { load, seed: of(seed), number: of(number), threads: of(threads), steps: of(steps) };
            work(Path::new(folder), &run, more.contains(&"exit"));
        }
        ["judge", folder, acks, truth, depth] => {
            let truth = (truth != "-").then(|| Path::new(truth));
            let verdict = judge::judge(Path::new(folder), Path::new(acks), truth, depth);
            say(&format!("{verdict}\n"));
        }
        ["truth", folder] => match PointStore::open(folder) {
            Ok(store) => {
                for receipt in store.journal(0) {
                    say(&format!("{}\n", receipt_text(&receipt.expect("sound"))));
                }
            }
            Err(error) => {
                eprintln!("{error:?}");
                exit(3)
            }
        },
        ["hold", folder] => hold(Path::new(folder)),
        _ => {
            eprintln!("worker: no such use: {args:?}");
            exit(2)
        }
    }
}

/// In one write, so that it is there as a whole or, after a kill, without its end.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Where nobody hears it, nothing was acknowledged.
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        exit(4)
    }
}

fn open(folder: &Path, load: Load) -> PointStore {
    let mut builder = PointStore::builder().wait_at_most(STALL_LIMIT);
    if load.reads() {
        builder = builder.cache_bytes(1);
    }
    match builder.open(folder) {
        Ok(store) => store,
        Err(error) => {
            say(&format!("noopen\t{:?}\t{error:?}\n", error.kind()));
            exit(3)
        }
    }
}

fn work(folder: &Path, run: &Run, leave: bool) {
    let Run { seed, number, load, threads, steps } = *run;
    // An earlier run on the same store may have been killed in the middle of a line.
    say(&format!("{CUT}\nbegin\t{}\t{seed}\t{number}\t{threads}\t{steps}\n", load.name()));
    let store = open(folder, load);
    say(&format!("seen\t{}\n", store.position()));
    let done = AtomicBool::new(load == Load::ReadOnly);
    std::thread::scope(|scope| {
        if load.reads() {
            for reader in 0..3 {
                let (store, done) = (&store, &done);
                scope.spawn(move || read(store, Luck::new(seed, &[number, reader]), done, steps));
            }
        }
        if load != Load::ReadOnly {
            let writers: Vec<_> = (0..threads)
                .map(|thread| {
                    let store = &store;
                    scope.spawn(move || write(store, run, thread))
                })
                .collect();
            for writer in writers {
                if writer.join().is_err() {
                    say("complaint\ta panic came out of the crate\n");
                }
            }
            done.store(true, Ordering::SeqCst);
        }
    });
    if load.reads() {
        // What is written was walked over by who wrote it: nothing that is read now makes the engine write.
        say("walk\n");
        let _ = store.journal(0).count();
    }
    say(&format!("seen\t{}\n", store.position()));
    if leave {
        say("end\n");
        // As a kill would, but after everything was answered.
        exit_without_closing();
    }
    say("closing\n");
    let how = match store.close() {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("{error:?}"),
    };
    say(&format!("closed\t{how}\nend\n"));
}

fn exit_without_closing() -> ! {
    // SAFETY: ends the process at once; nothing of it is used afterwards.
    unsafe { libc::_exit(0) }
}

fn write(store: &PointStore, run: &Run, thread: u64) {
    let mut failures = 0;
    for step in 0..run.steps {
        let request = run.request(thread, step);
        let answers: Vec<Result<Outcome, ApplyError>> = match &request {
            Request::Each(commands) => match &commands[..] {
                [command] => vec![store.apply(command)],
                commands => store.apply_each(commands),
            },
            Request::Atomic(commands) => match store.apply_atomic(commands) {
                Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
                Err(error) => {
                    let error = AtomicError::into_error(error);
                    commands.iter().map(|_| Err(error.clone())).collect()
                }
            },
        };
        let lines: String = answers
            .iter()
            .enumerate()
            .map(|(item, answer)| answer_line(thread, step, item, answer))
            .collect();
        say(&lines);
        let failed = answers.iter().any(|answer| {
            answer.as_ref().is_err_and(|e| !matches!(e.kind(), ErrorKind::KeyReused | ErrorKind::Rejected))
        });
        if failed || failures > 0 {
            failures += 1;
        }
        if failures > AFTER_FAILURE {
            return;
        }
    }
}

/// Pages in old receipts, in order and at random, and says what it saw.
fn read(store: &PointStore, mut luck: Luck, done: &AtomicBool, passes: u64) {
    let mut pass = 0;
    while pass < passes || !done.load(Ordering::SeqCst) {
        pass += 1;
        let position = store.position();
        let from = 1 + luck.below(position.entries());
        let mut expected = from;
        for receipt in store.journal(from).take(700) {
            match receipt {
                Ok(receipt) if receipt.number() == expected => expected += 1,
                Ok(receipt) => say(&format!("complaint\tread {} as {expected}\n", receipt.number())),
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    say(&format!("complaint\t{error:?}\n"));
                    return;
                }
                Err(_) => return,
            }
        }
        // What a reader has seen must never be taken back (I8).
        say(&format!("seen\t{position}\n"));
    }
}

fn hold(folder: &Path) {
    match PointStore::open(folder) {
        Ok(store) => {
            say(&format!("seen\t{}\n", store.position()));
            let _ = std::io::stdin().read(&mut [0]);
            drop(store);
        }
        Err(error) => {
            say(&format!("noopen\t{:?}\t{error:?}\n", error.kind()));
            exit(3)
        }
    }
}
