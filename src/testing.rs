//! For tests of programs that use this crate: a disk in memory that fails on cue.
//!
//! Behind the feature `testing`; nothing for production.

pub use crate::engine::sim::{Failure, SimDisk, Step, Unsynced};
#[doc(hidden)]
pub use crate::journal::recheck::decode_page;
