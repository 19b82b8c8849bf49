//! A group fails, the disk is full, a leader hangs, the store closes: everybody is answered (I6, I7, I10, C11).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use pointstore::testing::{Failure, SimDisk, Step, Unsynced};
use pointstore::{ApplyError, Clock, Command, ErrorKind, Outcome, PointStore, StorageError, Timestamp};

use super::{account, check_whole, key, patient, points, simulated, together, watched};

const THREADS: usize = 24;

/// A clock that lets a leader go on only when everybody is about to ask, so that groups are large.
#[derive(Debug, Default)]
struct Gathering {
    arrived: AtomicUsize,
}

impl Clock for Gathering {
    fn wall(&self) -> Timestamp {
        while self.arrived.load(Ordering::SeqCst) < THREADS {
            thread::yield_now();
        }
        (0..100).for_each(|_| thread::yield_now());
        Timestamp::from_unix_millis(1)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

fn command(thread: usize, i: usize) -> Vec<Command> {
    let grant = |name: String| Command::grant(account(name), key(format!("t{thread}-{i}")), points(1));
    // Singles, batches and lists.
    match thread % 3 {
        0 => vec![grant("hot".into())],
        1 => vec![grant("hot".into()), grant(format!("a{thread}")), grant(format!("b{thread}"))],
        _ => vec![grant("hot".into()), grant(format!("c{thread}"))],
    }
}

/// Sends a command, batch or list, and gives an answer for each of its items.
fn send(store: &PointStore, thread: usize, i: usize) -> Vec<Result<Outcome, ApplyError>> {
    let commands = command(thread, i);
    match thread % 3 {
        0 => vec![store.apply(&commands[0])],
        1 => store.apply_each(&commands),
        _ => match store.apply_atomic(&commands) {
            Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error.into_error()); commands.len()],
        },
    }
}

#[test]
fn i10_when_a_group_fails_everybody_is_answered_and_every_retry_is_right() {
    let failures = [
        (Step::Append, Failure::Before),
        (Step::Append, Failure::After),
        (Step::Append, Failure::Panic),
        (Step::Sync, Failure::Before),
        (Step::Sync, Failure::After),
        (Step::Sync, Failure::Pretend),
        (Step::Sync, Failure::Panic),
        (Step::Mark, Failure::Before),
        (Step::Mark, Failure::After),
        (Step::Mark, Failure::Panic),
    ];
    for (seed, (step, failure)) in (0..).zip(failures.iter().cycle().take(3 * failures.len())) {
        let disk = SimDisk::new(seed);
        let clock = Arc::new(Gathering::default());
        let store = patient().clock(Arc::clone(&clock)).open_simulated(&disk).unwrap();
        // One group goes through first where it can, another one fails.
        if seed % 2 == 0 {
            clock.arrived.store(THREADS, Ordering::SeqCst);
            store.grant(&account("hot"), &key("start"), points(1)).unwrap();
            clock.arrived.store(0, Ordering::SeqCst);
        }
        disk.fail(*step, *failure);
        let answers = watched("a failing group", || {
            together(THREADS, |thread| {
                clock.arrived.fetch_add(1, Ordering::SeqCst);
                send(&store, thread, 0)
            })
        });
        let mut in_doubt = 0;
        for error in answers.iter().flatten().filter_map(|answer| answer.as_ref().err()) {
            match error.kind() {
                ErrorKind::OutcomeUnknown => in_doubt += 1,
                ErrorKind::NotAttempted | ErrorKind::Closed => {}
                other => panic!("{other}: {error}"),
            }
        }
        assert!(in_doubt > 0, "the one that failed was told so");
        let entries = store.position().entries();
        assert_eq!(send(&store, 0, 99)[0].as_ref().unwrap_err().kind(), ErrorKind::Closed, "I10");
        store.close().unwrap_err();

        let kept = [Unsynced::Kept, Unsynced::Dropped, Unsynced::Torn][seed as usize % 3];
        disk.cut_power(kept);
        let store = patient().open_simulated(&disk).unwrap();
        assert!(store.position().entries() >= entries, "I7");
        for (thread, before) in answers.iter().enumerate() {
            for (before, again) in before.iter().zip(send(&store, thread, 0)) {
                let again = again.unwrap();
                match before {
                    Ok(outcome) => assert_eq!(again, Outcome::Replayed(outcome.receipt().clone()), "I7"),
                    Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {}
                    Err(error) => assert!(!again.is_replay(), "I6: it had an effect after all: {error}"),
                }
            }
        }
        let sent: usize = (0..THREADS).map(|thread| command(thread, 0).len()).sum();
        assert_eq!(check_whole(&store), sent as i128 + i128::from(seed % 2 == 0), "I1");
    }
}

