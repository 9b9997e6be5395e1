//! Phase sync: every scenario starts at the same point of the machine's own rhythms.
//!
//! Under QEMU's icount a core's slice ends with the next timer of the virtual clock, so the slice
//! clock (PIT channel 0) keeps slices short, and restarting it together with the scenario makes a
//! scenario behave alike wherever in a boot it stands (docs/decisions/0004-determinism.md).

// UNSAFETY: PIT ports.
#![expect(unsafe_code, reason = "programs PIT channel 0")]

use crate::apic::{HostApic, take_pending, wait};
use crate::arch::interrupts::TIMER_TICKS;
use crate::clock::Clock;
use crate::svm;
use core::sync::atomic::Ordering;
use x86_64::instructions::port::Port;

/// 100 us of the PIT.
const SLICE: u16 = 119;

/// Restarts the slice clock: mode 2, masked in PIC and IOAPIC, so it interrupts nobody.
fn restart_slice_clock() {
    // SAFETY: channel 0's interrupt is masked, and guests never reach the ports.
    unsafe {
        Port::<u8>::new(0x43).write(0x34);
        Port::<u8>::new(0x40).write(SLICE as u8);
        Port::<u8>::new(0x40).write((SLICE >> 8) as u8);
    }
}

/// Masks the PICs: hv-core takes no interrupt of theirs.
pub fn mask_pics() {
    // SAFETY: nothing needs them.
    unsafe {
        Port::<u8>::new(0x21).write(0xff);
        Port::<u8>::new(0xa1).write(0xff);
    }
}

/// Sleeps 1 ms with nothing going on, the slice clock restarted before and after. GIF is clear
/// before and after.
pub fn sync_closed(apic: &HostApic, clock: &Clock) {
    apic.arm(0);
    svm::gif::open();
    // What expired at the end of the last scenario is taken now and does not cut the sleep short.
    take_pending();
    restart_slice_clock();
    let ticks = TIMER_TICKS.load(Ordering::Relaxed);
    apic.arm(clock.apic_ticks(u64::from(clock.tsc_khz)));
    while TIMER_TICKS.load(Ordering::Relaxed) == ticks {
        wait();
    }
    svm::gif::close();
    restart_slice_clock();
}
