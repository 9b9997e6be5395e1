//! The IOAPIC.

// UNSAFETY: the IOAPIC page.
#![expect(unsafe_code, reason = "memory-mapped registers")]

use crate::cpu::read_memory;

const SELECT: u64 = 0xfec0_0000;
const WINDOW: u64 = 0xfec0_0010;
const ENTRIES: u8 = 0x10;
/// Entry: nothing comes.
pub const MASKED: u64 = 1 << 16;
/// Entry: level-triggered.
pub const LEVEL: u64 = 1 << 15;
/// Entry: a level-triggered interrupt awaits its EOI.
pub const REMOTE_IRR: u64 = 1 << 14;

fn write(register: u8, value: u32) {
    // SAFETY: the page is mapped, and IOAPIC registers touch no memory.
    unsafe {
        (SELECT as *mut u32).write_volatile(u32::from(register));
        (WINDOW as *mut u32).write_volatile(value);
    }
}

fn read(register: u8) -> u32 {
    // SAFETY: as for `write`.
    unsafe {
        (SELECT as *mut u32).write_volatile(u32::from(register));
        read_memory(WINDOW)
    }
}

/// The low half of a pin's entry.
pub fn low_half(pin: u8) -> u64 {
    read(ENTRIES + 2 * pin).into()
}

/// Writes the low half of a pin's entry, and nothing in between: a level-triggered pin stays one.
pub fn write_low_half(pin: u8, low: u64) {
    write(ENTRIES + 2 * pin, low as u32);
}

fn write_entry(pin: u8, entry: u64) {
    let register = ENTRIES + 2 * pin;
    // Masked while it is half written.
    write(register, MASKED as u32);
    write(register + 1, (entry >> 32) as u32);
    write(register, entry as u32);
}

/// Routes a pin to `vector` on vCPU 0: fixed, edge.
pub fn route(pin: u8, vector: u8) {
    write_entry(pin, u64::from(vector));
}

/// The same on another vCPU, by its APIC id.
pub fn route_to(pin: u8, vector: u8, to: u32) {
    write_entry(pin, u64::from(to) << 56 | u64::from(vector));
}

/// Masks a pin.
pub fn mask(pin: u8) {
    write_entry(pin, MASKED);
}
