//! What a hypercall is called with (TLFS 6.0b 3.7; spec hyperv.md 7.1).

use super::status::Status;
use crate::gprs::Gprs;
use trapline_defs::msr::efer;
use trapline_defs::vmcb::Vmcb;

/// The halves of XMM0 to XMM5, low half first: 96 bytes of a fast call's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xmm(pub [u64; 12]);

/// CS.L, in a VMCB's segment attributes.
const LONG: u16 = 1 << 9;

/// Input value: arguments are in registers.
const FAST: u64 = 1 << 16;
/// Input value: bits 30:27, 47:44 and 63:60 are reserved, and KVM has bit 31 (a nested hypervisor's call)
/// among them (HV-203).
const RESERVED: u64 = 0x1f << 27 | 0xf << 44 | 0xf << 60;

/// A call's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    value: u64,
    /// The guest-physical address of the input block, or its first eight bytes.
    pub first: u64,
    /// The guest-physical address of the output block, or the second eight bytes of a fast call's input.
    pub second: u64,
}

/// Whether the caller runs 64-bit code, and so whether registers are whole.
fn is_64_bit(vmcb: &Vmcb) -> bool {
    vmcb.save.efer & efer::LMA != 0 && vmcb.save.cs.attributes & LONG != 0
}

impl Input {
    /// The registers of the caller (HV-209: pairs of them in 32-bit code).
    pub fn read(gprs: &Gprs, vmcb: &Vmcb) -> Self {
        if is_64_bit(vmcb) {
            return Self { value: gprs.rcx, first: gprs.rdx, second: gprs.r8 };
        }
        let pair = |high: u64, low: u64| high << 32 | low & 0xffff_ffff;
        Self {
            value: pair(gprs.rdx, vmcb.save.rax),
            first: pair(gprs.rbx, gprs.rcx),
            second: pair(gprs.rdi, gprs.rsi),
        }
    }

    /// Which call.
    pub const fn code(&self) -> u16 {
        self.value as u16
    }

    /// Its arguments are in registers.
    pub const fn is_fast(&self) -> bool {
        self.value & FAST != 0
    }

    /// Eight-byte words of its variable header.
    pub const fn header(&self) -> u32 {
        (self.value >> 17) as u32 & 0x3ff
    }

    /// It counts repetitions, or claims to have done some.
    pub const fn is_repeated(&self) -> bool {
        self.value >> 32 & 0xfff != 0 || self.value >> 48 & 0xfff != 0
    }

    /// Reserved bits are set.
    pub const fn is_malformed(&self) -> bool {
        self.value & RESERVED != 0
    }
}

/// Tells the caller what came of it. No call repeats, so the rest of the result is 0.
pub fn answer(gprs: &mut Gprs, vmcb: &mut Vmcb, status: Status) {
    vmcb.save.rax = status as u64;
    if !is_64_bit(vmcb) {
        gprs.rdx = 0;
    }
}
