//! A page of memory that a hypervisor reads or writes, too.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A page, as words. Guest memory is mapped one to one.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct Page([AtomicU64; 512]);

impl Default for Page {
    fn default() -> Self {
        Self::new()
    }
}

impl Page {
    /// Zeros.
    pub const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 512])
    }

    /// Its guest-physical address.
    pub fn address(&self) -> u64 {
        &raw const self.0 as u64
    }

    /// The word at byte `offset`, a multiple of 8.
    #[inline(always)]
    pub fn read(&self, offset: usize) -> u64 {
        self.0[offset / 8].load(SeqCst)
    }

    /// Clears bit 0 of the first word and leaves the rest, whoever else writes: whether it was set.
    #[inline(always)]
    pub fn clear_bit_0(&self) -> bool {
        self.0[0].fetch_and(!1, SeqCst) & 1 != 0
    }

    /// Clears bits of the word at byte `offset`, a multiple of 8, in one step; which of them were set.
    #[inline(always)]
    pub fn take(&self, offset: usize, bits: u64) -> u64 {
        self.0[offset / 8].fetch_and(!bits, SeqCst) & bits
    }

    /// Writes the word at byte `offset`, a multiple of 8.
    #[inline(always)]
    pub fn write(&self, offset: usize, value: u64) {
        self.0[offset / 8].store(value, SeqCst);
    }
}
