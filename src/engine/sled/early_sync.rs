//! Syncs the log of a copy while the copy is scanned: the disk has nothing else to do then (I7).
//!
//! Nothing rests on it. The copy counts only after `accept` has synced all of it once more; by then there is little
//! left to write.

use std::fs::File;
use std::path::Path;
use std::thread::{self, JoinHandle};

use super::files::fault;
use crate::error::Fault;

/// A sync that is under way.
#[derive(Debug)]
pub(super) struct EarlySync(JoinHandle<Result<(), Fault>>);

impl EarlySync {
    /// Begins it; `None` where no thread can be had.
    pub(super) fn start(log: &Path) -> Option<Self> {
        let path = log.to_path_buf();
        let sync = move || {
            let log = File::options().read(true).write(true).open(&path);
            log.and_then(|log| log.sync_data()).map_err(|error| fault("sync", &path, &error))
        };
        thread::Builder::new().name("pointstore-sync".into()).spawn(sync).ok().map(Self)
    }

    /// Waits for its end. An error must stop the copy from counting: the system tells it only once.
    pub(super) fn finish(self) -> Result<(), Fault> {
        self.0.join().unwrap_or_else(|_| Err(Fault::new("the sync of the copy panicked")))
    }
}
