//! The child: writes until it is killed, or until it has done enough and closes.

use std::io::Write;
use std::path::Path;
use std::process::exit;

use pointstore::{ApplyError, AtomicError, Outcome, PointStore};

use super::{Request, THREADS, request};

/// What a child is told in its environment.
pub(super) const FOLDER: &str = "POINTSTORE_CRASH_FOLDER";
pub(super) const RUN: &str = "POINTSTORE_CRASH_RUN";
pub(super) const STEPS: &str = "POINTSTORE_CRASH_STEPS";

/// Becomes the child, if this process was started as one.
pub(super) fn be_child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let number = |name| std::env::var(name).unwrap().parse().unwrap();
    work(Path::new(&folder), number(RUN), number(STEPS));
    // Not back into the test's own program.
    exit(0)
}

/// One write for each line, so that a line is there as a whole or not at all.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("child {line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

fn work(folder: &Path, run: u64, steps: u64) {
    say("opening");
    let store = match PointStore::open(folder) {
        Ok(store) => store,
        Err(error) => {
            say(&format!("failed {error:?}"));
            exit(3)
        }
    };
    say("open");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for step in 0..steps {
                    let outcomes: Result<Vec<Outcome>, ApplyError> = match request(run, thread, step) {
                        Request::Each(commands) => store.apply_each(&commands).into_iter().collect(),
                        Request::Atomic(commands) => {
                            store.apply_atomic(&commands).map_err(AtomicError::into_error)
                        }
                    };
                    match outcomes {
                        Ok(outcomes) => {
                            let numbers: Vec<String> =
                                outcomes.iter().map(|o| o.receipt().number().to_string()).collect();
                            say(&format!("done {thread} {step} {}", numbers.join(",")));
                        }
                        Err(error) => say(&format!("failed {error:?}")),
                    }
                }
            });
        }
    });
    say("closing");
    match store.close() {
        Ok(()) => say("closed"),
        Err(error) => say(&format!("failed {error:?}")),
    }
}
