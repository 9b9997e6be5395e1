//! The CMOS clock.

use crate::cpu::{read_port, write_port};

const INDEX: u16 = 0x70;
const DATA: u16 = 0x71;
/// Register A.
pub const A: u8 = 0x0a;
/// Register B.
pub const B: u8 = 0x0b;
/// Register C.
pub const C: u8 = 0x0c;
/// Register D.
pub const D: u8 = 0x0d;
/// B: periodic interrupts.
pub const PIE: u8 = 0x40;
/// B: 24 hours.
pub const HOURS_24: u8 = 0x02;
/// C: IRQ 8 is high.
pub const IRQF: u8 = 0x80;

/// Chooses a register.
pub fn select(register: u8) {
    write_port(INDEX, register);
}

/// Reads a register: two accesses, index first.
#[inline(always)]
pub fn read(register: u8) -> u8 {
    write_port(INDEX, register);
    read_port(DATA)
}

/// Writes a register: two accesses, index first.
#[inline(always)]
pub fn write(register: u8, value: u8) {
    write_port(INDEX, register);
    write_port(DATA, value);
}
