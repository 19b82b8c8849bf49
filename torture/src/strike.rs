//! What can happen to the bytes of a file.

use crate::luck::Luck;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    Flip,
    Zero,
    Truncate,
    Extend,
    Swap,
    Duplicate,
    Garbage,
}

pub const ALL: [Blow; 7] =
    [Blow::Flip, Blow::Zero, Blow::Truncate, Blow::Extend, Blow::Swap, Blow::Duplicate, Blow::Garbage];

/// Changes the bytes, and says where.
pub fn strike(blow: Blow, bytes: &mut Vec<u8>, luck: &mut Luck) -> String {
    // Most of a log is zeros that nobody has written yet.
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if used == 0 {
        bytes.push(1);
        return format!("{blow:?} of nothing: a byte added");
    }
    let len = *luck.one_of(&[16_usize, 512, 512, 4096, 65_536]);
    let at = if luck.once_in(8) { luck.index(used.min(64)) } else { luck.index(used) };
    let block = at / len * len;
    let end = (block + len).min(bytes.len());
    match blow {
        Blow::Flip => bytes[at] ^= 1 << luck.below(8),
        Blow::Zero => bytes[block..end].fill(0),
        Blow::Truncate => bytes.truncate(at),
        Blow::Extend => {
            let more = luck.index(9000) + 1;
            let fill = if luck.once_in(2) { 0 } else { luck.any() as u8 };
            bytes.resize(bytes.len() + more, fill);
        }
        Blow::Garbage => bytes[block..end].iter_mut().for_each(|byte| *byte = luck.any() as u8),
        Blow::Swap | Blow::Duplicate => {
            let other = luck.index(used) / len * len;
            let span = (bytes.len() - block).min(bytes.len() - other).min(len);
            let (one, two) = (bytes[block..block + span].to_vec(), bytes[other..other + span].to_vec());
            bytes[block..block + span].copy_from_slice(&two);
            if blow == Blow::Swap {
                bytes[other..other + span].copy_from_slice(&one);
            }
            return format!("{blow:?} {span} bytes at {block} and {other}");
        }
    }
    format!("{blow:?} at {at}, block {block}..{end} of {used} used")
}
