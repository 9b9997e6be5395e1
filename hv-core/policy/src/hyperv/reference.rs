//! Reference time: units of 100 ns since the VM's start, by MSR and by a page in guest memory.
//!
//! KVM computes TIME_REF_COUNT by the page's parameters while the page is valid, so that reads of both are in
//! order (HV-163). Here it always does: the parameters never change, as guest time and the guest's TSC
//! are one clock, so that the offset is 0 and enabling the page moves nothing.

use crate::memory::GuestMemory;
use crate::time::Ns;

/// The APIC timer's clock in Hz ([`crate::lapic`]: a cycle is 1 ns, KVM's default).
pub const APIC_HZ: u64 = 1_000_000_000;

const SEQUENCE: u64 = 0;
const RESERVED: u64 = 4;
const SCALE: u64 = 8;
const OFFSET: u64 = 16;

/// The clock of a VM with that TSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceClock {
    khz: u32,
    scale: u64,
}

impl ReferenceClock {
    /// The clock of a guest whose TSC runs at `khz`, more than 10.
    pub const fn new(khz: u32) -> Self {
        // Exact: Xen's short cut loses 32 bits (HV-165).
        Self { khz, scale: ((10_000u128 << 64) / khz as u128) as u64 }
    }

    /// What a TSC is multiplied with; the upper half of the product is the time.
    pub const fn scale(self) -> u64 {
        self.scale
    }

    /// The TSC's frequency in Hz.
    pub const fn tsc_hz(self) -> u64 {
        self.khz as u64 * 1000
    }

    /// Reference time at `now`.
    ///
    /// A nanosecond stands for its first tick, so with a TSC faster than 1 GHz this is the time of a
    /// few ticks ago: fewer than an exit takes, so it is not behind what the guest read from the page.
    #[inline(never)]
    pub fn at(self, now: Ns) -> u64 {
        let tsc = (u128::from(now.0) * u128::from(self.khz)).div_ceil(1_000_000);
        (tsc.wrapping_mul(u128::from(self.scale)) >> 64) as u64
    }

    /// The first moment at which reference time is at least `time`, or [`Ns::NEVER`].
    #[inline(never)]
    pub fn when(self, time: u64) -> Ns {
        let tsc = (u128::from(time) << 64).div_ceil(u128::from(self.scale));
        // The first nanosecond that begins after the tick before that one.
        let Some(before) = tsc.checked_sub(1) else { return Ns(0) };
        let Some(product) = before.checked_mul(1_000_000) else { return Ns::NEVER };
        u64::try_from(product / u128::from(self.khz) + 1).map_or(Ns::NEVER, Ns)
    }

    /// Fills the page at that address; nothing happens outside of RAM (KVM calls the page broken then, and
    /// does not fault).
    ///
    /// The sequence is 0 meanwhile, which sends readers to the MSR, and never becomes 0 or FFFF_FFFFh
    /// (HV-162, HV-167).
    #[cold]
    #[inline(never)]
    pub fn publish<M: GuestMemory>(self, memory: &M, page: u64) {
        let Some(old) = memory.read_u64(page + SEQUENCE) else { return };
        put(memory, page + SEQUENCE, &[0; 4]);
        put(memory, page + RESERVED, &[0; 4]);
        put(memory, page + SCALE, &self.scale.to_le_bytes());
        put(memory, page + OFFSET, &[0; 8]);
        let next = match (old as u32).wrapping_add(1) {
            0 | u32::MAX => 1,
            next => next,
        };
        // The sequence's last byte to be written may be the only one that is not 0, and a reader of a
        // part of it rejects it as soon as it reads it again.
        put(memory, page + SEQUENCE, &next.to_le_bytes());
    }
}

fn put<M: GuestMemory>(memory: &M, address: u64, bytes: &[u8]) {
    for (at, &byte) in bytes.iter().enumerate() {
        memory.write_u8(address + at as u64, byte);
    }
}
