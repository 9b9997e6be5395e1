//! Physical traps by exit code, where they are not the exits: under the silicon model.
//!
//! QEMU's log counts traps, so these are what is compared with it.

use trapline_abi::exit::NPF;

/// Exit codes below this have a place of their own.
const LOW: usize = 0x100;

/// Counts by exit code.
#[derive(Clone, Debug)]
pub struct Traps {
    low: [u32; LOW],
    /// Exit 400h.
    npf: u32,
    /// VMEXIT_INVALID, and whatever else there is.
    other: u32,
}

impl Default for Traps {
    fn default() -> Self {
        Self::NONE
    }
}

impl Traps {
    /// None yet.
    pub const NONE: Self = Self { low: [0; LOW], npf: 0, other: 0 };

    /// Counts one.
    #[inline(always)]
    pub fn add(&mut self, code: u64) {
        match self.low.get_mut(code as usize) {
            Some(count) => *count += 1,
            None if code == NPF => self.npf += 1,
            None => self.other += 1,
        }
    }

    /// Each kind and how many there were.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let low = self.low.iter().enumerate().map(|(code, &count)| (code as u64, count));
        let all = low.chain([(NPF, self.npf), (u64::MAX, self.other)]);
        all.filter(|&(_, count)| count > 0).map(|(code, count)| (code, count.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traps_are_counted_by_code() {
        let mut traps = Traps::NONE;
        for code in [0x7c, 0x400, 0x7c, 0x60] {
            traps.add(code);
        }
        assert!(traps.counts().eq([(0x60, 1), (0x7c, 2), (0x400, 1)]));
    }

    #[test]
    fn no_trap_is_lost_whatever_its_code() {
        let mut traps = Traps::NONE;
        (0..1000).chain([u64::MAX]).for_each(|code| traps.add(code));
        assert_eq!(traps.counts().map(|(_, count)| count).sum::<u64>(), 1001);
    }
}
