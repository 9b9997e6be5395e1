//! The global interrupt flag. The run loop keeps it clear, so that nothing comes between an exit
//! and the next entry; physical interrupts then end the guest's next turn at once (exit 60h).

// UNSAFETY: STGI and CLGI.
#![expect(unsafe_code, reason = "changes GIF")]

use core::arch::asm;

/// Clears GIF.
#[inline(always)]
pub fn close() {
    // SAFETY: SVM is on.
    unsafe { asm!("clgi", options(nostack)) };
}

/// Sets GIF.
#[inline(always)]
pub fn open() {
    // SAFETY: SVM is on, and the IDT is ready for what waits.
    unsafe { asm!("stgi", options(nostack)) };
}

/// Lets the host take what waits: GIF and IF are set for one instruction.
#[inline]
pub fn take_pending() {
    // SAFETY: as for `open`; the handlers change no register.
    unsafe { asm!("stgi", "nop", "clgi", options(nostack)) };
}
