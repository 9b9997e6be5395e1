//! The first synthetic timer.

use crate::cpu::{read_msr, write_msr};

const CONFIG: u32 = 0x4000_00b0;
const COUNT: u32 = 0x4000_00b1;

const ENABLE: u64 = 1;
/// It repeats by itself.
pub const PERIODIC: u64 = 1 << 1;
/// Arming enables it.
pub const AUTO_ENABLE: u64 = 1 << 3;

/// CONFIG for messages to that source.
pub const fn sint(source: u32) -> u64 {
    (source as u64) << 16
}

/// CONFIG for interrupts with that vector, without messages.
pub const fn direct(vector: u8) -> u64 {
    1 << 12 | (vector as u64) << 4
}

/// Says how it works.
pub fn configure(config: u64) {
    write_msr(CONFIG, config);
}

/// Writes its count: a time or a period in units of 100 ns, or 0 to stop it.
#[inline(always)]
pub fn arm(count: u64) {
    write_msr(COUNT, count);
}

/// 1 if it is enabled.
pub fn enabled() -> u64 {
    read_msr(CONFIG) & ENABLE
}
