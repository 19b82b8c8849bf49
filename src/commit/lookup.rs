//! Finding entries: from a key or a number to the page that holds them (I1, I8).
//!
//! A hash only says where to look; the entry itself decides. A page that cannot be read is an error for the
//! one who asked, and never means that a key is unused.

use crate::engine::Engine;
use crate::error::ReadError;
use crate::index::Index;
use crate::journal::{Page, Row};
use crate::types::{AccountId, Entry, IdempotencyKey, Operation};

/// Where the entry of a key may be: numbers, each with the first number of its page.
///
/// Taken from the published state, and used after letting go of it: what is published stays where it is.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<(u64, Option<u64>)>);

impl Places {
    /// Those of the keys with this hash.
    pub(crate) fn of(index: &Index, receipt_hash: u64) -> Self {
        Self(index.receipts.candidates(receipt_hash).map(|n| (n, index.pages.page_of(n))).collect())
    }

    /// Whether there are none, and the key is new.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the entry of a key, if one of these places has it; where there is no place, the key is not used.
    pub(crate) fn read(
        &self,
        engine: &dyn Engine,
        account: &AccountId,
        operation: Operation,
        key: &IdempotencyKey,
    ) -> Result<Option<Entry>, ReadError> {
        let (tenant, name) = account.parts();
        let is_it = |row: &Row<'_>| {
            row.operation == operation.code()
                && row.key == key.as_str()
                && row.name == name
                && row.tenant == tenant
        };
        for (number, first) in &self.0 {
            if let Some(entry) = read_entry(engine, *first, *number, is_it)? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

/// Reads the entry with a number that was given out, from the page that begins at `first`, if it is wanted.
fn read_entry(
    engine: &dyn Engine,
    first: Option<u64>,
    number: u64,
    wanted: impl Fn(&Row<'_>) -> bool,
) -> Result<Option<Entry>, ReadError> {
    let first = first.ok_or_else(|| ReadError::corrupt(number, "no page holds the entry"))?;
    read_page(engine, first, number, |page| match page.row_numbered(number) {
        Some(Ok(row)) if !wanted(&row) => Ok(None),
        _ => entry_in(page, number).map(Some),
    })
}

/// The entry with a number in the page that should hold it.
pub(crate) fn entry_in(page: &Page<'_>, number: u64) -> Result<Entry, ReadError> {
    page.row_numbered(number)
        .ok_or_else(|| ReadError::corrupt(number, "the page ends before the entry"))?
        .and_then(|row| row.to_entry(number, page.header().time))
        .map_err(|error| ReadError::corrupt(number, &error.to_string()))
}

/// Reads a page; `number` is the entry it is read for, and is named in an error.
pub(crate) fn read_page<T>(
    engine: &dyn Engine,
    first: u64,
    number: u64,
    take: impl FnOnce(&Page<'_>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let store = engine.store();
    read_bytes(engine, first, number, |bytes| match Page::parse(store, first, bytes) {
        Ok(page) => take(&page),
        Err(error) => Err(ReadError::corrupt(number, &error.to_string())),
    })
}

/// The same, with the page as the bytes it is.
pub(crate) fn read_bytes<T>(
    engine: &dyn Engine,
    first: u64,
    number: u64,
    take: impl FnOnce(&[u8]) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let mut take = Some(take);
    let mut taken = None;
    engine.page(first, &mut |bytes| taken = take.take().map(|take| take(bytes))).map_err(|fault| {
        match fault.io_kind() {
            Some(_) => ReadError::Io(fault),
            // The engine read something, and could not make sense of it.
            None => ReadError::corrupt(number, &fault.to_string()),
        }
    })?;
    taken.unwrap_or_else(|| Err(ReadError::corrupt(number, "the page is missing")))
}

#[cfg(test)]
mod tests;
