//! The HPET.

// UNSAFETY: the HPET's page.
#![expect(unsafe_code, reason = "memory-mapped registers")]

use crate::cpu::{read_memory, read_wide};

const PAGE: u64 = 0xfed0_0000;
const PERIOD: u64 = 4;
const CONFIGURATION: u64 = 0x10;
const STATUS: u64 = 0x20;
const COUNTER: u64 = 0xf0;
const TIMER_0: u64 = 0x100;
const COMPARATOR_0: u64 = 0x108;

const LEVEL: u32 = 1 << 1;
const INTERRUPTS: u32 = 1 << 2;
const PERIODIC: u32 = 1 << 3;
const SET_VALUE: u32 = 1 << 6;
const NARROW: u32 = 1 << 8;

/// The pin at the IOAPIC that the first timer is routed to.
pub const PIN: u8 = 20;

fn write(register: u64, value: u32) {
    // SAFETY: the page is mapped, and HPET registers touch no memory.
    unsafe { ((PAGE + register) as *mut u32).write_volatile(value) };
}

fn read(register: u64) -> u32 {
    // SAFETY: as for `write`.
    unsafe { read_memory(PAGE + register) }
}

/// Femtoseconds of one count.
pub fn period() -> u64 {
    read(PERIOD).into()
}

/// Lets the counter run.
pub fn start() {
    write(CONFIGURATION, 1);
}

/// The counter's lower half: one access.
#[inline(always)]
pub fn counter() -> u64 {
    read(COUNTER).into()
}

/// The whole counter: one access.
#[inline(always)]
pub fn wide_counter() -> u64 {
    read_wide(PAGE + COUNTER)
}

/// Makes the first timer interrupt every `counts`, from now on.
pub fn tick_every(counts: u64, by_level: bool) {
    let level = if by_level { LEVEL } else { 0 };
    let route = u32::from(PIN) << 9;
    write(TIMER_0, route | level | PERIODIC | SET_VALUE | NARROW | INTERRUPTS);
    write(COMPARATOR_0, (counter() + counts) as u32);
    // The second one is the period.
    write(COMPARATOR_0, counts as u32);
}

/// Ends its ticks.
pub fn stop() {
    write(TIMER_0, 0);
}

/// Takes the first timer's level-triggered interrupt back.
pub fn acknowledge() {
    write(STATUS, 1);
}
