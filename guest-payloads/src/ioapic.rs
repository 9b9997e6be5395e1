//! The IOAPIC.

// UNSAFETY: the IOAPIC page.
#![expect(unsafe_code, reason = "memory-mapped registers")]

const SELECT: u64 = 0xfec0_0000;
const WINDOW: u64 = 0xfec0_0010;
const MASKED: u64 = 1 << 16;

fn write(register: u8, value: u32) {
    // SAFETY: the page is mapped, and IOAPIC registers touch no memory.
    unsafe {
        (SELECT as *mut u32).write_volatile(u32::from(register));
        (WINDOW as *mut u32).write_volatile(value);
    }
}

fn write_entry(pin: u8, entry: u64) {
    let register = 0x10 + 2 * pin;
    // Masked while it is half written.
    write(register, MASKED as u32);
    write(register + 1, (entry >> 32) as u32);
    write(register, entry as u32);
}

/// Routes a pin to `vector` on vCPU 0: fixed, edge.
pub fn route(pin: u8, vector: u8) {
    write_entry(pin, u64::from(vector));
}

/// Masks a pin.
pub fn mask(pin: u8) {
    write_entry(pin, MASKED);
}
