//! The queue by itself: who leads, who is answered, and what a poison and a stall leave (I8, I10).

use std::sync::atomic::AtomicUsize;
use std::thread;

use super::super::request::{Atomic, Each, Prepared};
use super::*;
use crate::error::ApplyError;
use crate::index::KeyHasher;
use crate::types::{Command, Points};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);

fn queue() -> Queue {
    Queue::new(Pace::STANDARD)
}

fn prepared() -> Prepared {
    let command = Command::grant("a".parse().unwrap(), "k".parse().unwrap(), Points::MIN);
    Prepared::new(&command, &KeyHasher::default())
}

fn work(commands: usize) -> Work {
    Work::Each(Each::new((0..commands).map(|_| prepared()).collect()))
}

fn enter(queue: &Queue) -> (Arc<Ticket>, Phase) {
    queue.enter(work(1)).expect("it is accepted")
}

fn cause(text: &str) -> Fault {
    Fault::new(text)
}

fn answers(work: Work) -> Vec<Result<crate::types::Outcome, ApplyError>> {
    match work {
        Work::Each(each) => each.into_answers(),
        Work::Atomic(_) => panic!("not what was queued"),
    }
}

fn not_attempted(fault: &Fault) -> Vec<Result<crate::types::Outcome, ApplyError>> {
    vec![Err(StorageError::NotAttempted(fault.clone()).into())]
}

fn hand_over(queue: &Queue, waiting: VecDeque<Arc<Ticket>>) {
    queue.hand_over(waiting.into_iter(), None, 1);
}

#[test]
fn the_first_one_leads_and_hands_over_to_the_next_in_order() {
    let queue = queue();
    let (one, first) = enter(&queue);
    let (two, second) = enter(&queue);
    let (three, third) = enter(&queue);
    assert_eq!((first, second, third), (Phase::Lead, Phase::Waiting, Phase::Waiting));
    let mut taken = queue.take_waiting();
    assert!(Arc::ptr_eq(&taken[0], &one) && Arc::ptr_eq(&taken[1], &two));
    // Its group had room for itself alone; somebody else came meanwhile.
    let (four, fourth) = enter(&queue);
    assert_eq!(fourth, Phase::Waiting);
    taken.pop_front();
    hand_over(&queue, taken);
    assert_eq!(queue.wait(&two, LONG), Ok(Phase::Lead));
    let order = queue.take_waiting();
    let expected = [&two, &three, &four];
    assert!(order.len() == 3 && order.iter().zip(expected).all(|(a, b)| Arc::ptr_eq(a, b)));
    hand_over(&queue, VecDeque::new());
    assert_eq!(enter(&queue).1, Phase::Lead, "nobody leads any more");
    assert_eq!((queue.counts().groups, queue.counts().largest), (2, 1));
}

/// Who will lead is woken alone; those who are answered together, with a few calls of the system.
#[test]
fn who_comes_to_an_empty_queue_waits_by_itself_and_the_others_some_at_a_gate() {
    let queue = queue();
    for _ in 0..2 {
        let tickets: Vec<_> = (0..2 * GATE_PLACES + 2).map(|_| enter(&queue).0).collect();
        let gates = tickets.chunk_by(|one, next| Arc::ptr_eq(&one.gate, &next.gate));
        assert_eq!(gates.map(<[_]>::len).collect::<Vec<_>>(), [1, GATE_PLACES, GATE_PLACES, 1]);
        let first = Arc::as_ptr(&tickets[0].gate);
        assert!(tickets[1..].iter().all(|ticket| Arc::as_ptr(&ticket.gate) != first));
        queue.take_waiting();
        assert!(!Arc::ptr_eq(&queue.state.lock().gate(), &tickets[2 * GATE_PLACES + 1].gate));
    }
}

#[test]
fn what_was_begun_and_not_finished_goes_behind_the_others() {
    let queue = queue();
    let (long, _) = enter(&queue);
    let (other, _) = enter(&queue);
    let mut waiting = queue.take_waiting();
    waiting.pop_front();
    queue.hand_over(waiting.into_iter(), Some(Arc::clone(&long)), 3);
    assert_eq!(queue.wait(&other, LONG), Ok(Phase::Lead));
    let order = queue.take_waiting();
    assert!(Arc::ptr_eq(&order[0], &other) && Arc::ptr_eq(&order[1], &long));
}

#[test]
fn a_leader_waits_for_those_who_were_answered_just_now() {
    let queue = Queue::new(Pace { moment: LONG * 60, ..Pace::STANDARD });
    enter(&queue);
    queue.take_waiting();
    assert_eq!(queue.expect(0, 3), 3);
    // One of the three is back before the lead is handed over, and is not waited for once more.
    assert_eq!(enter(&queue).1, Phase::Waiting);
    queue.hand_over(std::iter::empty(), None, 3);
    thread::scope(|scope| {
        let led = scope.spawn(|| {
            queue.gather();
            queue.take_waiting().len()
        });
        while !queue.state.lock().gathering {
            thread::yield_now();
        }
        assert_eq!(enter(&queue).1, Phase::Waiting);
        // It sees that somebody is missing still, whenever it looks.
        for _ in 0..1_000 {
            assert!(queue.state.lock().gathering);
            thread::yield_now();
        }
        assert_eq!(enter(&queue).1, Phase::Waiting);
        assert_eq!(led.join().unwrap(), 3);
    });
    assert_eq!(queue.state.lock().hurried, 0, "nobody was waited for in vain");
}

