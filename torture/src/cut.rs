//! What a power cut leaves of a disk.
//!
//! Of what is not durable any part may be there: each write whole, not at all, or some of its sectors; each new name or
//! removal on its own. That is more than real file systems take apart, so what stands here stands there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::disk::{Change, Disk, Node, apply, apply_name, put};
use crate::luck::Luck;

const SECTOR: usize = 512;

/// What is kept of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Everything, as after a kill.
    All,
    /// Nothing.
    None,
    /// Each write and name on its own, by luck.
    Some,
    /// As `Some`, and writes are torn at sectors.
    Torn,
    /// Everything but one write.
    AllButOne,
    /// Only the last few.
    Newest,
    /// Names in the order in which they were made, up to somewhere; writes torn.
    Ordered,
}

impl Keep {
    pub const ALL: [Self; 7] =
        [Self::None, Self::All, Self::Some, Self::Torn, Self::AllButOne, Self::Newest, Self::Ordered];
}

impl Disk {
    /// Writes what a power cut leaves now into an empty folder.
    pub fn cut(&self, keep: Keep, luck: &mut Luck, to: &Path) -> io::Result<()> {
        // Which of all that is pending is the one that is lost, or the first that is kept.
        let chosen = luck.index(self.pending().max(1));
        let mut counted = 0;
        let mut contents: Vec<Option<Vec<u8>>> = vec![None; self.nodes.len()];
        let mut names: Vec<Option<BTreeMap<String, usize>>> = vec![None; self.nodes.len()];
        for (n, node) in self.nodes.iter().enumerate() {
            let mut kept = |luck: &mut Luck| {
                counted += 1;
                match keep {
                    Keep::All => true,
                    Keep::None => false,
                    Keep::Some | Keep::Torn => !luck.once_in(2),
                    Keep::AllButOne => counted - 1 != chosen,
                    Keep::Newest => counted > chosen,
                    Keep::Ordered => !luck.once_in(3),
                }
            };
            match node {
                Node::File { durable, pending } => {
                    let mut bytes = durable.clone();
                    for change in pending {
                        match change {
                            Change::Write { at, data } if matches!(keep, Keep::Torn | Keep::Ordered) => {
                                tear(&mut bytes, *at, data, luck);
                            }
                            change if kept(luck) => apply(&mut bytes, change),
                            _ => {}
                        }
                    }
                    contents[n] = Some(bytes);
                }
                Node::Folder { durable, pending, .. } => {
                    let mut entries = durable.clone();
                    let end =
                        if keep == Keep::Ordered { luck.index(pending.len() + 1) } else { pending.len() };
                    for naming in &pending[..end] {
                        if keep == Keep::Ordered || kept(luck) {
                            apply_name(&mut entries, naming);
                        }
                    }
                    names[n] = Some(entries);
                }
            }
        }
        write_out(0, &contents, &names, to)
    }
}

fn write_out(
    node: usize,
    contents: &[Option<Vec<u8>>],
    names: &[Option<BTreeMap<String, usize>>],
    to: &Path,
) -> io::Result<()> {
    if let Some(bytes) = &contents[node] {
        return crate::files::write_sparse(to, bytes);
    }
    fs::create_dir_all(to)?;
    for (name, child) in names[node].iter().flatten() {
        write_out(*child, contents, names, &to.join(name))?;
    }
    Ok(())
}

/// Some sectors of a write; now and then the file grows, and nothing of it is there.
fn tear(bytes: &mut Vec<u8>, at: u64, data: &[u8], luck: &mut Luck) {
    let (start, end) = (at as usize, at as usize + data.len());
    match luck.below(8) {
        0 | 1 => return,
        2 | 3 => return put(bytes, start, data),
        4 if bytes.len() < end => bytes.resize(end, 0),
        _ => {}
    }
    let first_lost = luck.once_in(2);
    let split = start + luck.index(data.len());
    let mut from = start;
    while from < end {
        let to = ((from / SECTOR + 1) * SECTOR).min(end);
        // Either a tear in one place, or each sector by luck.
        let kept = if luck.once_in(2) { (from < split) != first_lost } else { luck.once_in(2) };
        if kept {
            put(bytes, from, &data[from - start..to - start]);
        }
        from = to;
    }
}
