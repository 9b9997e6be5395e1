//! The last exits of a vCPU, for post-mortems.

use trapline_abi::exit::ExitKey;

/// How many are kept.
pub const KEPT: usize = 64;

/// One exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastExit {
    /// What it was.
    pub key: ExitKey,
    /// Guest RIP at the exit.
    pub rip: u64,
    /// TSC of the exit.
    pub at: u64,
}

/// A ring of the last [`KEPT`] exits.
#[derive(Debug)]
pub struct LastExits {
    ring: [LastExit; KEPT],
    pushed: usize,
}

impl Default for LastExits {
    fn default() -> Self {
        Self::new()
    }
}

impl LastExits {
    /// No exits yet.
    pub const fn new() -> Self {
        Self { ring: [LastExit { key: ExitKey::EMPTY, rip: 0, at: 0 }; KEPT], pushed: 0 }
    }

    /// Forgets them.
    pub fn reset(&mut self) {
        self.pushed = 0;
    }

    /// Adds one, over the oldest if need be.
    #[inline(always)]
    pub fn push(&mut self, key: ExitKey, rip: u64, at: u64) {
        self.ring[self.pushed % KEPT] = LastExit { key, rip, at };
        self.pushed = self.pushed.wrapping_add(1);
    }

    /// Where the next exit will stand: for [`LastExits::since`].
    pub fn position(&self) -> usize {
        self.pushed
    }

    /// The exits from a position on, oldest first, as far as they are still there.
    pub fn since(&self, position: usize) -> impl ExactSizeIterator<Item = &LastExit> {
        let kept = self.pushed.wrapping_sub(position).min(self.pushed.min(KEPT));
        (self.pushed - kept..self.pushed).map(|i| &self.ring[i % KEPT])
    }

    /// The exits, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &LastExit> {
        let kept = self.pushed.min(KEPT);
        (self.pushed - kept..self.pushed).map(|i| &self.ring[i % KEPT])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let mut last = LastExits::new();
        for i in 0..100 {
            last.push(ExitKey::plain(0x78), i, i);
        }
        let rips: Vec<u64> = last.iter().map(|e| e.rip).collect();
        assert_eq!(rips, (36..100).collect::<Vec<_>>());
        let since = |at| last.since(at).map(|e| e.rip).collect::<Vec<_>>();
        assert_eq!(since(97), [97, 98, 99]);
        assert_eq!(since(100), []);
        assert_eq!(since(0).len(), KEPT);
        last.reset();
        assert_eq!(last.iter().len(), 0);
    }
}
