//! Writes journal pages from their description alone, so that unsound ones can be laid before a store.
//!
//! It shares no code with the crate: should the bytes on disk ever change, this says so.

use std::collections::BTreeMap;

/// The identity of the store on a simulated disk made with this seed.
pub(super) fn store_id(seed: u64) -> [u8; 16] {
    (u128::from(seed) | 1 << 100).to_be_bytes()
}

/// One entry, as it is written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) operation: u8,
    pub(super) tenant: Vec<u8>,
    pub(super) name: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) points: u64,
    pub(super) balance: u64,
    pub(super) sequence: u64,
    pub(super) memo: Vec<u8>,
    pub(super) place: u64,
    pub(super) list_len: u64,
    pub(super) previous: u64,
    /// Bytes behind the entry that do not belong there.
    pub(super) trailing: Vec<u8>,
}

impl Entry {
    /// A grant that stands alone.
    pub(super) fn grant(
        name: &str,
        key: &str,
        points: u64,
        balance: u64,
        sequence: u64,
        previous: u64,
    ) -> Self {
        Self {
            operation: 1,
            tenant: Vec::new(),
            name: name.into(),
            key: key.into(),
            points,
            balance,
            sequence,
            memo: Vec::new(),
            place: 0,
            list_len: 1,
            previous,
            trailing: Vec::new(),
        }
    }

    /// How many bytes it takes.
    pub(super) fn len(&self) -> usize {
        self.bytes().len()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.operation];
        for text in [&self.tenant, &self.name, &self.key] {
            push_text(&mut bytes, text);
        }
        for number in [self.points, self.balance, self.sequence] {
            push_number(&mut bytes, number);
        }
        push_text(&mut bytes, &self.memo);
        for number in [self.place, self.list_len, self.previous] {
            push_number(&mut bytes, number);
        }
        bytes.extend(&self.trailing);
        bytes
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &[u8]) {
    push_number(bytes, text.len() as u64);
    bytes.extend(text);
}

#[allow(clippy::little_endian_bytes, reason = "the entries' numbers are little-endian")]
fn push_number(bytes: &mut Vec<u8>, number: u64) {
    match number {
        0..=250 => bytes.push(number as u8),
        251..=0xffff => {
            bytes.push(251);
            bytes.extend((number as u16).to_le_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            bytes.push(252);
            bytes.extend((number as u32).to_le_bytes());
        }
        _ => {
            bytes.push(253);
            bytes.extend(number.to_le_bytes());
        }
    }
}

#[allow(clippy::little_endian_bytes, reason = "the entries' numbers are little-endian")]
fn push_wide_number(bytes: &mut Vec<u8>, number: u128) {
    match u64::try_from(number) {
        Ok(number) => push_number(bytes, number),
        Err(_) => {
            bytes.push(254);
            bytes.extend(number.to_le_bytes());
        }
    }
}

fn push_long_number(bytes: &mut Vec<u8>, number: u64) {
    let len = (1..=8).find(|len| *len == 8 || number >> (8 * len) == 0).unwrap();
    let len = if number == 0 { 0 } else { len };
    bytes.push(len as u8);
    bytes.extend(&number.to_be_bytes()[8 - len..]);
}

/// One page, as it is written.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) version: u8,
    pub(super) store: [u8; 16],
    pub(super) first: u64,
    pub(super) group_first: u64,
    pub(super) group_len: u32,
    pub(super) time_ms: u64,
    pub(super) granted: u128,
    pub(super) redeemed: u128,
    pub(super) chain: u32,
    pub(super) entries: Vec<Entry>,
    /// Where the entries end, if that is not to be the truth.
    pub(super) table: Option<Vec<u16>>,
}

impl Page {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.version];
        bytes.extend(&self.store[12..]);
        bytes.extend(self.chain.to_be_bytes());
        for number in [self.entries.len() as u64, self.group_first, self.group_len.into()] {
            push_number(&mut bytes, number);
        }
        push_long_number(&mut bytes, self.time_ms);
        push_wide_number(&mut bytes, self.granted);
        push_wide_number(&mut bytes, self.redeemed);
        let fixed_len = bytes.len() + 4;
        let mut end = 0_u16;
        let mut next_end = |entry: &Entry| {
            end += entry.bytes().len() as u16;
            end
        };
        let ends: Vec<u16> = self.entries.iter().map(&mut next_end).collect();
        for end in self.table.as_ref().unwrap_or(&ends) {
            bytes.extend(end.to_be_bytes());
        }
        bytes.extend(self.entry_bytes());
        bytes.extend([0; 4]);
        assert!(self.table.is_some() || bytes.len() == fixed_len + 2 * ends.len() + usize::from(end));
        reseal(self.first, &mut bytes);
        bytes
    }

    fn entry_bytes(&self) -> Vec<u8> {
        self.entries.iter().flat_map(Entry::bytes).collect()
    }
}

/// Puts the checksum right that ends a page; what is too short for one is left alone.
pub(super) fn reseal(first: u64, page: &mut [u8]) {
    let Some((body, crc)) = page.split_last_chunk_mut::<4>() else { return };
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&first.to_be_bytes());
    hasher.update(body);
    *crc = hasher.finalize().to_be_bytes();
}

/// A journal of groups of one page each, sound if its entries are.
pub(super) fn journal(seed: u64, groups: Vec<Vec<Entry>>) -> Vec<Page> {
    let (mut next, mut granted, mut redeemed) = (1, 0, 0);
    let mut pages = Vec::new();
    for (index, entries) in groups.into_iter().enumerate() {
        let len = entries.len() as u32;
        pages.push(Page {
            version: 1,
            store: store_id(seed),
            first: next,
            group_first: next,
            group_len: len,
            time_ms: 1_000 + index as u64,
            granted,
            redeemed,
            chain: 0,
            entries: entries.clone(),
            table: None,
        });
        for entry in entries {
            *(if entry.operation == 2 { &mut redeemed } else { &mut granted }) += u128::from(entry.points);
        }
        next += u64::from(len);
    }
    rechain(seed, &mut pages);
    pages
}

/// Puts the chain right over all pages.
pub(super) fn rechain(seed: u64, pages: &mut [Page]) {
    rechain_for(store_id(seed), pages);
}

/// The same for a store of any identity.
pub(super) fn rechain_for(store: [u8; 16], pages: &mut [Page]) {
    let mut chain = crc32fast::hash(&store);
    for page in pages {
        page.chain = chain;
        let mut hasher = crc32fast::Hasher::new_with_initial(chain);
        hasher.update(&page.entry_bytes());
        chain = hasher.finalize();
    }
}

/// The bytes of pages, for a disk.
pub(super) fn written(pages: &[Page]) -> BTreeMap<u64, Vec<u8>> {
    pages.iter().map(|page| (page.first, page.bytes())).collect()
}
