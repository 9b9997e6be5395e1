//! Physical traps by exit code, where they are not the exits: under the silicon model.
//!
//! QEMU's log counts traps, so these are what is compared with it.

/// Kinds of traps that are told apart.
const KINDS: usize = 32;

/// Counts by exit code.
#[derive(Clone, Copy, Debug)]
pub struct Traps {
    kinds: [(u64, u64); KINDS],
    used: usize,
}

impl Default for Traps {
    fn default() -> Self {
        Self::NONE
    }
}

impl Traps {
    /// None yet.
    pub const NONE: Self = Self { kinds: [(0, 0); KINDS], used: 0 };

    /// Counts one. More kinds than there is room for are counted with the last.
    #[inline]
    pub fn add(&mut self, code: u64) {
        for kind in &mut self.kinds[..self.used] {
            if kind.0 == code {
                kind.1 += 1;
                return;
            }
        }
        self.learn(code);
    }

    #[cold]
    fn learn(&mut self, code: u64) {
        let at = self.used.min(KINDS - 1);
        if at == self.used {
            self.kinds[at] = (code, 0);
            self.used += 1;
        }
        self.kinds[at].1 += 1;
    }

    /// Each kind and how many there were.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.kinds[..self.used].iter().copied()
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
        assert!(traps.counts().eq([(0x7c, 2), (0x400, 1), (0x60, 1)]));
    }

    #[test]
    fn no_trap_is_lost_when_there_are_many_kinds() {
        let mut traps = Traps::NONE;
        (0..100).for_each(|code| traps.add(code));
        assert_eq!(traps.counts().map(|(_, count)| count).sum::<u64>(), 100);
    }
}
