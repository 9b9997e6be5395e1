//! kvmclock: what a guest needs to make nanoseconds of its TSC without an exit (Linux
//! Documentation/virt/kvm/x86/msr.rst, MSR_KVM_SYSTEM_TIME_NEW).
//!
//! Guest time and the guest's TSC are one clock here, on every vCPU, and neither jumps: what is written once
//! stays true, and the flag says that no vCPU's clock is behind another one's.

use crate::memory::GuestMemory;
use crate::time::Ns;

const VERSION: u64 = 0;
const TSC: u64 = 8;
const TIME: u64 = 16;
const MULTIPLIER: u64 = 24;
const SHIFT: u64 = 28;
const FLAGS: u64 = 29;
/// Bytes of the structure.
const SIZE: u64 = 32;
/// PVCLOCK_TSC_STABLE_BIT.
const STABLE: u8 = 1;

/// Of the wall clock's structure.
const SECONDS: u64 = 4;
const NANOSECONDS: u64 = 8;

/// How ticks become nanoseconds: shifted to the left by `shift`, to the right if that is negative, times
/// `multiplier` / 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// At least 2^31, so that nothing is lost that need not be.
    pub multiplier: u32,
    /// The shift before the multiplication.
    pub shift: i8,
}

impl Scale {
    /// For a TSC of that frequency, which is not 0.
    pub const fn new(khz: u32) -> Self {
        // Nanoseconds by tick, in parts of 2^64; of its bits the highest 32.
        let factor = (1_000_000u128 << 64) / khz as u128;
        let bits = 128 - factor.leading_zeros();
        Self { multiplier: (factor >> (bits - 32)) as u32, shift: bits as i8 - 64 }
    }

    /// Nanoseconds in `ticks`, as a guest computes them.
    pub const fn nanoseconds(self, ticks: u64) -> u64 {
        let shifted = if self.shift < 0 { ticks >> -self.shift } else { ticks << self.shift };
        ((shifted as u128 * self.multiplier as u128) >> 32) as u64
    }
}

fn put_bytes(memory: &impl GuestMemory, address: u64, bytes: &[u8]) {
    for (at, &byte) in bytes.iter().enumerate() {
        memory.write_u8(address + at as u64, byte);
    }
}

/// A structure's version, the next odd one, put there to say that what follows is being written. `None`
/// outside of RAM.
fn open(memory: &impl GuestMemory, address: u64) -> Option<u32> {
    let old = memory.read_u64(address & !7)? >> (address % 8 * 8);
    let odd = (old as u32).wrapping_add(1) | 1;
    put_bytes(memory, address + VERSION, &odd.to_le_bytes());
    Some(odd)
}

/// The next even version: what was written counts.
fn close(memory: &impl GuestMemory, address: u64, odd: u32) {
    put_bytes(memory, address + VERSION, &odd.wrapping_add(1).to_le_bytes());
}

/// Fills a vCPU's clock: it is `now` when the guest's TSC is `tsc`. Nothing happens outside of RAM.
#[cold]
pub fn put(memory: &impl GuestMemory, address: u64, tsc: u64, now: Ns, scale: Scale) {
    if address.checked_add(SIZE).is_none_or(|end| end > memory.size()) {
        return;
    }
    let Some(odd) = open(memory, address) else { return };
    put_bytes(memory, address + TSC, &tsc.to_le_bytes());
    put_bytes(memory, address + TIME, &now.0.to_le_bytes());
    put_bytes(memory, address + MULTIPLIER, &scale.multiplier.to_le_bytes());
    put_bytes(memory, address + SHIFT, &scale.shift.to_le_bytes());
    put_bytes(memory, address + FLAGS, &[STABLE]);
    close(memory, address, odd);
}

/// Fills the wall clock: the time at which every vCPU's clock was 0. At address 0 there is none.
#[cold]
pub fn put_wall_clock(memory: &impl GuestMemory, address: u64, seconds: u64) {
    if address == 0 {
        return;
    }
    let Some(odd) = open(memory, address) else { return };
    put_bytes(memory, address + SECONDS, &(seconds as u32).to_le_bytes());
    put_bytes(memory, address + NANOSECONDS, &[0; 4]);
    close(memory, address, odd);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::Ram;

    #[test]
    fn the_multiplier_has_all_its_bits() {
        assert_eq!(Scale::new(1_000_000), Scale { multiplier: 1 << 31, shift: 1 });
        assert_eq!(Scale::new(2_000_000), Scale { multiplier: 1 << 31, shift: 0 });
        for khz in [11, 999_999, 1_000_001, 2_294_609, 3_999_999, 4_000_000, 16_000_000] {
            assert!(Scale::new(khz).multiplier >> 31 == 1, "{khz}");
        }
    }

    proptest::proptest! {
        #[test]
        fn pvc_1_an_hour_is_right_to_a_few_nanoseconds_at_any_frequency(khz in 100_000u32..8_000_000) {
            let hour = Scale::new(khz).nanoseconds(u64::from(khz) * 3_600_000);
            // Half a part in 2^31, which is 2 us of an hour at most.
            let exact = 3_600_000_000_000;
            proptest::prop_assert!((exact - 2_000..=exact).contains(&hour));
        }
    }

    #[test]
    fn pvc_1_a_clock_is_written_between_an_odd_and_an_even_version() {
        let ram = Ram::new(0x2000);
        ram.put(0x1000, &7u32.to_le_bytes());
        put(&ram, 0x1000, 5_000, Ns(4_000), Scale::new(1_000_000));
        let word = |at: u64| ram.read_u64(0x1000 + at).unwrap();
        // 7 was odd: a write that somebody else broke off.
        assert_eq!(word(0), 10);
        assert_eq!((word(8), word(16)), (5_000, 4_000));
        assert_eq!(word(24), 1 << 31 | 1 << 32 | 1 << 40);
    }

    #[test]
    fn outside_of_ram_nothing_is_written() {
        let ram = Ram::new(0x1000);
        for address in [0xff0, 0x1000, u64::MAX - 7] {
            put(&ram, address, 1, Ns(1), Scale::new(1_000_000));
            put_wall_clock(&ram, if address == 0xff0 { 0 } else { address }, 1);
        }
        assert!(ram.0.borrow().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn pvc_2_the_wall_clock_is_seconds_of_1970() {
        let ram = Ram::new(0x1000);
        put_wall_clock(&ram, 0x104, crate::rtc::Date::START.unix_time());
        assert_eq!(ram.read_u64(0x100).unwrap() >> 32, 2);
        // 2026-01-01 00:00:00 UTC.
        assert_eq!(ram.read_u64(0x108).unwrap(), 1_767_225_600);
    }
}
