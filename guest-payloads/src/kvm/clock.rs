//! kvmclock, as a guest reads it (Linux Documentation/virt/kvm/x86/msr.rst).

use crate::{cpu, smp};
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A vCPU's clock.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Clock([AtomicU64; 4]);

static CLOCKS: [Clock; smp::MAX_VCPUS] =
    [const { Clock([const { AtomicU64::new(0) }; 4]) }; smp::MAX_VCPUS];

impl Clock {
    /// Asks for the clock of the vCPU that asks, by one of the two MSRs.
    pub fn open(msr: u32) -> &'static Self {
        let mine = &CLOCKS[smp::number() as usize];
        cpu::write_msr(msr, core::ptr::from_ref(mine) as u64 | 1);
        mine
    }

    fn word(&self, at: usize) -> u64 {
        self.0[at].load(SeqCst)
    }

    /// Odd while it is written.
    pub fn version(&self) -> u32 {
        self.word(0) as u32
    }

    /// What a shifted tick is multiplied with, in parts of 2^32.
    pub fn multiplier(&self) -> u64 {
        self.word(3) & 0xffff_ffff
    }

    /// Bit 0: no vCPU's clock is behind another one's.
    pub fn flags(&self) -> u64 {
        self.word(3) >> 40 & 0xff
    }

    /// The time at a TSC.
    #[inline(always)]
    pub fn at(&self, tsc: u64) -> u64 {
        let shift = (self.word(3) >> 32) as i8;
        let ticks = tsc.wrapping_sub(self.word(1));
        let shifted = if shift < 0 { ticks >> -shift } else { ticks << shift };
        let product = u128::from(shifted) * u128::from(self.multiplier());
        ((product >> 32) as u64).wrapping_add(self.word(2))
    }

    /// The time now. It is read again where it was written meanwhile.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        loop {
            let version = self.version();
            let time = self.at(cpu::tsc());
            if version.is_multiple_of(2) && version == self.version() {
                return time;
            }
        }
    }
}
