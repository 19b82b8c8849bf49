//! The layers of the sources: a file imports only downwards, and each dependency is named in one place.
//!
//! `contain`, `sync`, `types` ← `limits`, `error`, `observe` ← `rules`, `journal` ← `index`, `engine` ← `commit` ← `store` ← the
//! crate itself ← the fronts, which use nothing below it.

use std::fs;
use std::path::Path;

/// What each layer may import, beside itself.
const ALLOWED: [(&str, &[&str]); 16] = [
    ("contain", &[]),
    ("sync", &[]),
    ("types", &[]),
    ("limits", &["types"]),
    ("error", &["types", "limits"]),
    ("observe", &["contain", "types", "error"]),
    ("rules", &["types", "error", "limits"]),
    ("journal", &["types", "error", "limits"]),
    ("index", &["types", "error", "limits", "rules", "journal"]),
    ("engine", &["contain", "sync", "types", "error", "limits", "journal"]),
    (
        "commit",
        &["contain", "sync", "types", "error", "limits", "observe", "rules", "journal", "index", "engine"],
    ),
    // Simulated disks are the engine's, under a public name.
    (
        "store",
        &[
            "contain", "types", "error", "limits", "observe", "rules", "journal", "index", "engine",
            "commit", "testing",
        ],
    ),
    ("testing", &["types", "engine", "journal"]),
    // In front of the store: what `lib.rs` gives to everyone, and nothing else.
    ("metrics", &[PUBLIC]),
    ("retry", &[PUBLIC, "metrics"]),
    // What it is to the other fronts it says itself: they know nothing of it. And it runs other people's code, too.
    ("worker", &[PUBLIC, "contain", "testing", "retry", "metrics"]),
];

/// Whatever the crate re-exports at its root: types, told from modules by their first letter.
const PUBLIC: &str = "what is public";

/// Names that only files under a path may use.
const RESERVED: [(&str, &str); 5] = [
    ("bincode", "journal/"),
    ("sled", "engine/sled/"),
    ("SystemTime::now", "types/time.rs"),
    ("Instant::now", "types/time.rs"),
    ("thread::sleep", "engine/sled/database.rs"),
];

/// Crates whose types stay out of public signatures.
const PRIVATE: [&str; 9] = [
    "sled",
    "bincode",
    "parking_lot",
    "shuttle",
    "backon",
    "httpdate",
    "futures_timer",
    "async_channel",
    "futures_channel",
];

#[test]
fn every_file_imports_only_downwards() {
    let (mut files, mut wrong) = (0, Vec::new());
    each_source(Path::new("src"), &mut |path, text| {
        files += 1;
        wrong.extend(violations(path, text));
    });
    assert!(files > 50, "the sources are looked at, files={files}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn each_source(folder: &Path, visit: &mut impl FnMut(&str, &str)) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            each_source(&path, visit);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            visit(path.strip_prefix("src").unwrap().to_str().unwrap(), &text);
        }
    }
}

/// What is wrong with the file at a path below `src`.
fn violations(path: &str, text: &str) -> Vec<String> {
    let code = code_of(text);
    let mut wrong: Vec<String> = Vec::new();
    let layer = path.split(['/', '.']).next().unwrap_or_default();
    if let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == layer) {
        for (at, imported) in imports(path, &code) {
            if imported != layer && !allowed.contains(&imported.as_str()) {
                wrong.push(format!("{path}:{}: {layer} imports {imported}", line_of(&code, at)));
            }
        }
    } else if path != "lib.rs" {
        wrong.push(format!("{path}: a layer that nobody named"));
    }
    for (name, home) in RESERVED {
        if !path.starts_with(home) {
            for at in words(&code, name) {
                // `engine` declares and re-exports its own module of that name.
                let own = name == "sled" && path == "engine/mod.rs" && is_module(&code, at);
                if !own {
                    wrong.push(format!("{path}:{}: names {name}", line_of(&code, at)));
                }
            }
        }
    }
    for (at, signature) in public_signatures(&code) {
        for name in PRIVATE.iter().filter(|name| words(signature, name).next().is_some()) {
            wrong.push(format!("{path}:{}: {name} in a public signature", line_of(&code, at)));
        }
    }
    wrong
}

