//! MSRs: those of the devices, those that the VMCB holds, and none else.

mod vp;

use crate::avic::{activation, inhibits, registers};
use crate::events;
use crate::fault::Gp;
use crate::handle::{Handled, Next, Stop, finish};
use crate::hyperv;
use crate::kvm;
use crate::lapic::{Delivery, Effect, Mode};
use crate::memory::GuestMemory;
use crate::time::Ns;
use crate::vcpu::Vcpu;
use crate::vm::{Devices, Vm};
use crate::xen;
use trapline_abi::exit::{self, ExitKey};
use trapline_abi::plan::Seed;
use trapline_defs::apic::offset;
use trapline_defs::msr::{
    APIC_BASE, EFER, FS_BASE, GS_BASE, HYPERV_FIRST, HYPERV_LAST, MISC_ENABLE, PAT, TSC,
    TSC_DEADLINE, X2APIC_FIRST, X2APIC_LAST, efer,
};
use trapline_defs::vmcb::Vmcb;

/// MSRs that VMLOAD and VMSAVE switch, so that a guest may have them without an exit, as KVM lets
/// it. Everything else exits.
pub const PASSED_THROUGH: &[u32] = &[
    trapline_defs::msr::STAR,
    trapline_defs::msr::LSTAR,
    trapline_defs::msr::CSTAR,
    trapline_defs::msr::SFMASK,
    FS_BASE,
    GS_BASE,
    trapline_defs::msr::KERNEL_GS_BASE,
];

/// Whether x2AVIC answers an x2APIC MSR without an exit of kind [`ExitCode::MSR`]: what KVM passed
/// through from 6.0 until 2025 (spec avic.md 5.3). The self-IPI and all but the first register of each
/// bank are not among it, and neither is the timer's LVT, of which Zen 4 faults bit 18.
///
/// [`ExitCode::MSR`]: trapline_defs::exit_code::ExitCode::MSR
pub const fn x2avic_passes(msr: u32) -> bool {
    matches!(
        offset::of_msr(msr),
        offset::ID
            | offset::VERSION
            | offset::TPR
            | offset::APR
            | offset::PPR
            | offset::EOI
            | offset::REMOTE_READ
            | offset::LDR
            | offset::DFR
            | offset::SVR
            | offset::ISR
            | offset::TMR
            | offset::IRR
            | offset::ESR
            | offset::ICR
            | offset::ICR_HIGH
            | offset::LVT_THERMAL
            ..=offset::LVT_ERROR
                | offset::TIMER_INITIAL
                | offset::TIMER_CURRENT
                | offset::TIMER_DIVIDE
    )
}

/// RDMSR or WRMSR.
#[inline(never)]
pub fn access<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    at: u64,
) -> Handled {
    let msr = vcpu.gprs.rcx as u32;
    let write = vmcb.control.exit_info_1 & 1 != 0;
    let key = ExitKey::access(exit::MSR, msr, write);
    let now = vm.clock.at(at);
    let result = if write {
        let value = vcpu.gprs.rdx << 32 | vmcb.save.rax & 0xffff_ffff;
        if (X2APIC_FIRST..=X2APIC_LAST).contains(&msr) {
            if vcpu.avic.active {
                return under_avic(vm, vcpu, vmcb, key, now);
            }
            match vcpu.lapic.write_msr(msr, value, now) {
                Ok(effect) => {
                    vmcb.skip(2);
                    return match carry_out(vm, vcpu, vmcb, effect) {
                        Next::Enter => Handled::enter(key),
                        next => Handled { key, next },
                    };
                }
                Err(Gp) => Err(Gp),
            }
        } else {
            return write_other(vm, vcpu, vmcb, memory, key, value, now);
        }
    } else {
        let value = if (X2APIC_FIRST..=X2APIC_LAST).contains(&msr) {
            if vcpu.avic.active {
                return under_avic(vm, vcpu, vmcb, key, now);
            }
            vcpu.lapic.read_msr(msr, now)
        } else {
            read(vm, vcpu, vmcb, msr, now)
        };
        value.map(|value| {
            vmcb.save.rax = value & 0xffff_ffff;
            vcpu.gprs.rdx = value >> 32;
        })
    };
    finish(vcpu, vmcb, 2, result);
    Handled::enter(key)
}

