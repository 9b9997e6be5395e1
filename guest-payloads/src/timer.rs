//! The local APIC's timer, one shot at a time.

use crate::apic;
use trapline_defs::apic::offset;

/// The divide register's value for a division by 1.
const DIVIDE_BY_1: u64 = 0xb;

/// Makes it interrupt on `vector`.
pub fn set_up(vector: u8) {
    apic::write(offset::TIMER_DIVIDE, DIVIDE_BY_1);
    apic::write(offset::LVT_TIMER, u64::from(vector));
}

/// Starts it: it expires after `ticks` of its clock.
#[inline(always)]
pub fn arm(ticks: u64) {
    apic::write(offset::TIMER_INITIAL, ticks);
}
