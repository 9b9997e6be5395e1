//! The laboratory, from the payload's side (`trapline_abi::laboratory`): the payload is the hypervisor
//! of its own vCPU.

use crate::call;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use trapline_abi::call::UNAVAILABLE;
pub use trapline_abi::laboratory::{Field, Knob, Part};
use trapline_defs::apic::offset;
use trapline_defs::avic::{LogicalEntry, PhysicalEntry};

/// Offsets in the VMCB's control area.
pub mod control {
    /// Intercept word 3 (low half) and 4.
    pub const INTERCEPT_3: u16 = 0x00c;
    /// Intercept word 5 (low half).
    pub const INTERCEPT_5: u16 = 0x014;
    /// CR intercepts (low half) and DR.
    pub const INTERCEPT_CR: u16 = 0x000;
    /// TLB control, in bits 39:32; ASID below.
    pub const ASID_TLB: u16 = 0x058;
    /// The virtual interrupt word.
    pub const V_INTR: u16 = 0x060;
    /// Interrupt shadow.
    pub const SHADOW: u16 = 0x068;
    /// Nested paging enable.
    pub const NESTED: u16 = 0x090;
    /// V_APIC_BAR.
    pub const APIC_BAR: u16 = 0x098;
    /// EVENTINJ.
    pub const EVENT_INJECTION: u16 = 0x0a8;
    /// Clean bits.
    pub const CLEAN: u16 = 0x0c0;
    /// AVIC's backing page.
    pub const BACKING: u16 = 0x0e0;
    /// AVIC's logical table.
    pub const LOGICAL: u16 = 0x0f0;
    /// AVIC's physical table and last index.
    pub const PHYSICAL: u16 = 0x0f8;
}

/// Bits of [`control::V_INTR`].
pub mod v_intr {
    /// V_IRQ.
    pub const V_IRQ: u64 = 1 << 8;
    /// vGIF's value.
    pub const V_GIF: u64 = 1 << 9;
    /// A virtual NMI is pending.
    pub const V_NMI: u64 = 1 << 11;
    /// Virtual NMIs are masked.
    pub const V_NMI_MASK: u64 = 1 << 12;
    /// V_IGN_TPR.
    pub const IGNORE_TPR: u64 = 1 << 20;
    /// V_INTR_MASKING.
    pub const MASKING: u64 = 1 << 24;
    /// vGIF enable.
    pub const V_GIF_ENABLE: u64 = 1 << 25;
    /// VNMI enable.
    pub const V_NMI_ENABLE: u64 = 1 << 26;
    /// x2AVIC.
    pub const X2AVIC: u64 = 1 << 30;
    /// AVIC.
    pub const AVIC: u64 = 1 << 31;
}

/// Sets a field.
///
/// # Panics
/// If the target does not take it: not the laboratory, or a pointer that it does not let through.
pub fn poke(field: Field, value: u64) {
    let answer = call::poke(field.to_word(), value);
    assert!(answer == 0, "the laboratory does not take {value:#x} for {field:?}");
}

/// Whether the target took the value.
pub fn try_poke(field: Field, value: u64) -> bool {
    call::poke(field.to_word(), value) == 0
}

/// Reads a field.
///
/// # Panics
/// If there is none.
pub fn peek(field: Field) -> u64 {
    let answer = call::peek(field.to_word());
    assert!(answer != UNAVAILABLE, "the laboratory has no {field:?}");
    answer
}

/// A word of the control area.
pub fn control(offset: u16) -> u64 {
    peek(Field::Control(offset))
}

/// Sets a word of the control area.
pub fn set_control(offset: u16, value: u64) {
    poke(Field::Control(offset), value);
}

/// Changes a word of the control area.
pub fn change(offset: u16, clear: u64, set: u64) {
    set_control(offset, control(offset) & !clear | set);
}

/// A register of a vCPU's backing page.
pub fn page(vcpu: u8, register: u16) -> u32 {
    peek(Field::Page(vcpu, register)) as u32
}

/// Sets a register of a vCPU's backing page.
pub fn set_page(vcpu: u8, register: u16, value: u32) {
    poke(Field::Page(vcpu, register), value.into());
}

/// Whether a vector is set in a bank (ISR, TMR, IRR) of a vCPU's backing page.
pub fn has(vcpu: u8, bank: u16, vector: u8) -> bool {
    page(vcpu, bank + u16::from(vector >> 5) * 16) >> (vector & 31) & 1 != 0
}

/// Sets or clears a vector in a bank.
pub fn set_vector(vcpu: u8, bank: u16, vector: u8, on: bool) {
    let register = bank + u16::from(vector >> 5) * 16;
    let (word, bit) = (page(vcpu, register), 1 << (vector & 31));
    set_page(vcpu, register, if on { word | bit } else { word & !bit });
}

/// Whether a bank has no vector at all.
pub fn is_empty(vcpu: u8, bank: u16) -> bool {
    (0..8).all(|word| page(vcpu, bank + word * 16) == 0)
}

