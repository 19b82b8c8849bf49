//! Any bytes as a journal page: refused or read, and what is read is written as the same bytes again (I9).
//!
//! An input is the number of the page's first entry, big-endian, and the page without its checksum. It is tried
//! as it stands, and with the checksum that belongs to it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pointstore::testing::decode_page;

fuzz_target!(|input: &[u8]| {
    let Some((number, page)) = input.split_first_chunk() else { return };
    let first = u64::from_be_bytes(*number);
    // Nothing is asked of the answers: a panic, a long run or much memory is what fails.
    let _ = decode_page(first, page);
    let sealed = [page, &crc32fast::hash(input).to_be_bytes()].concat();
    let _ = decode_page(first, &sealed);
});
