//! The interval timer.

use crate::cpu::{read_port, write_port};

const CHANNEL_0: u16 = 0x40;
const CHANNEL_2: u16 = 0x42;
const CONTROL: u16 = 0x43;
const GATE_2: u16 = 0x61;

/// Its oscillator.
pub const HZ: u64 = 1_193_182;
/// Its pin at the IOAPIC.
pub const PIN: u8 = 2;

/// Control: both bytes, of a mode.
const fn both(channel: u8, mode: u8) -> u8 {
    channel << 6 | 0x30 | mode << 1
}

fn load(port: u16, count: u16) {
    for byte in count.to_le_bytes() {
        write_port(port, byte);
    }
}

/// Makes it tick every `clocks`, from 1 to 65536 of them.
pub fn tick_every(clocks: u64) {
    write_port(CONTROL, both(0, 2));
    load(CHANNEL_0, clocks as u16);
}

/// Makes it tick once, after so many clocks.
pub fn tick_after(clocks: u64) {
    write_port(CONTROL, both(0, 0));
    load(CHANNEL_0, clocks as u16);
}

/// Ends its ticks: with a mode that has none.
pub fn stop() {
    write_port(CONTROL, both(0, 5));
    load(CHANNEL_0, 0);
}

/// Lets channel 2 run from 65536 down, again and again. It interrupts nobody.
pub fn run_counter() {
    write_port(GATE_2, 1);
    write_port(CONTROL, both(2, 2));
    load(CHANNEL_2, 0);
}

/// Channel 2's clocks since it last started over: three accesses.
pub fn counter() -> u64 {
    write_port(CONTROL, 2 << 6);
    let count = u16::from_le_bytes([read_port(CHANNEL_2), read_port(CHANNEL_2)]);
    u64::from(count.wrapping_neg())
}
