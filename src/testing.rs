//! For tests of programs that use this crate: a disk in memory that fails on cue, and answers that get lost.
//!
//! Behind the feature `testing`; nothing for production.

mod lost_acks;

pub use self::lost_acks::LostAcks;
pub use crate::engine::sim::{Failure, SimDisk, Step, Unsynced};
#[doc(hidden)]
pub use crate::journal::recheck::decode_page;
