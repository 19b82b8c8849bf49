//! Numbers that a seed decides, so that whatever happened can be made to happen again.

/// A series of numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Luck(u64);

impl Luck {
    /// The series of a seed and of whatever else tells this use from others.
    pub fn new(seed: u64, of: &[u64]) -> Self {
        let mut luck = Self(seed);
        for part in of {
            luck.0 = luck.any() ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        luck.any();
        luck
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 where `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.any() % end }
    }

    /// An index into something of this length.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of some.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.index(all.len())]
    }
}
