//! What an entry is written as, and what is refused.

use super::*;

const NUMBER: u64 = 41;

fn entry() -> Entry {
    let receipt = Receipt::from_parts(ReceiptParts::sample());
    Entry { receipt, place: 2, list_len: 5, previous: 300 }
}

fn encoded(row: &Row<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    row.encode(&mut bytes).unwrap();
    bytes
}

/// A number as bincode spells it in `width` bytes, which may be more than it takes.
fn spelled(value: u64, width: usize) -> Vec<u8> {
    let le = value.to_le_bytes();
    match width {
        1 => vec![le[0]],
        3 => [&[251], &le[..2]].concat(),
        5 => [&[252], &le[..4]].concat(),
        _ => [&[253], &le[..]].concat(),
    }
}

/// The sample's bytes, each of its parts by itself: texts as length and content.
fn parts() -> Vec<Vec<u8>> {
    let text = |text: &str| [&spelled(text.len() as u64, 1), text.as_bytes()].concat();
    vec![
        vec![1],
        text("shop-7"),
        text("ada"),
        text("order-99"),
        spelled(500, 3),
        spelled(700, 3),
        spelled(3, 1),
        text("socks"),
        spelled(2, 1),
        spelled(5, 1),
        spelled(300, 3),
    ]
}

#[test]
fn an_entry_is_written_as_it_always_was() {
    let bytes = encoded(&Row::of(&entry()));
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "010673686f702d3703616461086f726465722d3939fbf401fbbc020305736f636b730205fb2c01");
    assert_eq!(bytes, parts().concat());
}

#[test]
fn an_entry_reads_back_as_it_was_written() {
    let entry = entry();
    let bytes = encoded(&Row::of(&entry));
    let row = Row::decode(&bytes).unwrap();
    assert_eq!(row.to_entry(NUMBER, entry.receipt.recorded_at()), Ok(entry));
}

#[test]
fn the_longest_entry_has_the_length_that_pages_are_reckoned_with() {
    let (tenant, name) = ("t".repeat(AccountId::TENANT_MAX), "n".repeat(AccountId::NAME_MAX));
    let (key, memo) = ("k".repeat(IdempotencyKey::MAX), "m".repeat(Memo::MAX));
    let (points, big) = (i64::MAX.unsigned_abs(), u64::MAX);
    let row = Row {
        operation: 1,
        tenant: &tenant,
        name: &name,
        key: &key,
        points,
        balance_after: points,
        sequence: big,
        memo: &memo,
        place: u32::MAX,
        list_len: u32::MAX,
        previous: big,
    };
    let bytes = encoded(&row);
    assert!(bytes.len() + crate::limits::OFFSET_LEN <= ENTRY_LEN_MAX);
    assert_eq!(Row::decode(&bytes), Ok(row));
}

