//! Which clock a Windows guest takes, and how it uses it (spec hyperv.md 5.4 and 8).
//!
//! Only its pattern of accesses is here. That was published by people who watched the ports and MSRs of
//! such guests, in seeds/000 among others.

pub mod apic_timer;
pub mod rtc;
pub mod stimer;

use crate::cpu::cpuid;
use crate::{acpi, synic};

const HYPERVISOR: u32 = 0x4000_0000;
const PRIVILEGES: u32 = HYPERVISOR + 3;
const RECOMMENDATIONS: u32 = HYPERVISOR + 4;
/// "Microsoft Hv" in EBX, ECX, EDX.
const SIGNATURE: [u32; 3] = [0x7263_694d, 0x666f_736f, 0x7648_2074];

/// Privileges: the SynIC's MSRs.
const SYNIC: u32 = 1 << 2;
/// Privileges: those of the synthetic timers.
const STIMER: u32 = 1 << 3;
/// Recommendations: no AutoEOI.
const NO_AUTO_EOI: u32 = 1 << 9;

fn privileges() -> u32 {
    let [last, signature @ ..] = cpuid(HYPERVISOR);
    if signature == SIGNATURE && last >= PRIVILEGES { cpuid(PRIVILEGES)[0] } else { 0 }
}

/// A clock that interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A synthetic timer.
    Stimer,
    /// The RTC.
    Rtc,
    /// The APIC's timer.
    ApicTimer,
}

/// Which clock it takes: synthetic timers where they are offered, and with them the SynIC that their
/// messages need; else the RTC, unless the FADT says that there is none.
pub fn clock() -> Clock {
    if privileges() & (SYNIC | STIMER) == SYNIC | STIMER {
        Clock::Stimer
    } else if acpi::rtc_is_absent() {
        Clock::ApicTimer
    } else {
        Clock::Rtc
    }
}

/// What kernels up to about version 1809 write to SINT0, SINT1 and SINT4 of each processor at start, as
/// long as there is a SynIC: AutoEOI, unless the hypervisor recommends against it.
pub fn claim_sources() {
    let advised = cpuid(RECOMMENDATIONS)[0] & NO_AUTO_EOI != 0;
    set_sources(if advised { 0 } else { synic::AUTO_EOI });
}

/// The same without AutoEOI.
pub fn release_auto_eoi() {
    set_sources(0);
}

fn set_sources(flags: u64) {
    const VECTOR: u64 = 0x30;
    if privileges() & SYNIC != 0 {
        for source in [0, 1, 4] {
            synic::set_source(source, flags | VECTOR);
        }
    }
}
