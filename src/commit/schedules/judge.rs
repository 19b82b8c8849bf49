//! The end of an execution: answers, disk and published state say the same (I1, I6, I7, I8, I10).

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Plan, World};
use crate::error::{ApplyError, Fault, StorageError};
use crate::journal::Page;
use crate::types::{Command, Outcome};

/// What a command was answered.
pub(super) type Given = Result<Outcome, ApplyError>;
/// The same with the command.
pub(super) type Answer = (Command, Given);

/// Account, operation and key.
type Identity = (String, u8, String);

/// Judges an execution whose threads have ended; `closed` is how closing beside them went.
pub(super) fn judge(plan: Plan, world: &World, answers: &[Answer], closed: Option<Result<(), Fault>>) {
    let ended = world.committer.close();
    assert_eq!(world.watch.wrong(), Vec::<String>::new());
    // Who closes without patience may be told that a group is still being written.
    if let Some(closed) = closed.filter(|closed| closed.is_ok() || !plan.impatient) {
        assert_eq!(closed, ended, "closing again gets the same answer");
    }
    let on_disk = entries(world);
    for (command, given) in answers {
        if let Err(error) = given {
            let expected = match error {
                ApplyError::Storage(StorageError::Closed) => plan.closing,
                ApplyError::Storage(StorageError::OutcomeUnknown(_)) => {
                    world.watch.failed() || plan.impatient
                }
                ApplyError::Storage(StorageError::NotAttempted(_) | StorageError::Poisoned(_)) => {
                    plan.failing || plan.panicking || plan.impatient
                }
                _ => false,
            };
            assert!(expected, "{:?} was answered {error:?}", identity(command));
        }
    }
    for (key, given) in by_identity(answers) {
        let applied: Vec<&Outcome> = given.iter().filter_map(|g| g.as_ref().ok()).collect();
        let fresh = applied.iter().filter(|outcome| !outcome.is_replay()).count();
        let unknown =
            given.iter().any(|g| matches!(g, Err(ApplyError::Storage(StorageError::OutcomeUnknown(_)))));
        assert!(fresh <= 1, "I1: {key:?} was applied {fresh} times");
        assert!(fresh == 1 || unknown || applied.is_empty(), "{key:?} is a replay of nothing");
        for outcome in &applied {
            let number = outcome.receipt().number();
            assert_eq!(on_disk.get(&key), Some(&number), "I7: {key:?} was acknowledged");
        }
        if applied.is_empty() && !unknown {
            assert!(!on_disk.contains_key(&key), "I6: {key:?} had no effect by all its answers");
        }
    }
    let published = world.committer.published().tail.next;
    assert!(published <= world.watch.marked(), "I8: published and not durable");
    if !world.watch.failed() {
        assert_eq!(on_disk.len() as u64 + 1, published, "everything written is published");
        assert_eq!(world.committer.group_counts().groups, world.watch.groups());
        assert!(ended.is_ok() || plan.panicking || plan.impatient, "{ended:?}");
    } else {
        assert!(ended.is_err(), "I10: closing tells the first cause");
    }
    let lists = ["given", "taken"].map(|key| on_disk.keys().any(|(_, _, k)| k == key));
    assert_eq!(lists[0], lists[1], "a list stands or falls as a whole");
}

fn identity(command: &Command) -> Identity {
    let account = command.account().parts().1.to_owned();
    (account, command.operation().code(), command.key().as_str().to_owned())
}

fn by_identity(answers: &[Answer]) -> BTreeMap<Identity, Vec<&Given>> {
    let mut all: BTreeMap<Identity, Vec<&Given>> = BTreeMap::new();
    for (command, given) in answers {
        all.entry(identity(command)).or_default().push(given);
    }
    all
}

/// The entries that a power cut leaves, each with its number.
fn entries(world: &World) -> BTreeMap<Identity, u64> {
    let store = world.committer.engine().store();
    let (mut found, mut numbers) = (BTreeMap::new(), BTreeSet::new());
    for (first, bytes) in world.disk.durable_pages() {
        let page = Page::parse(store, first, &bytes).expect("a page is sound");
        for place in 0..page.len() {
            let row = page.row(place).expect("it is there").expect("an entry is sound");
            let key = (row.name.to_owned(), row.operation, row.key.to_owned());
            let number = first + place as u64;
            assert!(numbers.insert(number), "I3: entry {number} is there twice");
            assert_eq!(found.insert(key.clone(), number), None, "I1: {key:?} has two entries");
        }
    }
    assert_eq!(numbers.last().copied().unwrap_or(0), numbers.len() as u64, "I3: entries without a gap");
    found
}