#[test]
fn a_row_is_read_as_bincode_reads_it() {
    let numbers = [0, 1, 250, 251, 255, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
    let texts = ["", "a", "ada", "ä/€", &"k".repeat(250), &"k".repeat(251)];
    for (at, number) in numbers.into_iter().enumerate() {
        for (text, small) in texts.into_iter().zip([0, 1, 250, 251, 0x1_0000, u32::MAX]) {
            let row = Row {
                operation: u8::try_from(at).unwrap(),
                tenant: text,
                name: "n",
                key: text,
                points: number,
                balance_after: numbers[numbers.len() - 1 - at],
                sequence: number,
                memo: text,
                place: small,
                list_len: u32::MAX - small,
                previous: number,
            };
            let bytes = encoded(&row);
            assert_eq!(Row::decode(&bytes), Ok(row));
            let theirs: (Row<'_>, usize) = bincode::borrow_decode_from_slice(&bytes, config()).unwrap();
            assert_eq!(theirs, (row, bytes.len()));
        }
    }
}

// I9
#[test]
fn a_shortened_or_lengthened_entry_is_refused() {
    let bytes = encoded(&Row::of(&entry()));
    for len in 0..bytes.len() {
        assert_eq!(Row::decode(&bytes[..len]), Err(EntryError::Undecodable), "len={len}");
    }
    for more in [&[0][..], &[0; 5000], &bytes.clone()] {
        let longer = [&bytes, more].concat();
        assert_eq!(Row::decode(&longer), Err(EntryError::NotCanonical), "more={}", more.len());
    }
}

// I9: one spelling for each value, or two entries with one meaning would have two checksums.
#[test]
fn a_number_that_is_spelled_longer_than_it_needs_is_refused() {
    let numbers = [(4, 500), (5, 700), (6, 3), (8, 2), (9, 5), (10, 300)];
    for (place, value) in numbers {
        for width in [3, 5, 9].into_iter().filter(|width| *width > parts()[place].len()) {
            let mut parts = parts();
            parts[place] = spelled(value, width);
            let refused = Row::decode(&parts.concat()).map(|_| ());
            // The fields of 32 bits have no spelling of nine bytes at all.
            let expected = match (place, width) {
                (8 | 9, 9) => EntryError::Undecodable,
                _ => EntryError::NotCanonical,
            };
            assert_eq!(refused, Err(expected), "part={place} width={width}");
        }
    }
    for (place, text) in [(1, "shop-7"), (2, "ada"), (3, "order-99"), (7, "socks")] {
        for width in [3, 5, 9] {
            let mut parts = parts();
            parts[place] = [&spelled(text.len() as u64, width), text.as_bytes()].concat();
            assert_eq!(Row::decode(&parts.concat()), Err(EntryError::NotCanonical), "part={place}");
        }
    }
}

// I9: a decoder that trusted such a length would end the whole process for want of memory.
#[test]
fn an_impossible_length_is_refused_without_making_room_for_it() {
    for place in [1, 2, 3, 7] {
        for len in [4097_u64, 1 << 31, 1 << 40, u64::MAX / 2, u64::MAX] {
            let mut parts = parts();
            // As short as the length can be spelled, so that the length itself is what is refused.
            let width = if len <= 0xffff {
                3
            } else if len <= 0xffff_ffff {
                5
            } else {
                9
            };
            parts[place] = [&spelled(len, width), &b"text"[..]].concat();
            assert_eq!(Row::decode(&parts.concat()), Err(EntryError::Undecodable), "part={place} len={len}");
            parts.truncate(place + 1);
            assert_eq!(Row::decode(&parts.concat()), Err(EntryError::Undecodable), "part={place} len={len}");
        }
    }
}

#[test]
fn a_text_that_is_not_utf_8_is_refused() {
    for place in [1, 2, 3, 7] {
        let mut parts = parts();
        *parts[place].last_mut().unwrap() = 0xff;
        assert_eq!(Row::decode(&parts.concat()), Err(EntryError::Undecodable), "part={place}");
    }
}

// I9
#[test]
fn a_field_out_of_bounds_is_refused_by_name() {
    let entry = entry();
    let good = Row::of(&entry);
    let long = "x".repeat(256);
    let big = u64::MAX;
    for (row, field) in [
        (Row { operation: 0, ..good }, "operation"),
        (Row { operation: 3, ..good }, "operation"),
        (Row { tenant: &long, ..good }, "account"),
        (Row { tenant: "\u{7}", ..good }, "account"),
        (Row { name: "", ..good }, "account"),
        (Row { name: &long, ..good }, "account"),
        (Row { key: "", ..good }, "key"),
        (Row { key: " ", ..good }, "key"),
        (Row { key: &long, ..good }, "key"),
        (Row { points: 0, ..good }, "points"),
        (Row { points: i64::MAX.unsigned_abs() + 1, ..good }, "points"),
        (Row { balance_after: big, ..good }, "balance"),
        (Row { memo: "\u{1b}", ..good }, "memo"),
        (Row { memo: &long, ..good }, "memo"),
        (Row { sequence: 0, ..good }, "receipt"),
        (Row { balance_after: 499, ..good }, "receipt"),
    ] {
        let refused = row.to_entry(NUMBER, Timestamp::default()).map(|_| ());
        assert_eq!(refused, Err(EntryError::OutOfBounds(field)));
        let text = matches!(field, "key" | "memo").then_some(Err(EntryError::OutOfBounds(field)));
        assert_eq!(row.check_texts(), text.unwrap_or(Ok(())));
    }
}

#[test]
fn varints_are_as_long_as_bincode_makes_them() {
    for value in [0, 1, 250, 251, 255, 256, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
        let len = bincode::encode_to_vec(value, config()).unwrap().len();
        assert_eq!(varint_len(value), len, "value={value}");
    }
}