/// The text with comments, strings and characters blanked, so that places stay what they are.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |end| end + 5)
        } else if c == '"' {
            string_len(rest)
        } else if rest.starts_with("'\"'") || rest.starts_with("'/'") {
            3
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        code.extend(rest[..len].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[len..];
    }
    code
}

fn string_len(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |(at, _)| at + 1)
}

/// The layers that a file names, each with where.
fn imports(path: &str, code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in words(code, "crate") {
        if let Some(rest) = code[at..].strip_prefix("crate::") {
            found.extend(heads(rest).into_iter().map(|head| (at, layer_of(head))));
        }
    }
    // How many folders above a file its layer's own folder is: `super` beyond that is the crate itself. Inside
    // an inline module such as `tests` one more stays inside.
    let depth = path.trim_end_matches("/mod.rs").split('/').count();
    for at in words(code, "super") {
        let supers = code[at..].split("::").take_while(|part| *part == "super").count();
        let inline = usize::from(code[..at].contains("mod tests {"));
        let continued = code[..at].ends_with("::");
        if !continued && supers >= depth + inline {
            let rest = &code[at + supers * "super::".len()..];
            found.extend(heads(rest).into_iter().map(|head| (at, layer_of(head))));
        }
    }
    found
}

/// The layer of a name at the root of the crate; what is re-exported there is no layer.
fn layer_of(name: &str) -> String {
    if name.starts_with(|c: char| c.is_uppercase()) { PUBLIC.to_owned() } else { name.to_owned() }
}

/// The first names behind a path: one, or those of a `{…}` list.
fn heads(rest: &str) -> Vec<&str> {
    let name =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    let Some(list) = rest.strip_prefix('{') else { return vec![&rest[..name(rest)]] };
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    items.into_iter().map(|item| &item[..name(item)]).filter(|item| !item.is_empty()).collect()
}

/// Where a name stands as a word of its own.
fn words<'a>(code: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name)
        .map(|(at, _)| at)
        .filter(move |at| !code[..*at].ends_with(part) && !code[at + name.len()..].starts_with(part))
}

fn is_module(code: &str, at: usize) -> bool {
    code[..at].ends_with("mod ") || code[..at].ends_with("self::")
}

/// Everything between `pub` and the body, value or end of an item; `pub(crate)` and the like are not public.
fn public_signatures(code: &str) -> Vec<(usize, &str)> {
    words(code, "pub")
        .filter(|at| !code[at + 3..].starts_with('('))
        .map(|at| {
            let rest = &code[at..];
            // A structure or enumeration is public to its last field; anything else to its body.
            let whole = ["struct ", "enum ", "trait "].iter().any(|kind| rest[4..].starts_with(kind));
            let end = if whole { item_end(rest) } else { rest.find(['{', ';', '=']).unwrap_or(rest.len()) };
            (at, &rest[..end])
        })
        .map(|(at, signature)| {
            // Private fields of a public structure stay private.
            let is_struct = signature[4..].starts_with("struct ");
            (at, if is_struct { signature.split('{').next().unwrap_or(signature) } else { signature })
        })
        .collect()
}

fn item_end(rest: &str) -> usize {
    let mut depth = 0;
    for (at, c) in rest.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at,
            '}' => depth -= 1,
            ';' if depth == 0 => return at,
            _ => {}
        }
    }
    rest.len()
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

