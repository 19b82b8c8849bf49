//! Retries as metrics, where both features are on; otherwise nothing.

use super::GaveUp;
use crate::ErrorKind;

/// A wait begins, after an error of this kind.
#[cfg(feature = "metrics")]
pub(super) fn retry(kind: ErrorKind) {
    metrics::counter!(crate::metrics::RETRIES.name, "kind" => kind.to_string()).increment(1);
}

/// No further attempt is made.
#[cfg(feature = "metrics")]
pub(super) fn gave_up(reason: GaveUp) {
    if reason.is_exhausted() {
        metrics::counter!(crate::metrics::RETRIES_EXHAUSTED.name, "reason" => reason.word()).increment(1);
    }
}

#[cfg(not(feature = "metrics"))]
pub(super) fn retry(_: ErrorKind) {}

#[cfg(not(feature = "metrics"))]
pub(super) fn gave_up(_: GaveUp) {}
