//! Numbers and texts as bincode spells them, read from the front and in one spelling only (I9).
//!
//! Varints: one byte up to 250, else a mark and the number in 2, 4, 8 or 16 bytes, little-endian. One kind of field is
//! ours: a number that is hardly ever small, such as a time, as its length in bytes and just those, big-endian.

use bincode::config::{Config, standard};

use crate::limits::PAGE_LEN_MAX;

const IN_2: u8 = 251;
const IN_4: u8 = 252;
const IN_8: u8 = 253;
const IN_16: u8 = 254;

/// The one configuration of bincode: varints, little-endian, and never more than a page.
pub(super) fn config() -> impl Config {
    standard().with_limit::<PAGE_LEN_MAX>()
}

/// Why bytes are not a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldError {
    /// They end too soon, or are no number of this width, or no text.
    Undecodable,
    /// A number is spelled longer than it needs.
    NotCanonical,
}

/// Bytes of the varint for `value`.
pub(super) const fn varint_len(value: u64) -> usize {
    match value {
        0..=250 => 1,
        251..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

/// Writes the varint of a number.
#[allow(clippy::little_endian_bytes, reason = "bincode's varints are little-endian")]
pub(super) fn put_number(to: &mut Vec<u8>, value: u128) {
    let bytes = value.to_le_bytes();
    let (mark, len) = match value {
        0..=250 => (None, 1),
        251..=0xffff => (Some(IN_2), 2),
        0x1_0000..=0xffff_ffff => (Some(IN_4), 4),
        0x1_0000_0000..=0xffff_ffff_ffff_ffff => (Some(IN_8), 8),
        _ => (Some(IN_16), 16),
    };
    to.extend(mark);
    to.extend(bytes.iter().take(len));
}

/// Writes a number that is hardly ever small: in as many bytes as it needs, behind how many they are.
pub(super) fn put_long(to: &mut Vec<u8>, value: u64) {
    let bytes = value.to_be_bytes();
    let unused = bytes.iter().take_while(|byte| **byte == 0).count();
    to.extend(u8::try_from(bytes.len().saturating_sub(unused)));
    to.extend(bytes.iter().skip(unused));
}

/// Fields, from the front of some bytes.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// So many bytes as they are.
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], FieldError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(FieldError::Undecodable)?;
        self.0 = rest;
        Ok(*field)
    }

    pub(super) fn byte(&mut self) -> Result<u8, FieldError> {
        self.take().map(|[byte]| byte)
    }

    /// A number of at most 64 bits.
    #[allow(clippy::little_endian_bytes, reason = "bincode's varints are little-endian")]
    pub(super) fn number(&mut self) -> Result<u64, FieldError> {
        let (number, width) = match self.byte()? {
            byte @ 0..=250 => return Ok(u64::from(byte)),
            IN_2 => (u64::from(u16::from_le_bytes(self.take()?)), 3),
            IN_4 => (u64::from(u32::from_le_bytes(self.take()?)), 5),
            IN_8 => (u64::from_le_bytes(self.take()?), 9),
            _ => return Err(FieldError::Undecodable),
        };
        if varint_len(number) == width { Ok(number) } else { Err(FieldError::NotCanonical) }
    }

    /// A number of at most 32 bits.
    pub(super) fn small_number(&mut self) -> Result<u32, FieldError> {
        match self.0.first() {
            // A number of 32 bits has no such spelling.
            Some(&IN_8) => Err(FieldError::Undecodable),
            _ => u32::try_from(self.number()?).map_err(|_| FieldError::Undecodable),
        }
    }

    /// A number of at most 128 bits.
    #[allow(clippy::little_endian_bytes, reason = "bincode's varints are little-endian")]
    pub(super) fn wide_number(&mut self) -> Result<u128, FieldError> {
        let Some((&IN_16, rest)) = self.0.split_first() else { return self.number().map(u128::from) };
        self.0 = rest;
        let number = u128::from_le_bytes(self.take()?);
        if number > u128::from(u64::MAX) { Ok(number) } else { Err(FieldError::NotCanonical) }
    }

    /// A number as [`put_long`] writes it.
    pub(super) fn long(&mut self) -> Result<u64, FieldError> {
        let len = usize::from(self.byte()?);
        if len > size_of::<u64>() {
            return Err(FieldError::Undecodable);
        }
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(FieldError::Undecodable)?;
        self.0 = rest;
        match bytes.first() {
            Some(0) => Err(FieldError::NotCanonical),
            _ => Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))),
        }
    }

    /// A text behind its length.
    pub(super) fn text(&mut self) -> Result<&'a str, FieldError> {
        let len = usize::try_from(self.number()?).map_err(|_| FieldError::Undecodable)?;
        if len == 0 {
            return Ok("");
        }
        let (text, rest) = self.0.split_at_checked(len).ok_or(FieldError::Undecodable)?;
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| FieldError::Undecodable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers at the ends of each width.
    fn numbers() -> impl Iterator<Item = u128> {
        let ends = [0, 250, 0xffff, 0xffff_ffff, 0xffff_ffff_ffff_ffff, u128::MAX];
        ends.into_iter().flat_map(|end| [end.saturating_sub(1), end, end.saturating_add(1)])
    }

    // I9
    #[test]
    fn numbers_are_written_and_read_as_bincode_does() {
        for number in numbers() {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            assert_eq!(bytes, bincode::encode_to_vec(number, config()).unwrap(), "{number}");
            let mut fields = Fields::new(&bytes);
            assert_eq!(fields.wide_number(), Ok(number));
            assert_eq!(fields.rest(), b"");
            let narrow = u64::try_from(number).map_err(|_| FieldError::Undecodable);
            assert_eq!(Fields::new(&bytes).number(), narrow);
            let small = u32::try_from(number).map_err(|_| FieldError::Undecodable);
            assert_eq!(Fields::new(&bytes).small_number(), small);
            for end in 0..bytes.len() {
                assert_eq!(Fields::new(&bytes[..end]).wide_number(), Err(FieldError::Undecodable));
            }
        }
    }

    // I9
    #[test]
    fn a_number_that_is_spelled_longer_than_it_needs_is_refused() {
        for (mark, width) in [(IN_2, 2), (IN_4, 4), (IN_8, 8), (IN_16, 16)] {
            let mut bytes = vec![0xff; width / 2];
            if width == 2 {
                bytes = vec![250];
            }
            bytes.resize(width, 0);
            bytes.insert(0, mark);
            assert_eq!(Fields::new(&bytes).wide_number(), Err(FieldError::NotCanonical), "width={width}");
        }
        assert_eq!(Fields::new(&[255; 32]).wide_number(), Err(FieldError::Undecodable));
    }

    // I9
    #[test]
    fn a_long_number_takes_the_bytes_it_needs_and_is_read_back() {
        for (number, written) in [
            (0, &[0][..]),
            (1, &[1, 1]),
            (255, &[1, 255]),
            (256, &[2, 1, 0]),
            (1_767_225_600_123, &[6, 0x01, 0x9b, 0x76, 0xda, 0xa8, 0x7b]),
            (u64::MAX, &[8, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            let mut bytes = Vec::new();
            put_long(&mut bytes, number);
            assert_eq!(bytes, written, "{number}");
            bytes.push(9);
            let mut fields = Fields::new(&bytes);
            assert_eq!((fields.long(), fields.rest()), (Ok(number), &[9][..]));
            for end in 0..written.len() {
                assert_eq!(Fields::new(&written[..end]).long(), Err(FieldError::Undecodable), "{number}");
            }
        }
    }

    // I9
    #[test]
    fn a_long_number_with_a_leading_zero_or_too_many_bytes_is_refused() {
        for (bytes, error) in [
            (&[1, 0][..], FieldError::NotCanonical),
            (&[2, 0, 7], FieldError::NotCanonical),
            (&[8, 0, 1, 1, 1, 1, 1, 1, 1], FieldError::NotCanonical),
            (&[9, 1, 1, 1, 1, 1, 1, 1, 1, 1], FieldError::Undecodable),
            (&[255], FieldError::Undecodable),
        ] {
            assert_eq!(Fields::new(bytes).long(), Err(error), "{bytes:?}");
        }
    }
}
