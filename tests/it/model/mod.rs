//! An independent judge of the ledger, and a driver that has it judge a real store.
//!
//! `op` is what may be asked, as plain data. `judge` predicts every answer and everything that can be read;
//! it uses nothing of the crate. `seen` puts requests to a store and turns what it answers into plain data.
//! `world` runs operations on a store and holds the two against each other.

mod judge;
mod op;
mod seen;
mod world;

pub(crate) use judge::{Dump, Model};
pub(crate) use op::{Change, Cmd, Draft, Look, No, Op, Reply, Request};
pub(crate) use seen::{dump, submit};
pub(crate) use world::World;
