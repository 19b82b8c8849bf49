//! The parent: kills, opens, judges.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command as Program, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use pointstore::{AtomicError, Clock, Command, Operation, Outcome, PointStore, SystemClock};

use super::child::{FOLDER, RUN, STEPS, be_child};
use super::{Request, THREADS, request};

/// Longer than any of it can take, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// When a child is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Some microseconds after so many acknowledgements.
    Writing { acknowledged: u64, micros: u64 },
    /// Some microseconds after it began to open.
    Opening { micros: u64 },
    /// Some microseconds after it began to close.
    Closing { micros: u64 },
}

/// What a killed child had said: the numbers of the receipts by thread and step.
type Acknowledged = HashMap<(u64, u64), Vec<u64>>;

/// A running child and what it says.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    /// Starts the test `test` of this program again, as a child.
    fn start(test: &str, folder: &Path, run: u64, steps: u64) -> Self {
        let mut child = Program::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder)
            .env(RUN, run.to_string())
            .env(STEPS, steps.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        // It ends with the pipe, and so with the child.
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                // The test's own program says things too, and not always a line of its own.
                if let Some((_, said)) = line.split_once("child ") {
                    let _ = send.send(said.to_owned());
                }
            }
        });
        Self { child, lines }
    }

    /// Listens until a line says `what` for the n-th time, or the child has no more to say.
    fn hear(&self, what: &str, times: u64, heard: &mut Vec<String>) {
        let mut left = times;
        while left > 0 {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    left -= u64::from(line.starts_with(what));
                    heard.push(line);
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => panic!("the child hangs: heard {:?}", heard.last()),
            }
        }
    }

    /// Lets some microseconds go by, in which it may say things.
    fn linger(&self, micros: u64, heard: &mut Vec<String>) {
        let mut left = Duration::from_micros(micros);
        while let Ok(line) = self.lines.recv_timeout(left) {
            heard.push(line);
            left = left.saturating_sub(Duration::from_micros(20));
        }
    }

    /// Kills it with SIGKILL and gives all that it had said, and whether the kill came in time.
    fn kill(mut self, mut heard: Vec<String>) -> (Vec<String>, bool) {
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        heard.extend(self.lines.iter());
        (heard, std::os::unix::process::ExitStatusExt::signal(&status) == Some(9))
    }
}

/// What a series of kills has come to.
#[derive(Debug, Default)]
struct Counts {
    kills: u64,
    too_late: u64,
    acknowledged: u64,
    replayed: u64,
    in_doubt_there: u64,
    in_doubt_not_there: u64,
    unconfirmed: u64,
    dropped_pages: u64,
    clean: u64,
    made_anew: u64,
}

fn run_child(test: &str, folder: &Path, run: u64, moment: Moment, counts: &mut Counts) -> Acknowledged {
    let steps = match moment {
        Moment::Writing { .. } => 100_000,
        // Few: one that is killed late would otherwise leave very much to judge.
        Moment::Opening { .. } | Moment::Closing { .. } => 10,
    };
    let running = Running::start(test, folder, run, steps);
    let mut heard = Vec::new();
    let micros = match moment {
        Moment::Writing { acknowledged, micros } => {
            running.hear("done", acknowledged, &mut heard);
            micros
        }
        Moment::Opening { micros } => {
            running.hear("opening", 1, &mut heard);
            micros
        }
        Moment::Closing { micros } => {
            running.hear("closing", 1, &mut heard);
            micros
        }
    };
    running.linger(micros, &mut heard);
    let (heard, in_time) = running.kill(heard);
    if in_time {
        counts.kills += 1;
    } else {
        counts.too_late += 1;
    }
    let mut acknowledged = Acknowledged::new();
    for line in heard {
        assert!(!line.starts_with("failed"), "{moment:?}: {line}");
        let mut words = line.split(' ');
        if words.next() == Some("done") {
            let mut number = || words.next().unwrap().parse::<u64>().unwrap();
            let place = (number(), number());
            let numbers = words.next().unwrap().split(',').map(|n| n.parse().unwrap()).collect();
            acknowledged.insert(place, numbers);
        }
    }
    acknowledged
}

/// What every account must come to, as the commands say that were sent again until they were acknowledged.
type Model = HashMap<String, i64>;

fn send(store: &PointStore, request: &Request) -> Vec<Outcome> {
    match request {
        Request::Each(commands) => store.apply_each(commands).into_iter().map(Result::unwrap).collect(),
        Request::Atomic(commands) => store.apply_atomic(commands).map_err(AtomicError::into_error).unwrap(),
    }
}

fn add(model: &mut Model, command: &Command) {
    let points = command.points().get();
    *model.entry(command.account().to_string()).or_default() +=
        if command.operation() == Operation::Grant { points } else { -points };
}