/// An x2APIC MSR whose access exits although AVIC is on.
#[cold]
#[inline(never)]
fn under_avic(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, key: ExitKey, now: Ns) -> Handled {
    let msr = vcpu.gprs.rcx as u32;
    let page = vm.avic.page(vcpu.index);
    let write = vmcb.control.exit_info_1 & 1 != 0;
    let value = vcpu.gprs.rdx << 32 | vmcb.save.rax & 0xffff_ffff;
    let result = registers::with(&mut vcpu.lapic, page, |lapic| {
        if write {
            lapic.write_msr(msr, value, now).map(|effect| (effect, value))
        } else {
            lapic.read_msr(msr, now).map(|value| (Effect::None, value))
        }
    });
    let mut next = Next::Enter;
    let done = result.map(|(effect, value)| {
        if write {
            next = carry_out(vm, vcpu, vmcb, effect);
        } else {
            vmcb.save.rax = value & 0xffff_ffff;
            vcpu.gprs.rdx = value >> 32;
        }
    });
    finish(vcpu, vmcb, 2, done);
    Handled { key, next }
}

/// What a write to the local APIC asks for beyond it, and the copies of its state elsewhere.
#[inline]
pub fn carry_out(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, effect: Effect) -> Next {
    match effect {
        Effect::Ipi(icr) => match vm.send_ipi(vcpu, icr) {
            Delivery::Init => return Next::Stop(Stop::Init),
            Delivery::Nmi => vcpu.nmi(),
            Delivery::Unhalt => vcpu.unhalt(),
            _ => return Next::Enter,
        },
        Effect::Eoi(eoi) => {
            if eoi.ioapic {
                vm.end_of_interrupt(vcpu, eoi);
            }
            return Next::Enter;
        }
        Effect::None => {
            // TPR, LVTs and the timer are among those.
            vmcb.control.v_intr.set_v_tpr(vcpu.lapic.tpr() >> 4);
            vcpu.rearm |= vcpu.lapic.next_deadline() != vcpu.armed;
            if vcpu.lapic.map_changed {
                map_changed(vm, vcpu);
            }
        }
    }
    Next::Enter
}

/// Destinations or redirection entries changed: what was derived from them is derived anew.
#[cold]
pub fn map_changed(vm: &Vm, vcpu: &mut Vcpu) {
    vcpu.lapic.map_changed = false;
    vm.mailbox(vcpu.index).publish(vcpu.lapic.identity());
    let handled = vm.devices().ioapic.handled_by(&vcpu.lapic);
    vcpu.want_eois(handled);
    vcpu.cpuid.set_apic_enabled(vcpu.lapic.mode() != Mode::Disabled);
    if vm.features.avic {
        inhibits::map_changed(vm, vcpu);
    }
    vcpu.apic_page = activation::software_page(vcpu);
}

#[cold]
#[inline(never)]
fn read(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &Vmcb, msr: u32, now: Ns) -> Result<u64, Gp> {
    Ok(match msr {
        TSC => vm.clock.ticks(now.0),
        APIC_BASE => vcpu.lapic.base(),
        MISC_ENABLE => vcpu.msrs.misc_enable,
        PAT => vmcb.save.g_pat,
        TSC_DEADLINE if vm.machine.tsc_deadline => vcpu.lapic.read_tsc_deadline(),
        // VMRUN needs SVME in every guest's EFER; the guest never had it.
        EFER => vmcb.save.efer & !efer::SVME,
        // It is only written.
        _ if xen::is_hypercall_msr(vm.machine, msr) => 0,
        HYPERV_FIRST..=HYPERV_LAST => {
            if vp::has(msr) {
                return vp::read(vm, vcpu, msr, now);
            }
            let Vcpu { synic, stimers, assist, .. } = vcpu;
            if msr == hyperv::VP_ASSIST_PAGE {
                hyperv::offered(&vm.devices().partition, msr)?;
                return Ok(assist.value());
            }
            return hyperv::read_msr(&vm.devices().partition, synic, stimers, msr, now);
        }
        _ => return kvm::read_msr(vm, vcpu, msr),
    })
}