/// Sets the physical table's entry of `id`: backing page of vCPU `page`, running on core `host` or not.
pub fn set_entry(id: u16, page: u8, host: Option<u16>) {
    let address = peek(Field::Address(page));
    let entry = match host {
        Some(host) => PhysicalEntry::running(address, host),
        None => PhysicalEntry::parked(address),
    };
    poke(Field::Entry(id), entry.into_bits());
}

/// Makes the physical table's entry of `id` invalid.
pub fn clear_entry(id: u16) {
    poke(Field::Entry(id), 0);
}

/// Sets the logical table's entry at `index` to a guest's id, or makes it invalid.
pub fn set_logical(index: u16, id: Option<u8>) {
    let entry = LogicalEntry::new();
    let entry = id.map_or(entry, |id| entry.with_guest_id(id).with_valid(true));
    poke(Field::Logical(index), entry.into_bits().into());
}

/// An exit that the laboratory kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// EXITCODE.
    pub code: u64,
    /// EXITINFO1.
    pub info_1: u64,
    /// EXITINFO2.
    pub info_2: u64,
}

/// Exit codes.
pub mod code {
    /// MOV to CR8.
    pub const WRITE_CR8: u64 = 0x18;
    /// Physical interrupt.
    pub const INTR: u64 = 0x60;
    /// V_IRQ window.
    pub const VINTR: u64 = 0x64;
    /// HLT.
    pub const HLT: u64 = 0x78;
    /// RDMSR or WRMSR.
    pub const MSR: u64 = 0x7c;
    /// Idle HLT.
    pub const IDLE_HLT: u64 = 0xa6;
    /// Nested page fault.
    pub const NPF: u64 = 0x400;
    /// Incomplete IPI.
    pub const INCOMPLETE_IPI: u64 = 0x401;
    /// Unaccelerated access.
    pub const NO_ACCEL: u64 = 0x402;
    /// VMRUN refused the VMCB.
    pub const INVALID: u64 = u64::MAX;
}

/// Forgets exits and doorbells. The first time the laboratory takes over.
pub fn clear() {
    poke(Field::Exits, 0);
    poke(Field::Rings, 0);
}

/// How many exits there were.
pub fn exits() -> u64 {
    peek(Field::Exits)
}

/// The exit with that number since [`clear`].
pub fn exit(index: u8) -> Exit {
    if u64::from(index) >= exits() {
        return Exit::default();
    }
    // VMEXIT_INVALID is the word that stands for no answer.
    let part = |part| call::peek(Field::Exit(index, part).to_word());
    Exit { code: part(Part::Code), info_1: part(Part::Info1), info_2: part(Part::Info2) }
}

/// How many doorbells were rung.
pub fn rings() -> u64 {
    peek(Field::Rings)
}

/// Makes the vCPU's own AVIC ready: own entry running, APIC page mapped, everything empty; xAPIC or
/// x2APIC. The x2APIC's MSRs are let through.
pub fn avic(x2apic: bool) {
    let host = peek(Field::HostId) as u16;
    for word in (0..0x400u16).step_by(4) {
        set_page(0, word, 0);
    }
    set_page(0, offset::VERSION, 0x0005_0014);
    set_page(0, offset::DFR, u32::MAX);
    set_page(0, offset::SVR, 0x1ff);
    set_entry(0, 0, Some(host));
    poke(Field::Leaf, if x2apic { 0 } else { 3 });
    for msr in 0..=255 {
        poke(Field::ReadIntercept(msr), u64::from(!x2apic));
        poke(Field::WriteIntercept(msr), u64::from(!x2apic));
    }
    set_control(control::APIC_BAR, 0xfee0_0000);
    set_control(control::BACKING, peek(Field::Address(0)));
    let last = if x2apic { 511 } else { 254 };
    set_control(control::PHYSICAL, peek(Field::PhysicalTable) | last);
    set_control(control::LOGICAL, peek(Field::LogicalTable));
    let mode = if x2apic { v_intr::X2AVIC } else { 0 };
    change(control::V_INTR, 0xf | v_intr::X2AVIC, v_intr::AVIC | mode);
    clear();
}

static MODELED: AtomicBool = AtomicBool::new(false);

/// As [`avic`], and CR8 is the guest's: a VMCB begins with its writes intercepted.
pub fn take_over(x2apic: bool) {
    avic(x2apic);
    change(control::INTERCEPT_CR, 1 << 24, 0);
    MODELED.store(try_poke(Field::Knob(Knob::Relaxed), 0), Relaxed);
}

/// Whether the processor that was taken over is a model, whose knobs and doorbells the laboratory has.
pub fn is_modeled() -> bool {
    MODELED.load(Relaxed)
}

/// V_TPR as the last exit left it.
pub fn v_tpr() -> u64 {
    control(control::V_INTR) & 0xf
}

/// Sets V_TPR as a hypervisor does.
pub fn set_v_tpr(class: u8) {
    change(control::V_INTR, 0xf, class.into());
}
