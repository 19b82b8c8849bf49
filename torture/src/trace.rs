//! What the shim recorded: the file calls of some processes, in the one order in which they were made.

use std::fs;
use std::path::Path;

/// One call, or something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Another process begins; identities start anew.
    Process,
    Open {
        id: u64,
        path: String,
        folder: bool,
        made: bool,
        emptied: bool,
    },
    /// `positioned`: by pwrite, as sled does; what is copied goes by plain writes.
    Write {
        id: u64,
        at: u64,
        data: Vec<u8>,
        positioned: bool,
    },
    Truncate {
        id: u64,
        len: u64,
    },
    Sync {
        id: u64,
        call: String,
    },
    /// A sync that failed: what it was to sync may never reach the disk, and look as if it had.
    SyncFailed {
        id: u64,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    MakeFolder {
        path: String,
    },
    Read,
    Said(Vec<u8>),
    /// The fault that was asked for happened here.
    Fault(String),
}

/// Reads a record. What stands at its end may be cut off, where the process was killed.
pub fn read(path: &Path) -> Result<Vec<Op>, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut rest = &bytes[..];
    let mut ops = Vec::new();
    while let Some((head, behind)) = rest.split_at_checked(33) {
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let (id, offset, len) = (number(1), number(9), number(17) as usize);
        let Some((data, behind)) = behind.split_at_checked(len) else { break };
        rest = behind;
        let text = || String::from_utf8_lossy(data).into_owned();
        ops.push(match head[0] {
            b'N' => Op::Process,
            b'O' => Op::Open {
                id,
                path: text(),
                folder: offset & 1 != 0,
                made: offset & 2 != 0,
                emptied: offset & 4 != 0,
            },
            kind @ (b'W' | b'w') => {
                Op::Write { id, at: offset, data: data.to_vec(), positioned: kind == b'W' }
            }
            b'T' => Op::Truncate { id, len: offset },
            b'S' => Op::Sync { id, call: text() },
            b'F' => Op::SyncFailed { id },
            b'R' => {
                let both = text();
                let (from, to) = both.split_once('\n').ok_or("a rename without a target")?;
                Op::Rename { from: from.into(), to: to.into() }
            }
            b'U' => Op::Remove { path: text() },
            b'M' => Op::MakeFolder { path: text() },
            b'p' => Op::Read,
            b'A' => Op::Said(data.to_vec()),
            b'!' => Op::Fault(text()),
            other => return Err(format!("no such record: {other}")),
        });
    }
    Ok(ops)
}

/// How many calls of each kind there are that a fault can meet, by the names the shim knows.
pub fn counts(ops: &[Op]) -> Vec<(&'static str, u64)> {
    let count = |is: fn(&Op) -> bool| ops.iter().filter(|op| is(op)).count() as u64;
    vec![
        ("write", count(|op| matches!(op, Op::Write { positioned: false, .. }))),
        ("pwrite64", count(|op| matches!(op, Op::Write { positioned: true, .. }))),
        ("fsync", count(|op| matches!(op, Op::Sync { call, .. } if call == "fsync"))),
        ("fdatasync", count(|op| matches!(op, Op::Sync { call, .. } if call == "fdatasync"))),
        ("sync_file_range", count(|op| matches!(op, Op::Write { positioned: true, .. }))),
        ("ftruncate", count(|op| matches!(op, Op::Truncate { .. }))),
        ("open", count(|op| matches!(op, Op::Open { .. }))),
        ("rename", count(|op| matches!(op, Op::Rename { .. }))),
        ("unlink", count(|op| matches!(op, Op::Remove { .. }))),
        ("mkdir", count(|op| matches!(op, Op::MakeFolder { .. }))),
        ("pread64", count(|op| matches!(op, Op::Read))),
        ("read", count(|op| matches!(op, Op::Read))),
    ]
}
