//! Hyper-V's MSRs that reach beyond its own state: the local APIC's EOI, ICR and TPR, the run time, and RESET.

#[cfg(test)]
mod tests;

use super::carry_out;
use crate::avic::registers;
use crate::fault::Gp;
use crate::handle::{Next, Stop};
use crate::hyperv::{EOI, ICR, RESET, TPR, VP_RUNTIME, offered};
use crate::lapic::Lapic;
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
    matches!(msr, RESET | VP_RUNTIME | EOI..=TPR)
}

/// RDMSR. EOI cannot be read (HV-024).
#[cold]
#[inline(never)]
pub(super) fn read(vm: &Vm<'_>, vcpu: &mut Vcpu, msr: u32, now: Ns) -> Result<u64, Gp> {
    offered(&vm.devices().partition, msr)?;
    match msr {
        RESET => Ok(0),
        VP_RUNTIME => Ok(vcpu.runtime.at(now)),
        TPR => Ok(vcpu.lapic.tpr().into()),
        ICR => {
            let (low, high) = with_apic(vm, vcpu, |lapic| lapic.command());
            Ok(u64::from(high) << 32 | u64::from(low))
        }
        _ => Err(Gp),
    }
}

/// WRMSR. VP_ASSIST_PAGE, which touches guest memory, is written with the others of its kind.
#[cold]
#[inline(never)]
pub(super) fn write(
    vm: &mut Vm<'_>,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
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
        _ => return write_register(vm, vcpu, vmcb, msr, value, now),
    }
    Ok(Next::Enter)
}

#[cold]
#[inline(never)]
fn write_register(
    vm: &mut Vm<'_>,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    msr: u32,
    value: u64,
    now: Ns,
) -> Result<Next, Gp> {
    let register = register(msr).ok_or(Gp)?;
    let effect = with_apic(vm, vcpu, |lapic| lapic.write_wide(register, value, now))?;
    Ok(carry_out(vm, vcpu, vmcb, effect))
}
