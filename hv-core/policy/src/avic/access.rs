//! Exit 402h: an access to a register that AVIC does not accelerate (spec avic.md 5.8; AVH-006 to
//! AVH-008, AVH-029).

use super::registers;
use crate::handle::{Handled, Next};
use crate::lapic::Mode;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use crate::{mmio, msr, xen_rfc};
use trapline_abi::exit::ExitKey;
use trapline_defs::apic::offset;
use trapline_defs::avic::NoAccel;
use trapline_defs::vmcb::Vmcb;

/// The registers whose writes trap: the value is in the page, RIP behind the instruction.
pub const fn traps(register: u16) -> bool {
    matches!(
        register,
        offset::ID
            | offset::EOI
            | offset::REMOTE_READ
            | offset::LDR
            | offset::DFR
            | offset::SVR
            | offset::ESR
            | offset::ICR
            | offset::LVT_TIMER
            ..=offset::LVT_ERROR | offset::TIMER_INITIAL | offset::TIMER_DIVIDE
    )
}

/// Answers the exit at host TSC `at`. `saved` says whether all registers are up to date.
#[cold]
#[inline(never)]
pub fn unaccelerated<M: GuestMemory>(
    vm: &mut Vm<'_>,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
    saved: bool,
) -> Handled {
    let info = NoAccel::from_bits(vmcb.control.exit_info_1);
    let (register, write) = (info.offset(), info.write());
    let key = ExitKey::access(vmcb.control.exit_code.0, u32::from(register), write);
    if vm.features.release.xen_rfc
        && let Some(next) = xen_rfc::refuses(vcpu, register, write)
    {
        return Handled { key, next };
    }
    if write && traps(register) {
        return Handled { key, next: trapped(vm, vcpu, vmcb, register, at) };
    }
    let next = if vcpu.lapic.mode() == Mode::X2Apic {
        by_msr(vm, vcpu, vmcb, memory, write, at)
    } else {
        mmio::unaccelerated(vm, vcpu, vmcb, memory, register, at, saved)
    };
    Handled { key, next }
}

/// The write happened; what it means beyond the page is done now.
fn trapped(vm: &mut Vm<'_>, vcpu: &mut Vcpu, vmcb: &mut Vmcb, register: u16, at: u64) -> Next {
    let page = vm.avic.page(vcpu.index);
    let value = page.load(register);
    let now = vm.clock.at(at);
    let x2apic = vcpu.lapic.mode() == Mode::X2Apic;
    let effect = registers::with(&mut vcpu.lapic, page, |lapic| {
        if x2apic {
            // Already checked by the processor: there is no `#GP` left to give.
            let msr = trapline_defs::msr::X2APIC_FIRST + u32::from(register >> 4);
            lapic.write_msr(msr, u64::from(value), now).unwrap_or(crate::lapic::Effect::None)
        } else {
            lapic.write_mmio(register, value, now)
        }
    });
    msr::carry_out(vm, vcpu, vmcb, effect)
}

/// RDMSR or WRMSR: nothing happened yet, and RIP is at the instruction.
fn by_msr<M: GuestMemory>(
    vm: &mut Vm<'_>,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    write: bool,
    at: u64,
) -> Next {
    // Whatever follows sees what an MSR exit of the same instruction would have shown.
    vmcb.control.exit_info_1 = u64::from(write);
    msr::access(vm, vcpu, vmcb, memory, at).next
}
