//! The doorbell MSR, C001_011Bh (APM vol. 2 §15.29.8.2).
//!
//! Where a ring goes is the caller's business; what it does there is in [`crate::Processor::doorbell`].
//! A guest whose accesses are not intercepted rings real doorbells: nothing virtualizes the MSR, so
//! a hypervisor must intercept it (AVH-028).

use crate::exit::Outcome;
use trapline_defs::avic::DOORBELL_ID;

/// WRMSR: the host APIC to ring. The manual documents eight bits of id, Linux uses twelve, as the
/// table has; anything above is `#GP` (model-defined). WRMSR does not serialize.
#[inline]
pub const fn write(value: u64) -> Outcome<u16> {
    if value & !DOORBELL_ID != 0 { Outcome::Gp } else { Outcome::Absorbed(value as u16) }
}

/// RDMSR: the register is write-only.
#[inline]
pub const fn read() -> Outcome<u64> {
    Outcome::Gp
}
