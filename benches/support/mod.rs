//! What the benches share: where they write, what they grant, how they read options and the time.

pub(crate) mod options;
pub(crate) mod samples;
pub(crate) mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pointstore::{Clock, SystemClock};

/// A folder for a bench, on the disk that holds the build: never in memory.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("bench-").tempdir_in(scratch()).unwrap()
}

/// Where benches write.
pub(crate) fn scratch() -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(scratch).unwrap();
    scratch.into()
}

/// The time since some start, never going back.
pub(crate) fn now() -> Duration {
    SystemClock.monotonic()
}

/// How long something takes, and what it gives.
pub(crate) fn timed<T>(act: impl FnOnce() -> T) -> (Duration, T) {
    let start = now();
    let given = act();
    (now() - start, given)
}
