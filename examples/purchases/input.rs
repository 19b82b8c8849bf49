//! The file: every line of it, as a grant or as a refusal with its line number.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder, Terminator};
use pointstore::{AccountId, Command};

use super::purchase::{self, COLUMNS, Reason};

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// The grants, with the lines they stand on.
    pub(crate) grants: Vec<(u64, Command)>,
    /// The lines that grant nothing, by why.
    pub(crate) refused: BTreeMap<Reason, Vec<u64>>,
}

impl Input {
    /// Reads a file to its end. A line of it is a purchase; a quote does not reach over its end.
    pub(crate) fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let shown = path.display();
        let file = File::open(path).map_err(|error| format!("cannot open {shown}: {error}"))?;
        let mut file = BufReader::new(file);
        let mut input = Self::default();
        let mut bytes = Vec::new();
        for line in 1_u64.. {
            bytes.clear();
            file.read_until(b'\n', &mut bytes).map_err(|error| format!("cannot read {shown}: {error}"))?;
            let record = split(&bytes)?;
            if line == 1 && record != *COLUMNS.as_slice() {
                return Err(format!("{shown} does not begin with the line {}", COLUMNS.join(",")).into());
            }
            if bytes.is_empty() {
                break;
            }
            if line == 1 || record.is_empty() {
                continue;
            }
            match checked(&bytes, &record) {
                Ok(command) => input.grants.push((line, command)),
                Err(reason) => input.refused.entry(reason).or_default().push(line),
            }
        }
        Ok(input)
    }

    /// How many lines grant nothing.
    pub(crate) fn refused_len(&self) -> usize {
        self.refused.values().map(Vec::len).sum()
    }

    /// The grants in so many parts. All of an account are in one part and in their order.
    pub(crate) fn parts(&self, len: usize) -> Vec<Vec<usize>> {
        let mut part_of: BTreeMap<&AccountId, usize> = BTreeMap::new();
        let mut parts = vec![Vec::new(); len];
        for (place, (_, command)) in self.grants.iter().enumerate() {
            let next = part_of.len().checked_rem(len).unwrap_or(0);
            let part = *part_of.entry(command.account()).or_insert(next);
            if let Some(part) = parts.get_mut(part) {
                part.push(place);
            }
        }
        parts
    }
}

/// The fields of a line; none where it is blank.
fn split(line: &[u8]) -> Result<ByteRecord, csv::Error> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut record = ByteRecord::new();
    ReaderBuilder::new()
        .has_headers(false)
        .terminator(Terminator::Any(b'\n'))
        .buffer_capacity(line.len().max(1))
        .from_reader(line)
        .read_byte_record(&mut record)?;
    Ok(record)
}

fn checked(line: &[u8], record: &ByteRecord) -> Result<Command, Reason> {
    let quotes = line.iter().filter(|byte| **byte == b'"').count();
    if !quotes.is_multiple_of(2) {
        return Err(Reason::Malformed("has a quote that is not closed".into()));
    }
    purchase::grant(record)
}
