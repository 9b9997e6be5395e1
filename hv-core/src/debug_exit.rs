//! The end of hv-core.

// UNSAFETY: port I/O.
#![expect(unsafe_code, reason = "writes the isa-debug-exit port")]

use trapline_abi::debug_exit::PORT;
use x86_64::instructions::{hlt, interrupts, port::Port};

/// Ends QEMU with status `value << 1 | 1`; without that device (bare metal), halts for good.
pub fn end(value: u32) -> ! {
    interrupts::disable();
    // SAFETY: the port belongs to isa-debug-exit, or to nothing.
    unsafe { Port::<u32>::new(PORT).write(value) };
    loop {
        hlt();
    }
}
