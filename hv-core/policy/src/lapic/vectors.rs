//! One bit per vector.

/// A set of interrupt vectors, in the layout of IRR, ISR and TMR: eight words, vector 0 lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vectors(pub [u32; 8]);

impl Vectors {
    /// No vector.
    pub const EMPTY: Self = Self([0; 8]);

    /// Whether `vector` is in the set.
    #[inline]
    pub const fn has(&self, vector: u8) -> bool {
        self.0[vector as usize >> 5] & bit(vector) != 0
    }

    /// Puts `vector` into the set.
    #[inline]
    pub const fn insert(&mut self, vector: u8) {
        self.0[vector as usize >> 5] |= bit(vector);
    }

    /// Takes `vector` out of the set.
    #[inline]
    pub const fn remove(&mut self, vector: u8) {
        self.0[vector as usize >> 5] &= !bit(vector);
    }

    /// The highest vector of the set.
    #[inline]
    pub fn highest(&self) -> Option<u8> {
        for (index, &word) in self.0.iter().enumerate().rev() {
            if word != 0 {
                return Some(((index as u32) << 5 | word.ilog2()) as u8);
            }
        }
        None
    }

    /// How many vectors the set has.
    pub fn count(&self) -> u16 {
        self.0.iter().map(|word| word.count_ones() as u16).sum()
    }
}

#[inline]
const fn bit(vector: u8) -> u32 {
    1 << (vector & 31)
}
