//! One execution: a store with small groups, callers that share keys, a reader, and what a plan adds to them.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use shuttle::rand::Rng;
use shuttle::thread::{self, JoinHandle};

use super::judge::{Answer, judge};
use super::watch::{Trouble, Watch, Watched};
use crate::commit::{Committer, Pace, Settings};
use crate::engine::Engine;
use crate::engine::sim::{Failure, SimDisk, Step};
use crate::error::{ErrorKind, Fault};
use crate::index::Index;
use crate::limits::Limits;
use crate::observe::Observers;
use crate::types::{Clock, Command, IdempotencyKey, Memo, Points, Timestamp};

/// What happens beside the callers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    /// A step of the engine fails.
    pub(super) failing: bool,
    /// The leader panics, in the engine or before it.
    pub(super) panicking: bool,
    /// Somebody closes.
    pub(super) closing: bool,
    /// Who waits may run out of patience at any moment.
    pub(super) impatient: bool,
}

/// The text of every panic that a plan asks for.
const PANIC: &str = "a simulated panic";

/// What all threads of an execution share.
#[derive(Debug)]
pub(super) struct World {
    pub(super) committer: Committer,
    pub(super) watch: Arc<Watch>,
    pub(super) disk: SimDisk,
}

/// A clock that stands still, and may panic when it is asked for the so many-th time.
#[derive(Debug)]
struct Stopped {
    panics_after: AtomicUsize,
}

impl Clock for Stopped {
    fn wall(&self) -> Timestamp {
        let left = self.panics_after.fetch_sub(1, Ordering::SeqCst);
        assert!(left != 0, "{PANIC}");
        Timestamp::from_unix_millis(1)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Runs one execution and judges it.
pub(super) fn run(plan: Plan) {
    hide_asked_for_panics();
    let (trouble, panics_after) = choose_trouble(plan);
    let disk = SimDisk::new(1);
    let watch = Arc::new(Watch::new(trouble));
    let engine = Watched::open(&disk, &watch);
    let index = Index::new(engine.store());
    let settings = Settings {
        limits: Limits::SMALL,
        clock: Arc::new(Stopped { panics_after: AtomicUsize::new(panics_after) }),
        stall_limit: if plan.impatient { Duration::ZERO } else { Duration::MAX },
        // A crowd of none, one or two: the lead goes over before, amid and after waking.
        pace: Pace { crowd: shuttle::rand::thread_rng().gen_range(0..3), ..Pace::STANDARD },
        observers: Observers::default(),
    };
    let committer = Committer::new(Box::new(engine), index, settings);
    let world = Arc::new(World { committer, watch, disk });

    let callers = [one, pair, batch, list].map(|caller| beside(&world, caller));
    let reader = beside(&world, read);
    let closer = plan.closing.then(|| beside(&world, close));
    let answers: Vec<Answer> =
        callers.into_iter().flat_map(|caller| caller.join().expect("it ends")).collect();
    reader.join().expect("it ends");
    let closed = closer.map(|closer| closer.join().expect("it ends"));
    judge(plan, &world, &answers, closed);
}

fn beside<T: Send + 'static>(
    world: &Arc<World>,
    act: impl FnOnce(&World) -> T + Send + 'static,
) -> JoinHandle<T> {
    let world = Arc::clone(world);
    thread::spawn(move || act(&world))
}

/// Which step fails, and after how many readings the clock panics.
fn choose_trouble(plan: Plan) -> (Option<Trouble>, usize) {
    let mut random = shuttle::rand::thread_rng();
    let step = [Step::Append, Step::Sync, Step::Mark][random.gen_range(0..3)];
    let after = random.gen_range(0..4);
    let clock = random.gen_ratio(1, 3);
    if plan.failing {
        let failure = [Failure::Before, Failure::After][random.gen_range(0..2)];
        (Some((step, after, failure)), usize::MAX)
    } else if plan.panicking && clock {
        (None, after)
    } else if plan.panicking {
        (Some((step, after, Failure::Panic)), usize::MAX)
    } else {
        (None, usize::MAX)
    }
}

/// Panics that a plan asks for are no news; all others are told as ever.
fn hide_asked_for_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload_as_str() != Some(PANIC) {
                tell(info);
            }
        }));
    });
}

