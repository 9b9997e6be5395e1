//! Hyper-V's reference time, in units of 100 ns (TLFS 6.0b, timers).

use crate::cpu::{read_msr, tsc, write_msr};
use crate::page::Page;

const TIME_REF_COUNT: u32 = 0x4000_0020;
const REFERENCE_TSC: u32 = 0x4000_0021;

const SEQUENCE: usize = 0;
const SCALE: usize = 8;
const OFFSET: usize = 16;

static PAGE: Page = Page::new();

/// Asks for the page: its sequence, which is 0 if there is none.
pub fn open() -> u64 {
    write_msr(REFERENCE_TSC, PAGE.address() | 1);
    PAGE.read(SEQUENCE) & 0xffff_ffff
}

/// Reference time by the page. Nothing changes it while a payload runs, so that it is read once.
#[inline(always)]
pub fn by_page() -> u64 {
    let product = u128::from(tsc()) * u128::from(PAGE.read(SCALE));
    ((product >> 64) as u64).wrapping_add(PAGE.read(OFFSET))
}

/// Reference time by the MSR.
#[inline(always)]
pub fn by_msr() -> u64 {
    read_msr(TIME_REF_COUNT)
}
