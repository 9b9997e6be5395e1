//! Hyper-V's way to the local APIC: MSRs for EOI, ICR and TPR, and the VP assist page (TLFS 6.0b, local APIC).

use crate::apic;
use crate::cpu::{cpuid, read_msr, write_msr};
use crate::page::Page;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// EOI.
pub const EOI: u32 = 0x4000_0070;
/// ICR.
pub const ICR: u32 = 0x4000_0071;
/// TPR.
pub const TPR: u32 = 0x4000_0072;
/// VP_ASSIST_PAGE.
pub const VP_ASSIST_PAGE: u32 = 0x4000_0073;

const FEATURES: u32 = 0x4000_0003;
const RECOMMENDATIONS: u32 = 0x4000_0004;
/// ICR: shorthand self, assert.
const TO_SELF: u64 = 1 << 18 | 1 << 14;

static PAGE: Page = Page::new();
static BY_MSR: AtomicBool = AtomicBool::new(false);

/// Whether the MSRs are there (leaf 3 EAX bit 4).
pub fn is_offered() -> bool {
    cpuid(FEATURES)[0] >> 4 & 1 != 0
}

/// Chooses the MSRs where they are recommended (leaf 4 EAX bit 3), as Windows does, and the APIC's own
/// registers elsewhere. Whether it was the MSRs.
pub fn choose() -> bool {
    let by_msr = cpuid(RECOMMENDATIONS)[0] >> 3 & 1 != 0;
    BY_MSR.store(by_msr, Relaxed);
    by_msr
}

/// Ends the interrupt in service, in the chosen way.
#[inline(always)]
pub fn eoi() {
    if BY_MSR.load(Relaxed) {
        write_msr(EOI, 0);
    } else {
        apic::eoi();
    }
}

/// Sends itself a fixed interrupt, in the chosen way.
#[inline(always)]
pub fn self_ipi(vector: u8) {
    if BY_MSR.load(Relaxed) {
        write_msr(ICR, TO_SELF | u64::from(vector));
    } else {
        apic::self_ipi(vector);
    }
}

/// Writes the ICR by its MSR: an APIC id, which is in bits 63:56 unless x2APIC is on, and the low half.
pub fn command(to: u32, low: u64) {
    let shift = if apic::is_x2apic() { 32 } else { 56 };
    write_msr(ICR, u64::from(to) << shift | low);
}

/// The task priority by its MSR.
pub fn tpr() -> u64 {
    read_msr(TPR)
}

/// Turns the assist page on, full of `filling` before.
pub fn open_assist(filling: u64) {
    fill_assist(filling);
    write_msr(VP_ASSIST_PAGE, PAGE.address() | 1);
}

/// Fills the assist page.
pub fn fill_assist(filling: u64) {
    for at in (0..4096).step_by(8) {
        PAGE.write(at, filling);
    }
}

/// Turns it off. Its address stays in the MSR.
pub fn close_assist() {
    write_msr(VP_ASSIST_PAGE, PAGE.address());
}

/// The assist page.
pub fn assist() -> &'static Page {
    &PAGE
}

/// Whether bit 0 of it, NoEoiRequired, is set.
#[inline(always)]
pub fn needs_no_eoi() -> bool {
    PAGE.read(0) & 1 != 0
}

/// Takes the offer: tests and clears the bit at once. Whether it was set, and no EOI is owed.
#[inline(always)]
pub fn take_offer() -> bool {
    PAGE.clear_bit_0()
}
