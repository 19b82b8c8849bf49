//! The small files of a directory: a line for people and programs, with its checksum (I11).

use std::fs::File;
use std::io;
use std::path::Path;

use super::files::fault;
use crate::error::OpenError;
use crate::journal::StoreId;

/// Reads a file that is small by right; one that is not is cut, and so found to be damaged.
pub(super) fn read_small(path: &Path) -> Result<Option<Vec<u8>>, OpenError> {
    use std::io::Read;
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(OpenError::Io(fault("read", path, &error))),
    }
}

/// A line for people and programs: what it is, its fields, and a checksum.
pub(super) fn seal(kind: &str, fields: &[String]) -> String {
    let body = format!("pointstore {kind} {}", fields.join(" "));
    format!("{body} {:08x}\n", crc32fast::hash(body.as_bytes()))
}

pub(super) fn unseal<'a>(kind: &str, bytes: &'a [u8]) -> Option<Vec<&'a str>> {
    let line = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let (body, crc) = line.rsplit_once(' ')?;
    if crc != format!("{:08x}", crc32fast::hash(body.as_bytes())) {
        return None;
    }
    let fields = body.strip_prefix("pointstore ")?.strip_prefix(kind)?.strip_prefix(' ')?;
    Some(fields.split(' ').collect())
}

pub(super) fn store_text(store: StoreId) -> String {
    format!("{:032x}", u128::from_be_bytes(store.0))
}

pub(super) fn parse_store(text: &str) -> Option<StoreId> {
    let store = StoreId(u128::from_str_radix(text, 16).ok()?.to_be_bytes());
    (store_text(store) == text).then_some(store)
}