#[test]
fn i6_a_full_disk_refuses_and_the_store_goes_on_when_there_is_room() {
    let (disk, store) = simulated(30);
    let first = store.grant(&account("hot"), &key("start"), points(1)).unwrap();
    disk.fill(true);
    let pages = disk.durable_pages();
    let answers = watched("a full disk", || together(THREADS, |thread| send(&store, thread, 0)));
    for answer in answers.into_iter().flatten() {
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAttempted);
        assert!(matches!(error, ApplyError::Storage(StorageError::DiskFull { .. })), "{error}");
    }
    assert_eq!(disk.durable_pages(), pages, "I6");
    let again = store.grant(&account("hot"), &key("start"), points(1)).unwrap();
    assert_eq!(again.receipt(), first.receipt(), "a replay needs no room");
    assert_eq!(store.balance(&account("hot")).get(), 1);

    disk.fill(false);
    let answers = watched("room again", || together(THREADS, |thread| send(&store, thread, 0)));
    let applied = answers.into_iter().flatten().filter(|a| a.as_ref().is_ok_and(|o| !o.is_replay())).count();
    assert_eq!(check_whole(&store), applied as i128 + 1);
}

#[test]
fn a_disk_that_fills_and_empties_beside_writers_loses_and_doubles_nothing() {
    let disk = SimDisk::new(31);
    let store = patient().small_limits().open_simulated(&disk).unwrap();
    watched("filling", || {
        together(9, |thread| {
            for i in 0..60 {
                if thread == 0 {
                    disk.fill(i % 2 == 0);
                }
                loop {
                    let answers = send(&store, thread, i);
                    if answers.iter().all(Result::is_ok) {
                        break;
                    }
                    let full = |a: &Result<_, ApplyError>| {
                        a.as_ref().is_err_and(|error| error.kind() != ErrorKind::NotAttempted)
                    };
                    assert!(!answers.iter().any(full), "{answers:?}");
                    disk.fill(false);
                }
            }
        })
    });
    let each: usize = (0..9).map(|thread| command(thread, 0).len()).sum();
    assert_eq!(check_whole(&store), 60 * each as i128);
}

/// A clock that holds a leader until it is let go.
#[derive(Clone, Debug, Default)]
struct Holding(Arc<(Mutex<bool>, Condvar)>, Arc<AtomicUsize>);

impl Holding {
    fn hold(&self, hold: bool) {
        *self.0.0.lock().unwrap() = hold;
        self.0.1.notify_all();
    }

    /// How many were held so far.
    fn holds(&self) -> usize {
        self.1.load(Ordering::SeqCst)
    }
}

impl Clock for Holding {
    fn wall(&self) -> Timestamp {
        let held = self.0.0.lock().unwrap();
        self.1.fetch_add(usize::from(*held), Ordering::SeqCst);
        drop(self.0.1.wait_while(held, |held| *held).unwrap());
        Timestamp::from_unix_millis(1)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

#[test]
fn i10_nobody_waits_longer_than_allowed_for_a_leader_that_hangs() {
    let (disk, clock) = (SimDisk::new(32), Holding::default());
    let builder = PointStore::builder().clock(clock.clone()).wait_at_most(Duration::from_millis(30));
    let store = builder.open_simulated(&disk).unwrap();
    store.grant(&account("hot"), &key("start"), points(1)).unwrap();
    clock.hold(true);
    let answered = AtomicUsize::new(0);
    let answers = watched("a hanging leader", || {
        together(8, |thread| {
            let answer = send(&store, 3 * thread, 0).remove(0);
            // Let go by the first one who gave up: until then the leader hangs.
            answered.fetch_add(1, Ordering::SeqCst);
            clock.hold(false);
            answer
        })
    });
    assert_eq!(answered.load(Ordering::SeqCst), 8);
    for answer in &answers {
        let kind = answer.as_ref().unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::NotAttempted | ErrorKind::OutcomeUnknown | ErrorKind::Closed));
    }
    // The store is over, and reads go on.
    assert_eq!(send(&store, 0, 1)[0].as_ref().unwrap_err().kind(), ErrorKind::Closed, "I10");
    assert_eq!(store.balance(&account("hot")).get(), 1);
    watched("closing after it", || store.close()).unwrap_err();
    let store = builder.open_simulated(&disk).unwrap();
    for (thread, answer) in answers.iter().enumerate() {
        let again = send(&store, 3 * thread, 0).remove(0).unwrap();
        let unknown = answer.as_ref().unwrap_err().kind() == ErrorKind::OutcomeUnknown;
        assert!(unknown || !again.is_replay(), "I6");
    }
    assert_eq!(check_whole(&store), 9);
}

