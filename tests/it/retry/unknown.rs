//! An outcome that is unknown stays so until something settles it.

use pointstore::ErrorKind::{self, *};
use pointstore::retry::{GaveUp, RetryPolicy};

use super::{Time, script};

/// Whether the outcome is unknown after these answers, and the kind that the caller acts on.
fn after(answers: &[ErrorKind]) -> (bool, ErrorKind) {
    let attempts = u32::try_from(answers.len()).unwrap();
    let policy = RetryPolicy::builder().attempts(attempts).build().unwrap();
    let error = Time::new().retrier(&policy).run(script(answers.iter().copied())).unwrap_err();
    assert_eq!(error.attempts(), attempts);
    (error.outcome_is_unknown(), error.kind())
}

#[test]
fn what_fails_later_does_not_settle_an_attempt_that_was_left_open() {
    for later in [Busy, NotAttempted, Unavailable, OutcomeUnknown, Invalid, Closed] {
        assert_eq!(after(&[OutcomeUnknown, later]), (true, OutcomeUnknown), "{later}");
        assert_eq!(after(&[Busy, OutcomeUnknown, Busy, later]), (true, OutcomeUnknown), "{later}");
    }
}

#[test]
fn damage_is_the_kind_whatever_else_is_not_known() {
    assert_eq!(after(&[OutcomeUnknown, Corrupt]), (true, Corrupt));
}

#[test]
fn a_reused_key_settles_it_since_it_is_another_request_for_ever() {
    assert_eq!(after(&[OutcomeUnknown, KeyReused]), (false, KeyReused));
}

#[test]
fn a_rule_that_refuses_settles_nothing_while_an_earlier_attempt_may_be_under_way() {
    // An attempt that is still queued somewhere may succeed once the balance has changed.
    assert_eq!(after(&[OutcomeUnknown, Rejected]), (true, OutcomeUnknown));
}

#[test]
fn where_no_attempt_was_left_open_the_kind_is_that_of_the_last() {
    for kind in [Busy, NotAttempted, Unavailable, Rejected, Invalid] {
        assert_eq!(after(&[Busy, kind]), (false, kind));
    }
}

#[test]
fn a_success_settles_everything() {
    let answer = Time::new().retrier(&RetryPolicy::default()).run(script([OutcomeUnknown, Busy]));
    assert_eq!(answer, Ok(3));
}

#[test]
fn an_answer_that_is_final_says_that_the_outcome_is_unknown_all_the_same() {
    let error =
        Time::new().retrier(&RetryPolicy::default()).run(script([OutcomeUnknown, Rejected])).unwrap_err();
    assert_eq!((error.gave_up(), error.attempts()), (GaveUp::Final, 2));
    assert!(error.outcome_is_unknown());
    assert_eq!(error.error().kind, Rejected);
}
