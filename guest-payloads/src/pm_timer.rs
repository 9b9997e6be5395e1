//! ACPI's power management timer.

use crate::cpu::read_port_32;

const PORT: u16 = 0x608;
/// It wraps there.
pub const MASK: u64 = 0xff_ffff;
/// Its frequency.
pub const HZ: u64 = 3_579_545;

/// The counter: one access.
#[inline(always)]
pub fn counter() -> u64 {
    u64::from(read_port_32(PORT)) & MASK
}
