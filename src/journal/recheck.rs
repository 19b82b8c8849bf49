//! Takes a page apart as far as it goes and puts it together again: for fuzzing (I9). Test builds only.

use super::entry::Row;
use super::page::{self, Page};

/// How many entries these bytes hold as a page under the key `first`, whichever store it is of.
///
/// # Errors
///
/// What is wrong with the bytes, where they are not a page with entries in bounds.
///
/// # Panics
///
/// Where they are, and would not be written as the same bytes again: a page has one spelling.
pub fn decode_page(first: u64, bytes: &[u8]) -> Result<usize, String> {
    let store = page::any_store(bytes);
    let page = Page::parse(store, first, bytes).map_err(|error| error.to_string())?;
    let (mut ends, mut entries) = (Vec::new(), Vec::new());
    for (number, place) in (first..).zip(0..page.len()) {
        let row = page.row(place).ok_or("the page ends before its last entry")?;
        let row = row.map_err(|error| error.to_string())?;
        let entry = row.to_entry(number, page.header().time).map_err(|error| error.to_string())?;
        assert!(Row::of(&entry).encode(&mut entries).is_ok(), "what was decoded cannot be encoded");
        ends.push(u16::try_from(entries.len()).unwrap_or(u16::MAX));
    }
    let again = page::write(store, first, page.header(), &ends, &entries);
    assert_eq!(again, bytes, "what was decoded is encoded otherwise");
    Ok(page.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Chain, GroupHeader, Packer, StoreId};
    use crate::limits::Limits;
    use crate::types::{Entry, Receipt, ReceiptParts, Timestamp};

    // I9
    #[test]
    fn a_packed_page_is_read_whole_and_every_changed_byte_is_refused() {
        let receipt = Receipt::from_parts(ReceiptParts::sample());
        let mut packer = Packer::new(Limits::STANDARD);
        for place in 0..3 {
            packer.push(&Entry { receipt: receipt.clone(), place, list_len: 3, previous: 0 }).unwrap();
        }
        let store = StoreId([7; 16]);
        let (granted, redeemed, time) = (5, 3, Timestamp::from_unix_millis(9));
        let before = GroupHeader { store, first: 41, chain: Chain::seed(store), granted, redeemed, time };
        let (first, page) = packer.finish(&before).pages.pop().unwrap();
        assert_eq!(decode_page(first, &page), Ok(3));
        assert!(decode_page(first + 1, &page).is_err());
        for at in 0..page.len() {
            let mut changed = page.clone();
            changed[at] ^= 1;
            assert!(decode_page(first, &changed).is_err(), "at={at}");
        }
    }
}
