//! A disk that loses power: what is durable, what is only written, and what may be left of that.
//!
//! A write is durable once its file was synced after it; a name, once its folder was. `cut` says what may be left of
//! everything else.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use crate::trace::Op;

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write { at: u64, data: Vec<u8> },
    Len(u64),
}

#[derive(Clone, Debug)]
pub(crate) enum Naming {
    Set(String, usize),
    Gone(String),
    Move { from: String, to: String, node: usize },
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    File { durable: Vec<u8>, pending: Vec<Change> },
    Folder { durable: BTreeMap<String, usize>, now: BTreeMap<String, usize>, pending: Vec<Naming> },
}

/// The disk while a record is played back.
#[derive(Clone, Debug)]
pub struct Disk {
    root: String,
    pub(crate) nodes: Vec<Node>,
    open: HashMap<u64, usize>,
}

fn folder(entries: BTreeMap<String, usize>) -> Node {
    Node::Folder { now: entries.clone(), durable: entries, pending: Vec::new() }
}

impl Disk {
    /// A disk that holds durably what is below `root` now.
    pub fn load(root: &Path) -> io::Result<Self> {
        let mut disk = Self {
            root: root.display().to_string(),
            nodes: vec![folder(BTreeMap::new())],
            open: HashMap::new(),
        };
        disk.nodes[0] = folder(disk.load_folder(root)?);
        Ok(disk)
    }

    /// The same disk, under another path.
    pub fn at(mut self, root: &Path) -> Self {
        self.root = root.display().to_string();
        self
    }

    fn load_folder(&mut self, path: &Path) -> io::Result<BTreeMap<String, usize>> {
        let mut entries = BTreeMap::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let node = if entry.file_type()?.is_dir() {
                folder(self.load_folder(&entry.path())?)
            } else {
                Node::File { durable: fs::read(entry.path())?, pending: Vec::new() }
            };
            self.nodes.push(node);
            entries.insert(entry.file_name().to_string_lossy().into_owned(), self.nodes.len() - 1);
        }
        Ok(entries)
    }

    /// The node of a path's folder, and the path's last name.
    fn place<'a>(&self, path: &'a str) -> Result<(usize, &'a str), String> {
        let below = path.strip_prefix(&self.root).ok_or_else(|| format!("not on the disk: {path}"))?;
        let (parents, name) = below.rsplit_once('/').unwrap_or(("", ""));
        let mut node = 0;
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            node = self.child(node, part).ok_or_else(|| format!("no folder: {path}"))?;
        }
        Ok((node, name))
    }

    fn child(&self, node: usize, name: &str) -> Option<usize> {
        match &self.nodes[node] {
            Node::Folder { now, .. } => now.get(name).copied(),
            Node::File { .. } => None,
        }
    }

    fn name(&mut self, node: usize, naming: Naming) {
        if let Node::Folder { now, pending, .. } = &mut self.nodes[node] {
            apply_name(now, &naming);
            pending.push(naming);
        }
    }

    fn change(&mut self, id: u64, change: Change) -> Result<(), String> {
        let node = *self.open.get(&id).ok_or("written through nothing that was opened")?;
        match &mut self.nodes[node] {
            Node::File { pending, .. } => pending.push(change),
            Node::Folder { .. } => return Err("a folder was written".into()),
        }
        Ok(())
    }

    /// Plays back one call.
    pub fn play(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Process => self.open.clear(),
            Op::Open { id, path, folder: is_folder, made, emptied } => {
                let (parent, name) = self.place(path)?;
                let node = if name.is_empty() { Some(parent) } else { self.child(parent, name) };
                let node = match node {
                    Some(node) if !made => node,
                    _ if *is_folder => return Err(format!("unknown folder: {path}")),
                    _ => {
                        self.nodes.push(Node::File { durable: Vec::new(), pending: Vec::new() });
                        let node = self.nodes.len() - 1;
                        self.name(parent, Naming::Set(name.into(), node));
                        node
                    }
                };
                self.open.insert(*id, node);
                if *emptied {
                    self.change(*id, Change::Len(0))?;
                }
            }
            Op::Write { id, at, data, .. } => {
                self.change(*id, Change::Write { at: *at, data: data.clone() })?
            }
            Op::Truncate { id, len } => self.change(*id, Change::Len(*len))?,
            Op::Sync { id, .. } => match self.open.get(id).map(|node| &mut self.nodes[*node]) {
                Some(Node::File { durable, pending }) => {
                    pending.drain(..).for_each(|change| apply(durable, &change));
                }
                Some(Node::Folder { durable, now, pending }) => {
                    pending.clear();
                    durable.clone_from(now);
                }
                None => return Err("synced through nothing that was opened".into()),
            },
            // The pages look clean from now on, and never reach the disk.
            Op::SyncFailed { id } => {
                if let Some(Node::File { pending, .. }) = self.open.get(id).map(|node| &mut self.nodes[*node])
                {
                    pending.clear();
                }
            }
            Op::Rename { from, to } => {
                let ((parent, from), (target, to)) = (self.place(from)?, self.place(to)?);
                let node = self.child(parent, from).ok_or_else(|| format!("renamed from nothing: {from}"))?;
                if parent != target {
                    return Err(format!("renamed into another folder: {to}"));
                }
                self.name(parent, Naming::Move { from: from.into(), to: to.into(), node });
            }
            Op::Remove { path } => {
                let (parent, name) = self.place(path)?;
                self.name(parent, Naming::Gone(name.into()));
            }
            Op::MakeFolder { path } => {
                let (parent, name) = self.place(path)?;
                self.nodes.push(folder(BTreeMap::new()));
                let node = self.nodes.len() - 1;
                self.name(parent, Naming::Set(name.into(), node));
            }
            Op::Read | Op::Said(_) | Op::Fault(_) => {}
        }
        Ok(())
    }

    /// How many writes and names are not durable.
    pub fn pending(&self) -> usize {
        let of = |node: &Node| match node {
            Node::File { pending, .. } => pending.len(),
            Node::Folder { pending, .. } => pending.len(),
        };
        self.nodes.iter().map(of).sum()
    }
}

pub(crate) fn apply_name(entries: &mut BTreeMap<String, usize>, naming: &Naming) {
    match naming {
        Naming::Set(name, node) => {
            entries.insert(name.clone(), *node);
        }
        Naming::Gone(name) => {
            entries.remove(name);
        }
        Naming::Move { from, to, node } => {
            entries.remove(from);
            entries.insert(to.clone(), *node);
        }
    }
}

pub(crate) fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Len(len) => bytes.resize(*len as usize, 0),
        Change::Write { at, data } => put(bytes, *at as usize, data),
    }
}

pub(crate) fn put(bytes: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(data);
}