#[test]
fn planted_violations_are_found_and_what_is_allowed_is_not() {
    for (path, text) in [
        ("rules.rs", "use crate::journal::Page;"),
        ("journal/page.rs", "use crate::rules::resolve;"),
        ("journal/page.rs", "use super::super::rules;"),
        ("journal/page.rs", "use crate::{limits::Limits, types::{Entry, Points}, index::Index};"),
        ("index/mod.rs", "fn f() { crate::engine::open() }"),
        ("engine/sled/mod.rs", "use crate::commit::Committer;"),
        ("engine/sled/database.rs", "use super::super::super::store::Builder;"),
        ("engine/mod.rs", "use super::index::Index;"),
        ("commit/queue.rs", "#[cfg(test)] mod tests { use super::super::super::store::PointStore; }"),
        ("limits.rs", "use crate::error::Fault;"),
        ("contain.rs", "use crate::error::Fault;"),
        ("retry/store.rs", "use crate::contain::contain;"),
        ("types/points.rs", "use crate::error::ErrorKind;"),
        ("error/open.rs", "use crate::engine::Found;"),
        ("store/mod.rs", "use crate::worker::Worker;"),
        ("retry/retryable.rs", "use crate::worker::WorkerError;"),
        ("metrics/names.rs", "use crate::worker::WorkerStats;"),
        ("testing/lost_acks.rs", "use crate::store::PointStore;"),
        ("worker/deliver.rs", "use crate::commit::Committer;"),
        ("worker/deliver.rs", "use crate::engine::SimDisk;"),
        ("worker/handle.rs", "use crate::sync::Mutex;"),
        ("worker/handle.rs", "pub fn queue(&self) -> async_channel::Sender<u8> {"),
        ("newcomer/mod.rs", ""),
        ("retry/store.rs", "use crate::store::PointStore;"),
        ("retry/store.rs", "use crate::{PointStore, commit::Committer};"),
        ("commit/mod.rs", "use crate::PointStore;"),
        ("store/open.rs", "use bincode::config;"),
        ("commit/leader.rs", "type T = sled::Tree;"),
        ("engine/mod.rs", "use sled::Db;"),
        ("store/read.rs", "let now = std::time::Instant::now();"),
        ("commit/mod.rs", "let now = SystemTime::now();"),
        ("commit/queue.rs", "std::thread::sleep(limit);"),
        ("store/mod.rs", "pub fn guard(&self) -> parking_lot::MutexGuard<'_, u8> {"),
        ("error/open.rs", "pub enum OpenError { Io(parking_lot::Once) }"),
        ("store/mod.rs", "pub use parking_lot::Mutex;"),
        ("store/mod.rs", "pub struct Guard<'a>(pub parking_lot::MutexGuard<'a, u8>);"),
    ] {
        assert!(!violations(path, text).is_empty(), "{path}: {text}");
    }
    for (path, text) in [
        ("rules.rs", "//! The journal is crate::journal.\nuse crate::types::Entry;"),
        ("store/open.rs", "use crate::{commit, types::{Entry}};\nuse super::builder::Builder;"),
        ("engine/sled/files.rs", "use super::super::Mark; use crate::error::Fault; use sled::Db;"),
        ("commit/queue.rs", "#[cfg(test)] mod tests { use super::super::request::Work; }"),
        ("journal/mod.rs", "#[cfg(test)] mod tests { use super::*; }"),
        ("store/open.rs", "let what = \"sled and bincode\"; // Instant::now"),
        ("store/open.rs", "let sledge = crate::engine::SledEngine::open();"),
        ("store/mod.rs", "pub(crate) fn guard() -> parking_lot::Mutex<u8> {}"),
        ("store/mod.rs", "pub struct Store { inner: parking_lot::Mutex<u8> }"),
        ("store/builder.rs", "use crate::testing::SimDisk;"),
        ("worker/builder.rs", "use crate::testing::LostAcks; use crate::PointStore;"),
        ("worker/retry.rs", "use crate::retry::Retryable;"),
        ("worker/handle.rs", "pub struct Worker { queue: async_channel::Sender<u8> }"),
        ("worker/job.rs", "use crate::contain::contain; use crate::Command;"),
        ("lib.rs", "pub use store::PointStore;"),
        ("retry/store.rs", "use crate::{ApplyError, PointStore}; use super::RetryPolicy;"),
    ] {
        assert_eq!(violations(path, text), Vec::<String>::new(), "{path}: {text}");
    }
}
