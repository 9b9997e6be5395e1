//! Hyper-V's synthetic interrupt controller.

pub mod timer;

use crate::cpu::write_msr;

const GUEST_OS_ID: u32 = 0x4000_0000;
/// SCONTROL: bit 0 turns it on, as it is after reset.
pub const SCONTROL: u32 = 0x4000_0080;
/// SIEFP: the event flags' page, with bit 0.
pub const SIEFP: u32 = 0x4000_0082;
/// SIMP: the messages' page, with bit 0.
pub const SIMP: u32 = 0x4000_0083;
/// EOM: a slot was emptied.
pub const EOM: u32 = 0x4000_0084;
/// The first source.
pub const SINT0: u32 = 0x4000_0090;
/// SINT: masked.
pub const MASKED: u64 = 1 << 16;
/// SINT: AutoEOI.
pub const AUTO_EOI: u64 = 1 << 17;

/// Says who the guest is, which hypervisors want first.
pub fn identify() {
    // Open source, no vendor.
    write_msr(GUEST_OS_ID, 1 << 63);
}

/// Says where messages go: the address of a page.
pub fn set_message_page(address: u64) {
    write_msr(SIMP, address | 1);
}

/// Says that a message slot with another message waiting behind it is empty again.
pub fn end_of_message() {
    write_msr(EOM, 0);
}

/// Writes source `n`.
#[inline(always)]
pub fn set_source(n: u32, value: u64) {
    write_msr(SINT0 + n, value);
}
