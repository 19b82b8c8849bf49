//! An embedded, transactional points ledger that makes retries safe.

pub mod types;