#[test]
fn a_crowd_is_as_many_as_are_worth_a_group_and_nobody_is_waited_for_beyond_it() {
    let queue = Queue::new(Pace { moment: LONG * 60, crowd: 3 });
    let expected = |left, answered| {
        let first = queue.expect(left, answered);
        (first, queue.state.lock().expected)
    };
    assert_eq!(
        [expected(0, 9), expected(0, 2), expected(2, 9), expected(2, 0)],
        [(3, 3), (2, 2), (1, 3), (0, 2)]
    );
    assert_eq!([expected(3, 9), expected(9, 9)], [(0, 3); 2]);
    for missing in [2, 1, 0, 0] {
        enter(&queue);
        assert_eq!(expected(0, 9), (missing, 3));
    }
    let waiting = queue.take_waiting();
    assert_eq!(expected(4, 60), (0, 3));
    queue.hand_over(waiting.into_iter(), None, 4);
    // This would wait for ever.
    queue.gather();
    assert_eq!(queue.take_waiting().len(), 4);
    for _ in 0..3 {
        enter(&queue);
    }
    assert_eq!(expected(0, 60), (0, 3), "just as many as a crowd");
    queue.hand_over(std::iter::empty(), None, 4);
    queue.gather();
    assert_eq!(queue.take_waiting().len(), 3);
}

#[test]
fn who_was_waited_for_in_vain_is_not_waited_for_soon_again() {
    let mut queue = Queue::new(Pace { moment: SHORT, ..Pace::STANDARD });
    enter(&queue);
    queue.take_waiting();
    for group in 0..=HURRIED_GROUPS {
        assert_eq!(queue.expect(0, 2), 2);
        queue.hand_over(std::iter::empty(), None, 2);
        enter(&queue);
        // The first time it waits in vain; after that it would wait for ever.
        queue.gather();
        assert_eq!(queue.take_waiting().len(), 1, "group={group}");
        assert_eq!(queue.state.lock().hurried, HURRIED_GROUPS - group);
        queue.pace.moment = LONG * 60;
    }
}

// I10
#[test]
fn a_poisoned_queue_answers_who_waits_and_accepts_nobody() {
    let queue = queue();
    enter(&queue);
    queue.take_waiting();
    let (waiting, _) = enter(&queue);
    let list = Work::Atomic(Atomic::new(vec![prepared(), prepared()]));
    let (atomic, _) = queue.enter(list).expect("it is accepted");
    assert_eq!(queue.poison_news(), None);
    queue.poison(&cause("first"));
    queue.poison(&cause("second"));
    assert_eq!(queue.poison_news(), Some(cause("first")));
    assert_eq!(queue.poison_news(), None, "it is told once");
    queue.leave();
    assert_eq!(queue.wait(&waiting, LONG), Ok(Phase::Done));
    assert_eq!(answers(waiting.take()), not_attempted(&cause("first")), "the first cause is kept");
    assert_eq!(queue.wait(&atomic, LONG), Ok(Phase::Done));
    assert!(matches!(atomic.take(), Work::Atomic(Atomic { answer: Some(Err(_)), .. })));

    let refused = answers(queue.enter(work(2)).expect_err("nothing is accepted"));
    let poisoned = ApplyError::from(StorageError::Poisoned(cause("first")));
    assert_eq!(refused, [Err(poisoned.clone()), Err(poisoned)]);
    assert_eq!(queue.close(LONG), Ok(Some(cause("first"))));
    let refused = answers(queue.enter(work(1)).expect_err("nothing is accepted"));
    assert_eq!(refused, [Err(StorageError::Closed.into())], "closed comes before poisoned");
}

#[test]
fn closing_waits_until_everybody_is_served() {
    let queue = queue();
    enter(&queue);
    let served = AtomicUsize::new(0);
    thread::scope(|scope| {
        let waiting = queue.take_waiting();
        let (next, _) = enter(&queue);
        let closing = scope.spawn(|| {
            let closed = queue.close(LONG);
            (closed, served.load(Ordering::SeqCst))
        });
        while !queue.is_closed() {
            thread::yield_now();
        }
        assert_eq!(answers(queue.enter(work(1)).expect_err("too late")), [Err(StorageError::Closed.into())]);
        served.fetch_add(waiting.len(), Ordering::SeqCst);
        hand_over(&queue, VecDeque::new());
        assert_eq!(queue.wait(&next, LONG), Ok(Phase::Lead));
        served.fetch_add(queue.take_waiting().len(), Ordering::SeqCst);
        hand_over(&queue, VecDeque::new());
        assert_eq!(closing.join().unwrap(), (Ok(None), 2));
    });
}

