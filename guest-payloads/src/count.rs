//! Counters that vCPUs and their handlers share.

use crate::smp;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A number that anybody may change; also how a payload's other vCPUs learn its parameters.
#[derive(Debug)]
pub struct Count(AtomicU64);

impl Default for Count {
    fn default() -> Self {
        Self::new()
    }
}

impl Count {
    /// Zero.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The number.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(SeqCst)
    }

    /// Another number.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, SeqCst);
    }

    /// One more.
    #[inline(always)]
    pub fn add(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    /// One more if something is so.
    #[inline(always)]
    pub fn add_if(&self, what: bool) {
        self.0.fetch_add(u64::from(what), SeqCst);
    }
}

/// A counter for each vCPU.
#[derive(Debug)]
pub struct Counts([Count; smp::MAX_VCPUS]);

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}

impl Counts {
    /// All zero.
    pub const fn new() -> Self {
        Self([const { Count::new() }; smp::MAX_VCPUS])
    }

    /// A vCPU's.
    #[inline(always)]
    pub fn of(&self, vcpu: u32) -> &Count {
        &self.0[vcpu as usize]
    }

    /// That of the vCPU that asks.
    #[inline(always)]
    pub fn mine(&self) -> &Count {
        self.of(smp::number())
    }
}
