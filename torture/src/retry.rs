//! The judge's second half: everything is asked for again, and nothing may have a second effect (I1, I4).

use std::path::Path;

use pointstore::{ApplyError, AtomicError, Outcome, PointStore};

use crate::acks::{Acks, Answer, receipt_text};
use crate::judge::{Expected, look};
use crate::work::Request;

/// Sends everything again, as far as `depth` says, and looks once more.
pub fn deeper(
    store: PointStore,
    folder: &Path,
    heard: &Acks,
    expected: &Expected,
    depth: &str,
) -> Result<(), String> {
    if depth == "read" {
        return Ok(());
    }
    for run in &heard.runs {
        for (&(thread, step), answers) in &run.answers {
            again(&store, &run.run.request(thread, step), answers)?;
        }
    }
    // Everything acknowledged had its effect before, so that nothing has been added.
    look(&store, expected, None).map_err(|what| format!("after retries: {what}"))?;
    store.verify().map_err(|error| format!("I3: {error:?}"))?;
    store.close().map_err(|error| format!("does not close: {error:?}"))?;
    if depth == "retry" {
        return Ok(());
    }
    let entries = store.position();
    drop(store);
    let store = PointStore::open(folder).map_err(|error| format!("does not open again: {error:?}"))?;
    look(&store, expected, None).map_err(|what| format!("opened again: {what}"))?;
    if store.position() != entries || !store.opened().was_clean() {
        return Err(format!("closed in order, and not the same: {}", store.opened()));
    }
    Ok(())
}

fn again(
    store: &PointStore,
    request: &Request,
    answers: &std::collections::HashMap<usize, Answer>,
) -> Result<(), String> {
    let known = |item: &usize| matches!(answers.get(item), Some(Answer::Done { .. }));
    let commands = request.commands();
    let done: Vec<usize> = (0..commands.len()).filter(known).collect();
    let outcomes: Vec<Result<Outcome, ApplyError>> = match request {
        _ if done.is_empty() => return Ok(()),
        Request::Each(_) => {
            let commands: Vec<_> = done.iter().map(|item| commands[*item].clone()).collect();
            store.apply_each(&commands)
        }
        // A list whose last answers were never heard is asked for as a whole all the same.
        Request::Atomic(list) => match store.apply_atomic(list).map_err(AtomicError::into_error) {
            Ok(outcomes) => done.iter().map(|item| Ok(outcomes[*item].clone())).collect(),
            Err(error) => return Err(format!("I4: a retry is refused: {error:?}")),
        },
    };
    for (item, outcome) in done.iter().zip(outcomes) {
        let outcome = outcome.map_err(|error| format!("I4: a retry is refused: {error:?}"))?;
        let Some(Answer::Done { receipt, .. }) = answers.get(item) else { continue };
        if !outcome.is_replay() {
            return Err(format!("I1: applied once more: {receipt}"));
        }
        if receipt_text(outcome.receipt()) != *receipt {
            return Err(format!("I4: {receipt} and later {:?}", outcome.receipt()));
        }
    }
    Ok(())
}