#[test]
fn who_waits_for_a_leader_that_hangs_gives_up_and_ends_it_for_all() {
    let queue = queue();
    let (_leader, _) = enter(&queue);
    let (in_group, _) = enter(&queue);
    queue.take_waiting();
    let (behind, _) = enter(&queue);
    let stalled = queue.wait(&in_group, SHORT).expect_err("nothing moves");
    assert_eq!(queue.poison_news(), Some(stalled.clone()));
    // Those behind were not attempted; who is in the group cannot know.
    assert_eq!(queue.wait(&behind, SHORT), Ok(Phase::Done));
    assert_eq!(answers(behind.take()), not_attempted(&stalled));
    assert!(queue.enter(work(1)).is_err());
    assert_eq!(queue.close(SHORT), Err(cause("a group is still being written")));
}

/// A leader that was taken for hanging came back, and handed over to one that its group had no room for: a
/// group was written after the store had said that it takes no more, or nobody led and closing waited in vain.
#[test]
fn i10_nobody_leads_after_the_poison_though_a_slow_leader_hands_over() {
    let queue = queue();
    enter(&queue);
    let (rest, _) = enter(&queue);
    let (begun, _) = enter(&queue);
    let mut taken = queue.take_waiting();
    taken.pop_front();
    let begun_in_line = taken.pop_back();
    queue.poison(&cause("it hangs"));
    queue.hand_over(taken.into_iter(), begun_in_line, 1);
    for ticket in [rest, begun] {
        assert_eq!(queue.wait(&ticket, LONG), Ok(Phase::Done), "I10: it must not lead");
        assert_eq!(answers(ticket.take()), not_attempted(&cause("it hangs")));
    }
    assert_eq!(queue.close(SHORT), Ok(Some(cause("it hangs"))), "nobody leads");
}

/// A leader had chosen the next one, the queue was poisoned and that one answered, and only then was it told to lead:
/// it led nobody, and waited for the answer that it had.
#[test]
fn i10_who_has_an_answer_takes_it_though_a_leader_had_chosen_it() {
    let queue = queue();
    enter(&queue);
    let (chosen, _) = enter(&queue);
    queue.poison(&cause("it hangs"));
    chosen.tell(Phase::Lead);
    wake([&*chosen]);
    assert_eq!(queue.wait(&chosen, LONG), Ok(Phase::Done));
    assert_eq!(answers(chosen.take()), not_attempted(&cause("it hangs")));
}

#[test]
fn a_group_without_entries_is_not_counted() {
    let queue = queue();
    for entries in [4, 0, 2] {
        enter(&queue);
        queue.take_waiting();
        queue.hand_over(std::iter::empty(), None, entries);
    }
    assert_eq!(queue.counts(), GroupCounts { groups: 2, largest: 4 });
}

// I10
#[test]
fn the_poison_is_there_for_a_leader_to_see() {
    let queue = queue();
    enter(&queue);
    queue.take_waiting();
    assert_eq!(queue.poisoned(), None);
    queue.poison(&cause("it hangs"));
    assert_eq!(queue.poisoned(), Some(cause("it hangs")));
}

#[test]
fn i10_who_was_told_to_lead_and_had_not_begun_does_not_keep_a_poisoned_queue_from_closing() {
    let queue = queue();
    enter(&queue);
    queue.poison(&cause("it hangs"));
    assert_eq!(queue.close(SHORT), Ok(Some(cause("it hangs"))));
}

/// Closes a queue whose leader is at work, and does something once the caller of that waits.
fn while_closing(limit: Duration, then: impl FnOnce(&Queue)) -> Result<Option<Fault>, Fault> {
    let queue = queue();
    enter(&queue);
    queue.take_waiting();
    thread::scope(|scope| {
        let closing = scope.spawn(|| queue.close(limit));
        while !queue.is_closed() {
            thread::yield_now();
        }
        // It is closed under the lock of the state: who has that lock now has it because the other one waits.
        drop(queue.state.lock());
        then(&queue);
        closing.join().unwrap()
    })
}

// I10
#[test]
fn a_leader_that_fails_while_the_queue_is_closed_does_not_hang() {
    let closed = while_closing(LONG, |queue| {
        queue.poison(&cause("it failed"));
        queue.leave();
    });
    assert_eq!(closed, Ok(Some(cause("it failed"))));
}

#[test]
fn a_leader_that_ends_as_the_time_is_up_does_not_hang() {
    // Nobody is woken, so that the time is up before it is seen that the leader has ended.
    let closed = |limit_ms| {
        while_closing(Duration::from_millis(limit_ms), |queue| {
            let mut state = queue.state.lock();
            state.leading = false;
            state.finished = state.finished.wrapping_add(1);
        })
    };
    // With little time it may be up before the leader ends, where threads are slow.
    assert!([5, 50, 500, 5_000].into_iter().any(|limit_ms| closed(limit_ms) == Ok(None)));
}
