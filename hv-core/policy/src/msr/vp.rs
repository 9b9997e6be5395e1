//! Hyper-V's MSRs that reach beyond its own state: the local APIC's EOI, ICR and TPR, the assist page, the
//! run time, and RESET.

#[cfg(test)]
mod tests;

use super::carry_out;
use crate::avic::registers;
use crate::fault::Gp;
use crate::handle::{Next, Stop};
use crate::hyperv::{EOI, Effect, ICR, RESET, TPR, VP_ASSIST_PAGE, VP_RUNTIME, offered};
use crate::lapic::Lapic;
use crate::memory::GuestMemory;
use crate::time::Ns;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_defs::apic::offset;
use trapline_defs::vmcb::Vmcb;

/// The register behind an MSR of the local APIC.
const fn register(msr: u32) -> Option<u16> {
    match msr {
        EOI => Some(offset::EOI),
        ICR => Some(offset::ICR),
        TPR => Some(offset::TPR),
        _ => None,
    }
}

/// Works on the local APIC, wherever its state is. The mode does not matter: these MSRs are the way to the
/// same registers with xAPIC and x2APIC, and with AVIC, which never gets to see them.
fn with_apic<T>(vm: &Vm<'_>, vcpu: &mut Vcpu, work: impl FnOnce(&mut Lapic) -> T) -> T {
    if vcpu.avic.active {
        let page = vm.avic.page(vcpu.index);
        registers::with(&mut vcpu.lapic, page, work)
    } else {
        work(&mut vcpu.lapic)
    }
}

/// Whether an MSR is one of these.
pub(super) const fn has(msr: u32) -> bool {
    matches!(msr, RESET | VP_RUNTIME | EOI..=VP_ASSIST_PAGE)
}

/// RDMSR. EOI cannot be read (HV-024).
#[cold]
#[inline(never)]
pub(super) fn read(vm: &Vm<'_>, vcpu: &mut Vcpu, msr: u32, now: Ns) -> Result<u64, Gp> {
    offered(&vm.devices().partition, msr)?;
    match msr {
        RESET => Ok(0),
        VP_RUNTIME => Ok(vcpu.runtime.at(now)),
        VP_ASSIST_PAGE => Ok(vcpu.assist.value()),
        TPR => Ok(vcpu.lapic.tpr().into()),
        ICR => {
            let (low, high) = with_apic(vm, vcpu, |lapic| lapic.command());
            Ok(u64::from(high) << 32 | u64::from(low))
        }
        _ => Err(Gp),
    }
}

/// WRMSR.
#[cold]
#[inline(never)]
pub(super) fn write<M: GuestMemory>(
    vm: &mut Vm<'_>,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    msr: u32,
    value: u64,
    now: Ns,
) -> Result<Next, Gp> {
    offered(&vm.devices().partition, msr)?;
    match msr {
        // KVM asks for exactly 1; the TLFS for bit 0 (HV-035).
        RESET if value == 1 => return Ok(Next::Stop(Stop::Reset)),
        RESET => {}
        VP_RUNTIME => return Err(Gp),
        VP_ASSIST_PAGE => {
            let effect = vcpu.assist.write(&vm.devices().partition, &mut vcpu.pv_eoi, value)?;
            if let Effect::WriteBytes { address, bytes } = effect {
                for (at, byte) in (address..).zip(bytes) {
                    memory.write_u8(at, *byte);
                }
            }
        }
        _ => {
            let register = register(msr).ok_or(Gp)?;
            let effect = with_apic(vm, vcpu, |lapic| lapic.write_wide(register, value, now))?;
            return Ok(carry_out(vm, vcpu, vmcb, effect));
        }
    }
    Ok(Next::Enter)
}