fn grant(account: &str, key: &str, points: i64) -> Command {
    let points = Points::new(points).expect("they are in bounds");
    Command::grant(account.parse().expect("a name"), key.parse().expect("a key"), points)
}

fn redeem(account: &str, key: &str, points: i64) -> Command {
    let points = Points::new(points).expect("they are in bounds");
    Command::redeem(account.parse().expect("a name"), key.parse().expect("a key"), points)
}

/// A grant so long that a group has room for two.
fn long(account: &str, key: &str) -> Command {
    let key = format!("{key:-<width$}", width = IdempotencyKey::MAX);
    grant(account, &key, 1).with_memo(Memo::new("m".repeat(Memo::MAX)).expect("a memo"))
}

/// A caller of one command, under a key that others use as well.
fn one(world: &World) -> Vec<Answer> {
    each(world, &[grant("a", "shared", 10)])
}

/// A caller that spends what it has just been granted.
fn pair(world: &World) -> Vec<Answer> {
    let mut answers = each(world, &[grant("a", "shared", 10)]);
    answers.extend(each(world, &[redeem("a", "spent", 5)]));
    answers
}

/// A caller whose request needs several groups.
fn batch(world: &World) -> Vec<Answer> {
    let keys = ["1", "2", "3", "4", "5"];
    let mut commands: Vec<Command> = keys.iter().map(|key| long("b", key)).collect();
    commands.insert(3, grant("a", "shared", 10));
    each(world, &commands)
}

/// A caller of a list that stands or falls as a whole, one command of which gives what another takes.
fn list(world: &World) -> Vec<Answer> {
    let commands = [grant("c", "given", 7), redeem("c", "taken", 7)];
    let answers = match world.committer.apply_atomic(&commands) {
        Ok(outcomes) => {
            assert_eq!(outcomes.len(), commands.len(), "a list has an answer for each command");
            outcomes.into_iter().map(Ok).collect()
        }
        Err(error) => vec![Err(error.into_error()); commands.len()],
    };
    checked(world, &commands, answers)
}

fn each(world: &World, commands: &[Command]) -> Vec<Answer> {
    checked(world, commands, world.committer.apply_each(commands))
}

/// Looks at answers the moment they are given.
fn checked(world: &World, commands: &[Command], answers: Vec<super::judge::Given>) -> Vec<Answer> {
    assert_eq!(answers.len(), commands.len(), "every command has an answer");
    let published = world.committer.published().tail.next;
    for (command, outcome) in commands.iter().zip(&answers) {
        let Ok(outcome) = outcome else { continue };
        let receipt = outcome.receipt();
        assert_eq!(
            (receipt.key(), receipt.account()),
            (command.key(), command.account()),
            "another's answer"
        );
        assert!(receipt.number() < world.watch.marked(), "I8: an answer before it is durable");
        assert!(receipt.number() < published, "an answer before it is published");
    }
    commands.iter().cloned().zip(answers).collect()
}

/// A reader: what it sees is durable, and whole.
fn read(world: &World) {
    for _ in 0..3 {
        let index = world.committer.published();
        assert_eq!(index.receipts.len() + 1, index.tail.next, "a group is published as a whole");
        assert!(index.tail.next <= world.watch.marked(), "I8: seen before it is durable");
        drop(index);
    }
}

/// Somebody who closes, and tries once more to write.
fn close(world: &World) -> Result<(), Fault> {
    let closed = world.committer.close();
    assert!(closed.is_err() || world.watch.closed(), "closing ends with the engine closed");
    let late = world.committer.apply(&grant("d", "late", 1)).expect_err("it comes too late");
    assert_eq!(late.kind(), ErrorKind::Closed);
    closed
}
