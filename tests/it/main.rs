//! The crate's integration tests, in one program: a module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::missing_panics_doc,
    reason = "a test that fails is to say so at once"
)]

mod cases;
mod concurrency;
mod crash;
mod directory;
mod examples;
mod golden;
mod histories;
mod invariants;
mod layers;
mod linear;
mod links;
mod metrics;
mod model;
mod observer;
mod retry;
mod worker;