#[test]
fn a_store_that_could_not_be_closed_for_a_leader_that_hung_can_be_once_that_is_back() {
    let (disk, clock) = (SimDisk::new(33), Holding::default());
    let builder = PointStore::builder().clock(clock.clone()).wait_at_most(Duration::from_millis(30));
    let store = builder.open_simulated(&disk).unwrap();
    clock.hold(true);
    watched("closing twice", || {
        thread::scope(|scope| {
            let leader = scope.spawn(|| store.grant(&account("hot"), &key("k"), points(1)));
            // Once it hangs, nobody else is there to notice.
            while clock.holds() == 0 {
                thread::yield_now();
            }
            store.close().unwrap_err();
            clock.hold(false);
            assert!(!leader.join().unwrap().unwrap().is_replay());
        });
        store.close().unwrap();
        store.close().unwrap();
    });
    assert_eq!(check_whole(&builder.open_simulated(&disk).unwrap()), 1);
}

// More callers than make a crowd: some of a group are woken only after the lead was handed over.
#[test]
fn a_crowd_of_callers_is_answered_to_the_last() {
    let (_disk, store) = simulated(34);
    let (callers, rounds) = (600, 5);
    let mut times = 0;
    watched("a crowd", || {
        // On a busy machine few may meet in a group.
        while store.stats().largest_group <= 256 {
            together(callers, |thread| {
                for round in 0..rounds {
                    let account = account(format!("a{}", thread % 7));
                    store.grant(&account, &key(format!("{thread}-{round}-{times}")), points(1)).unwrap();
                }
            });
            times += 1;
            assert!(times < 100, "they share groups: {}", store.stats().largest_group);
        }
    });
    assert_eq!(check_whole(&store), (callers * rounds * times) as i128);
}

#[test]
fn c11_closing_beside_writers_answers_everybody_and_keeps_what_was_acknowledged() {
    for seed in 0..20 {
        let (disk, store) = simulated(100 + seed);
        let answers = watched("closing", || {
            together(12, |thread| {
                if thread == 11 {
                    // Once something is there, so that it closes in the middle.
                    while store.position().entries() < 5 * seed {
                        thread::yield_now();
                    }
                    store.close().unwrap();
                    return Vec::new();
                }
                let mut answers = Vec::new();
                for i in 0.. {
                    let answer = send(&store, thread, i);
                    let ended = answer.iter().any(Result::is_err);
                    answers.push(answer);
                    if ended {
                        break;
                    }
                }
                answers
            })
        });
        let store = patient().open_simulated(&disk).unwrap();
        assert!(store.opened().was_clean());
        let mut applied = 0;
        for (thread, answers) in answers.iter().enumerate() {
            for (i, before) in answers.iter().enumerate() {
                for (before, again) in before.iter().zip(send(&store, thread, i)) {
                    let again = again.unwrap();
                    match before {
                        Ok(outcome) => assert_eq!(again.receipt(), outcome.receipt(), "I7"),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Closed);
                            assert!(!again.is_replay(), "what was refused as closed had no effect");
                        }
                    }
                    applied += 1;
                }
            }
        }
        assert_eq!(check_whole(&store), applied);
    }
}
