//! The local APIC, through its page or its MSRs.

// UNSAFETY: the APIC page.
#![expect(unsafe_code, reason = "memory-mapped registers")]

use crate::cpu::{cli, read_memory, read_msr, sti_nop, write_msr, write_port};
use core::sync::atomic::{AtomicBool, Ordering};
use trapline_defs::apic::offset;
use trapline_defs::msr::APIC_BASE;

/// Spurious vector.
const SPURIOUS: u64 = 0xff;
const PAGE: u64 = 0xfee0_0000;
const ENABLE_X2APIC: u64 = 1 << 10;
/// ICR: shorthand self, assert.
const TO_SELF: u64 = 1 << 18 | 1 << 14;

static X2APIC: AtomicBool = AtomicBool::new(false);

/// How the registers are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the page.
    XApic,
    /// By MSRs.
    X2Apic,
}

impl Mode {
    /// The page if that is so, else MSRs.
    pub const fn xapic_if(by_page: bool) -> Self {
        if by_page { Self::XApic } else { Self::X2Apic }
    }
}

/// Turns the APIC on, and the 8259 pair off: unmasked, its lines come in through LINT0.
pub fn open(mode: Mode) {
    write_port(0x21, 0xff);
    write_port(0xa1, 0xff);
    X2APIC.store(mode == Mode::X2Apic, Ordering::Relaxed);
    open_again();
}

/// Turns the APIC of another vCPU on, in the mode of the first one's.
pub fn open_again() {
    if is_x2apic() {
        write_msr(APIC_BASE, read_msr(APIC_BASE) | ENABLE_X2APIC);
    }
    write(offset::SVR, 0x100 | SPURIOUS);
}

/// Whether the payload chose x2APIC mode.
#[inline(always)]
pub fn is_x2apic() -> bool {
    X2APIC.load(Ordering::Relaxed)
}

/// The APIC id of the vCPU.
pub fn id() -> u32 {
    let id = read(offset::ID) as u32;
    if is_x2apic() { id } else { id >> 24 }
}

/// Takes one interrupt of its own, on `vector`, whose handler must be in place: a hypervisor that
/// decides about CR8 intercepts when it evaluates events (rule CR8-1) has then done so with the
/// APIC on. Leaves interrupts off.
pub fn settle(vector: u8) {
    self_ipi(vector);
    sti_nop();
    cli();
}

/// Reads a register by its offset in the page.
#[inline(always)]
pub fn read(register: u16) -> u64 {
    if is_x2apic() { read_msr(offset::to_msr(register)) } else { read_page(register) }
}

/// Writes a register by its offset in the page.
#[inline(always)]
pub fn write(register: u16, value: u64) {
    if is_x2apic() {
        write_msr(offset::to_msr(register), value);
    } else {
        write_page(register, value as u32);
    }
}

#[inline(always)]
fn read_page(register: u16) -> u64 {
    // SAFETY: the page is mapped; reading an APIC register touches no memory.
    let value = unsafe { read_memory(PAGE + u64::from(register)) };
    u64::from(value)
}

#[inline(always)]
fn write_page(register: u16, value: u32) {
    // SAFETY: as for `read_page`.
    unsafe { ((PAGE + u64::from(register)) as *mut u32).write_volatile(value) };
}

/// Ends the interrupt in service.
#[inline(always)]
pub fn eoi() {
    write(offset::EOI, 0);
}

/// Sends itself a fixed interrupt by ICR. In xAPIC mode both halves are written, as drivers do.
#[inline(always)]
pub fn self_ipi(vector: u8) {
    command(0, TO_SELF | u64::from(vector));
}

/// Writes the ICR: an APIC id, and the low half.
#[inline(always)]
pub fn command(to: u32, low: u64) {
    if is_x2apic() {
        write_msr(offset::to_msr(offset::ICR), u64::from(to) << 32 | low);
    } else {
        write_page(offset::ICR_HIGH, to << 24);
        write_page(offset::ICR, low as u32);
    }
}

/// Whether `vector` is in service.
pub fn in_service(vector: u8) -> bool {
    bit(offset::ISR, vector)
}

/// Whether `vector` waits.
pub fn requested(vector: u8) -> bool {
    bit(offset::IRR, vector)
}

fn bit(first: u16, vector: u8) -> bool {
    read(first + u16::from(vector / 32) * 16) >> (vector % 32) & 1 != 0
}