/// Opens what is left and sends everything again: what was acknowledged, and for each thread what was not.
fn judge(folder: &Path, run: u64, acknowledged: &Acknowledged, model: &mut Model, counts: &mut Counts) {
    let store = PointStore::open(folder).unwrap_or_else(|error| panic!("run {run}: {error:?}"));
    counts.unconfirmed += store.opened().unconfirmed();
    counts.dropped_pages += store.opened().dropped_pages();
    counts.clean += u64::from(store.opened().was_clean());
    counts.made_anew += u64::from(store.opened().created());
    for thread in 0..THREADS {
        let steps = (0..).take_while(|step| acknowledged.contains_key(&(thread, *step))).count() as u64;
        for step in 0..steps {
            let request = request(run, thread, step);
            let outcomes = send(&store, &request);
            let numbers: Vec<u64> = outcomes.iter().map(|outcome| outcome.receipt().number()).collect();
            assert!(outcomes.iter().all(Outcome::is_replay), "I7: lost, run={run} {request:?}");
            assert_eq!(numbers, acknowledged[&(thread, step)], "I4");
            counts.acknowledged += numbers.len() as u64;
            counts.replayed += outcomes.len() as u64;
            request.commands().iter().for_each(|command| add(model, command));
        }
        // The one that was under way: there or not, and an atomic list as a whole.
        let request = request(run, thread, steps);
        let outcomes = send(&store, &request);
        let there = outcomes.iter().filter(|outcome| outcome.is_replay()).count();
        if matches!(request, Request::Atomic(_)) {
            assert!(there == 0 || there == outcomes.len(), "I2: half of a list, run={run}");
        }
        counts.in_doubt_there += there as u64;
        counts.in_doubt_not_there += (outcomes.len() - there) as u64;
        request.commands().iter().for_each(|command| add(model, command));
    }
    check_sums(&store, model);
    store.close().unwrap();
}

/// I1, I3: every command counts once, whatever was tried.
fn check_sums(store: &PointStore, model: &Model) {
    assert_eq!(store.accounts().count(), model.len());
    for account in store.accounts() {
        assert_eq!(account.balance().get(), model[&account.id().to_string()], "I1: {account:?}");
    }
    store.verify().unwrap();
}

/// A number from the environment.
fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// How long it takes to make and open a store here and now; kills while opening are spread over that. Bounded,
/// lest one slow moment of the machine makes everything slow.
fn opening_micros() -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let start = SystemClock.monotonic();
    PointStore::open(folder.path()).unwrap();
    (SystemClock.monotonic() - start).as_micros().min(20_000) as u64
}

/// A series of numbers that a seed decides.
struct Luck(u64);

impl Luck {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn i7_a_store_killed_at_any_moment_keeps_what_it_acknowledged_and_doubles_nothing() {
    be_child();
    let test =
        "crash::parent::i7_a_store_killed_at_any_moment_keeps_what_it_acknowledged_and_doubles_nothing";
    let (kills, seed) = (setting("POINTSTORE_KILLS", 20), setting("POINTSTORE_SEED", 1));
    let (folder, opening) = (tempfile::tempdir().unwrap(), opening_micros());
    let (mut luck, mut counts, mut model) = (Luck(seed), Counts::default(), Model::new());
    let mut run = 0;
    while counts.kills < kills {
        assert!(run < 2 * kills + 10, "most kills come too late: {counts:?}");
        let moment = match run % 4 {
            0 | 1 => Moment::Writing { acknowledged: luck.below(400), micros: luck.below(3_000) },
            2 => Moment::Opening { micros: luck.below(3 * opening) },
            _ => Moment::Closing { micros: luck.below(opening) },
        };
        let acknowledged = run_child(test, folder.path(), run, moment, &mut counts);
        if matches!(moment, Moment::Opening { .. }) {
            // Once more, into what the first one left.
            let micros = luck.below(3 * opening);
            let more = run_child(test, folder.path(), run, Moment::Opening { micros }, &mut counts);
            let acknowledged = acknowledged.into_iter().chain(more).collect();
            judge(folder.path(), run, &acknowledged, &mut model, &mut counts);
        } else {
            judge(folder.path(), run, &acknowledged, &mut model, &mut counts);
        }
        run += 1;
    }
    println!("killed, seed={seed}: {counts:?}");
    assert!(counts.acknowledged > 0 && counts.replayed == counts.acknowledged);
}

#[test]
fn a_store_killed_while_it_is_made_can_be_opened() {
    be_child();
    let test = "crash::parent::a_store_killed_while_it_is_made_can_be_opened";
    let (kills, seed) = (setting("POINTSTORE_KILLS", 20), setting("POINTSTORE_SEED", 1));
    let (mut luck, mut counts, opening) = (Luck(seed), Counts::default(), opening_micros());
    for run in 0..kills {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points");
        let moment = match run % 4 {
            // Just made, and the first answers just given.
            3 => Moment::Writing { acknowledged: 1 + luck.below(3), micros: luck.below(1_000) },
            _ => Moment::Opening { micros: luck.below(3 * opening) },
        };
        let acknowledged = run_child(test, &path, run, moment, &mut counts);
        judge(&path, run, &acknowledged, &mut Model::new(), &mut counts);
    }
    println!("killed while it was made, seed={seed}: {counts:?}");
    assert!(
        counts.made_anew > 0 && counts.made_anew < kills,
        "some kills come before it is made, some after"
    );
}