/// WRMSR to anything but an x2APIC register.
#[cold]
#[inline(never)]
fn write_other<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    key: ExitKey,
    value: u64,
    now: Ns,
) -> Handled {
    let msr = vcpu.gprs.rcx as u32;
    let result = write(vm, vcpu, vmcb, memory, msr, value, now);
    finish(vcpu, vmcb, 2, result.map(drop));
    Handled { key, next: result.unwrap_or(Next::Enter) }
}

fn write<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    msr: u32,
    value: u64,
    now: Ns,
) -> Result<Next, Gp> {
    match msr {
        APIC_BASE => {
            vcpu.lapic.set_base(value, vm.machine.x2apic)?;
            map_changed(vm, vcpu);
            vcpu.rearm = true;
        }
        MISC_ENABLE => vcpu.msrs.misc_enable = value,
        PAT => {
            let types_exist = value.to_le_bytes().iter().all(|t| matches!(t, 0 | 1 | 4..=7));
            if !types_exist {
                return Err(Gp);
            }
            vmcb.save.g_pat = value;
        }
        TSC_DEADLINE if vm.machine.tsc_deadline => {
            vcpu.lapic.write_tsc_deadline(value, now);
            vcpu.rearm = true;
        }
        EFER => write_efer(vcpu, vmcb, value)?,
        _ if xen::is_hypercall_msr(vm.machine, msr) => {
            // Written before the next entry: the run loop calls `Vcpu::tell`.
            vcpu.hypercall_page = Some(xen::hypercall_page::at(value, vm.memory)?);
            vcpu.rearm = true;
        }
        HYPERV_FIRST..=HYPERV_LAST if vp::has(msr) => {
            return vp::write(vm, vcpu, vmcb, msr, value, now);
        }
        HYPERV_FIRST..=HYPERV_LAST => write_hyperv(vm, vcpu, memory, msr, value, now)?,
        _ => kvm::write_msr(vm, vcpu, msr, value)?,
    }
    Ok(Next::Enter)
}

fn write_efer(vcpu: &mut Vcpu, vmcb: &mut Vmcb, value: u64) -> Result<(), Gp> {
    const KNOWN: u64 = efer::SCE | efer::LME | efer::LMA | efer::NXE;
    let old = vmcb.save.efer;
    // LME cannot change under paging, and LMA never by a write.
    let paging = vmcb.save.cr0 & 1 << 31 != 0;
    if value & !KNOWN != 0 || paging && (value ^ old) & efer::LME != 0 {
        return Err(Gp);
    }
    vmcb.save.efer = value & !efer::LMA | old & efer::LMA | efer::SVME;
    // Entries of the old NXE may be cached.
    events::flush_tlb(vcpu, vmcb);
    Ok(())
}

#[cold]
#[inline(never)]
fn write_hyperv<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    memory: &M,
    msr: u32,
    value: u64,
    now: Ns,
) -> Result<(), Gp> {
    let effect = {
        let Devices { partition, inhibits, .. } = &mut *vm.devices();
        let Vcpu { synic, stimers, assist, pv_eoi, .. } = vcpu;
        if msr == hyperv::VP_ASSIST_PAGE {
            hyperv::offered(partition, msr)?;
            assist.write(partition, pv_eoi, value)?
        } else {
            hyperv::write_msr(partition, synic, stimers, inhibits, msr, value, now)?
        }
    };
    match effect {
        hyperv::Effect::WriteBytes { address, bytes } => {
            for (at, &byte) in bytes.iter().enumerate() {
                memory.write_u8(address + at as u64, byte);
            }
        }
        hyperv::Effect::ZeroPage { address } => {
            for at in 0..4096 {
                memory.write_u8(address + at, 0);
            }
        }
        hyperv::Effect::ReferencePage { address } => {
            vcpu.stimers.page = Some(address);
            vcpu.rearm = true;
        }
        hyperv::Effect::SintChanged { transitions } if transitions > 0 && vm.features.avic => {
            inhibits::announce(vm, vcpu);
        }
        // What is due is told before the next entry, as by KVM: the run loop calls `Vcpu::tell`.
        hyperv::Effect::TimerChanged => vcpu.rearm = true,
        hyperv::Effect::EndOfMessage if vm.seed == Some(Seed::EomIgnored) => {}
        hyperv::Effect::EndOfMessage => hyperv::delivery::retry(vcpu, u16::MAX),
        hyperv::Effect::None | hyperv::Effect::SintChanged { .. } => {}
    }
    Ok(())
}
