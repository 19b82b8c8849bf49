//! What is traced of retries: an event an attempt, one at the end, no names.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use pointstore::ErrorKind;
use pointstore::PointStore;
use pointstore::retry::RetryPolicy;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::{SECOND, Time, script};
use crate::cases::redeem;

/// Writes down every event.
#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What is told while something runs.
fn told(run: impl FnOnce()) -> String {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), run);
    let lines = lines.0.lock().unwrap();
    lines.join("\n")
}

/// A policy that waits only as long as it is told to.
fn policy(attempts: u32) -> RetryPolicy {
    RetryPolicy::builder().first_delay(std::time::Duration::ZERO).attempts(attempts).build().unwrap()
}

#[test]
fn each_attempt_is_an_event_with_the_wait_after_it_and_the_end_is_one() {
    let told = told(|| {
        let answers = [super::Answer::hinting(2 * SECOND), ErrorKind::OutcomeUnknown.into()];
        Time::new().retrier(&policy(8)).run(script(answers)).unwrap();
    });
    insta::assert_snapshot!(told, @r#"
    DEBUG message=attempt attempt=1 answer=busy delay_ms=2000
    DEBUG message=attempt attempt=2 answer=outcome_unknown delay_ms=0
    DEBUG message=attempt attempt=3 answer="ok"
    DEBUG message=succeeded attempts=3 delay_ms=2000 elapsed_ms=2000
    "#);
}

#[test]
fn giving_up_is_a_warning_and_says_why() {
    let told = told(|| {
        Time::new().retrier(&policy(2)).run(script([ErrorKind::Busy, ErrorKind::Busy])).unwrap_err();
    });
    insta::assert_snapshot!(told, @r#"
    DEBUG message=attempt attempt=1 answer=busy delay_ms=0
    DEBUG message=attempt attempt=2 answer=busy
    WARN message=gave up attempts=2 delay_ms=0 elapsed_ms=0 outcome_is_unknown=false reason="attempts"
    "#);
}

#[test]
fn a_refusal_is_no_warning_and_no_name_or_key_is_told() {
    let store = PointStore::temporary().unwrap();
    let told = told(|| {
        policy(3).apply(&store, &redeem("secret-account", "secret-key", 1)).unwrap_err();
    });
    assert!(
        told.starts_with("DEBUG message=attempt attempt=1 answer=rejected\nDEBUG message=gave up"),
        "{told}"
    );
    assert!(!told.contains("secret"), "{told}");
}
