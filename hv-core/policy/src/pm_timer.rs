//! ACPI's power management timer: a counter that anybody reads and nobody sets.
//!
//! Where QEMU's machines have it, at port 608h, and 24 bits wide. Its overflow raises no interrupt here:
//! there is no SCI.

use crate::time::Ns;

/// The first of its four bytes.
pub const PORT: u16 = 0x608;
/// The last one.
pub const LAST_PORT: u16 = PORT + 3;
/// Its frequency (ACPI 6.4, 4.8.3.3).
pub const HZ: u64 = 3_579_545;

const MASK: u64 = 0xff_ffff;
const NS_PER_S: u128 = 1_000_000_000;

/// The counter at guest time `now`.
pub const fn count(now: Ns) -> u32 {
    let count = now.0 as u128 * HZ as u128 / NS_PER_S;
    (count as u64 & MASK) as u32
}

/// IN of one byte of it: the caller reads all of one access at one time.
pub const fn read(port: u16, now: Ns) -> u8 {
    (count(now) >> ((port & 3) * 8)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_runs_at_its_frequency_and_wraps_at_24_bits() {
        assert_eq!(count(Ns(1_000_000_000)), 3_579_545);
        assert_eq!(count(Ns(0)), 0);
        // 2^24 / 3 579 545 s = 4.686 968 874 5... s
        assert_eq!(count(Ns(4_686_968_874)), 0xff_ffff);
        assert_eq!(count(Ns(4_686_968_875)), 0);
        assert_eq!(count(Ns::NEVER) & !0xff_ffff, 0);
    }

    proptest! {
        #[test]
        fn it_never_lags_or_leads_by_a_tick(ns in 0u64..1 << 62) {
            let ticks = u128::from(ns) * 3_579_545 / 1_000_000_000;
            prop_assert_eq!(u128::from(count(Ns(ns))), ticks % (1 << 24));
            let bytes = [0, 1, 2, 3].map(|byte| read(PORT + byte, Ns(ns)));
            prop_assert_eq!(u32::from_le_bytes(bytes), count(Ns(ns)));
        }
    }
}
