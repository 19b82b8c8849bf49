//! What the rig and the program under test share, and the parts of the rig.

pub mod acks;
pub mod child;
pub mod cut;
pub mod damage;
pub mod disk;
pub mod faults;
pub mod files;
pub mod judge;
pub mod kill;
pub mod luck;
pub mod power;
pub mod real;
pub mod retry;
pub mod rig;
pub mod strike;
pub mod tight;
pub mod trace;
pub mod under;
pub mod wider;
pub mod window;
pub mod work;
