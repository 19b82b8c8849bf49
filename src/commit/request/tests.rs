//! A request by itself: which answers are given, kept and taken back when a group fails (I6, I10).

use super::*;
use crate::error::Fault;
use crate::types::{Points, Receipt, ReceiptParts};

fn prepared(key: &str) -> Prepared {
    let command = Command::grant("a".parse().unwrap(), key.parse().unwrap(), Points::MIN);
    Prepared::new(&command, &KeyHasher::default())
}

fn three() -> Work {
    Work::Each(Each::new(["k1", "k2", "k3"].map(prepared).into()))
}

fn list() -> Work {
    Work::Atomic(Atomic::new(["k1", "k2"].map(prepared).into()))
}

fn applied(number: u64) -> Outcome {
    Outcome::Applied(Receipt::from_parts(ReceiptParts { number, ..ReceiptParts::sample() }))
}

/// Answers what comes next, and says which key it has.
fn answer(work: &mut Work, number: u64) -> Option<String> {
    let Work::Each(each) = work else { panic!("it is a list") };
    let key = each.next()?.command.key().as_str().to_owned();
    each.answer(Ok(applied(number)));
    Some(key)
}

fn answers(work: Work) -> Vec<Result<Outcome, ApplyError>> {
    let Work::Each(each) = work else { panic!("it is a list") };
    each.into_answers()
}

fn list_answer(work: Work) -> Result<Vec<Outcome>, AtomicError> {
    let Work::Atomic(atomic) = work else { panic!("it is no list") };
    atomic.into_answer()
}

/// A list whose commands were applied.
fn applied_list() -> Work {
    let Work::Atomic(mut atomic) = list() else { panic!("it is no list") };
    atomic.answer = Some(Ok(vec![applied(1), applied(2)]));
    Work::Atomic(atomic)
}

fn of_the_list(error: &StorageError) -> AtomicError {
    AtomicError::new(None, error.clone())
}

#[test]
fn commands_are_answered_in_order_until_each_has_an_answer() {
    let mut work = three();
    for (number, key) in (1..).zip(["k1", "k2", "k3"]) {
        assert_eq!(answer(&mut work, number).as_deref(), Some(key));
    }
    assert_eq!(answer(&mut work, 4), None);
    assert_eq!(work.progress(), 3);
    assert_eq!(answers(work), [Ok(applied(1)), Ok(applied(2)), Ok(applied(3))]);
}

// I6: what was answered in an earlier group is durable.
#[test]
fn what_was_answered_before_the_group_is_not_taken_back() {
    let unknown = StorageError::OutcomeUnknown(Fault::new("the sync failed"));
    let mut work = three();
    answer(&mut work, 1);
    let before = work.progress();
    answer(&mut work, 2);
    work.take_back(before, &unknown);
    assert_eq!(work.progress(), 2, "what has no answer gets none");
    assert_eq!(answers(work), [Ok(applied(1)), Err(unknown.into())]);
}

#[test]
fn giving_up_answers_only_what_has_no_answer() {
    let closed = StorageError::Closed;
    let mut work = three();
    answer(&mut work, 1);
    work.give_up(&closed);
    work.give_up(&StorageError::NotAttempted(Fault::new("it is late")));
    assert_eq!(answers(work), [Ok(applied(1)), Err(closed.clone().into()), Err(closed.into())]);
}

#[test]
fn a_list_is_taken_back_and_given_up_as_a_whole() {
    let unknown = StorageError::OutcomeUnknown(Fault::new("the sync failed"));
    let mut work = applied_list();
    work.take_back(0, &unknown);
    work.give_up(&StorageError::Closed);
    assert_eq!(list_answer(work), Err(of_the_list(&unknown)));

    let mut work = applied_list();
    assert_eq!(work.progress(), 0, "however much is answered, all of it is taken back");
    work.give_up(&StorageError::Closed);
    assert_eq!(list_answer(work), Ok(vec![applied(1), applied(2)]));

    let mut work = list();
    work.take_back(0, &unknown);
    work.give_up(&StorageError::Closed);
    assert_eq!(list_answer(work), Err(of_the_list(&StorageError::Closed)), "there was nothing to take back");
}

#[test]
fn a_list_without_an_answer_is_an_error() {
    let error = list_answer(list()).expect_err("nobody decided it");
    assert_eq!(error.error(), &super::super::not_attempted("the list got no answer"));
}

#[test]
fn a_shape_is_answered_with_one_error_for_each_command() {
    let closed = StorageError::Closed;
    assert_eq!(answers(three().shape().answered(&closed)), vec![Err(closed.clone().into()); 3]);
    assert_eq!(list_answer(list().shape().answered(&closed)), Err(of_the_list(&closed)));
}
