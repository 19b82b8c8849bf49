//! Each invariant of the design by its name: the smallest sharp test, or several.
//!
//! What needs the files of a real store is tried elsewhere; here the disk is simulated.

mod answers;
mod audit;
mod bytes;
mod damage;
mod durable;
mod forge;

use pointstore::PointStore;
use pointstore::testing::SimDisk;

/// Opens the store on a disk, with small limits.
fn open(disk: &SimDisk) -> PointStore {
    PointStore::builder().small_limits().open_simulated(disk).unwrap()
}
