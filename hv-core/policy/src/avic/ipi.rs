//! Exit 401h: the processor could not complete an IPI (spec avic.md 5.7; AVH-001 to AVH-005).

use crate::handle::{Handled, Next};
use crate::lapic::Effect;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use crate::{msr, xen_rfc};
use trapline_abi::exit::ExitKey;
use trapline_abi::plan::Seed;
use trapline_defs::apic::{DeliveryMode, Icr, Shorthand, offset};
use trapline_defs::avic::{FailureId, IncompleteIpi};
use trapline_defs::vmcb::Vmcb;

/// The ICR of EXITINFO1: in x2APIC mode its upper half is a 32-bit destination.
fn command(vcpu: &Vcpu, info_1: u64) -> Icr {
    let (high, low) = ((info_1 >> 32) as u32, info_1 as u32);
    if vcpu.lapic.mode() == crate::lapic::Mode::X2Apic {
        Icr::from_bits(info_1)
    } else {
        Icr::from_xapic(low, high)
    }
}

/// Answers the exit. RIP is behind the instruction already.
#[cold]
#[inline(never)]
pub fn incomplete(vm: &mut Vm<'_>, vcpu: &mut Vcpu, vmcb: &mut Vmcb) -> Handled {
    let info = IncompleteIpi::from_bits(vmcb.control.exit_info_2);
    let id = info.id();
    let key = ExitKey::number(vmcb.control.exit_code.0, id.0);
    let icr = command(vcpu, vmcb.control.exit_info_1);
    if vm.features.release.xen_rfc {
        return Handled { key, next: xen_rfc::incomplete_ipi(vm, vcpu, vmcb, icr, info) };
    }
    let is_resent = vm.seed == Some(Seed::IncompleteIpiResent) && id == FailureId::NOT_RUNNING;
    match id {
        _ if is_resent => return Handled { key, next: emulate(vm, vcpu, vmcb, icr) },
        // Linux before 6.3 warned of it instead (3.2 of the corrections).
        FailureId::INVALID_TARGET if vm.features.release.drops_invalid_targets => {}
        FailureId::INVALID_TYPE | FailureId::INVALID_TARGET => {
            return Handled { key, next: emulate(vm, vcpu, vmcb, icr) };
        }
        // The vectors are in their IRRs; setting them again could deliver twice.
        FailureId::NOT_RUNNING => kick_targets(vm, vcpu, icr),
        // KVM warns once of a backing page it made itself. A bad vector is the guest's business;
        // what no manual names is not worth the VM's life either (AVH-004).
        _ => {}
    }
    Handled { key, next: Next::Enter }
}

/// Sends the whole command in software, and takes the delivery status out that silicon may have left
/// in the page: a guest polls it.
pub fn emulate(vm: &mut Vm<'_>, vcpu: &mut Vcpu, vmcb: &mut Vmcb, icr: Icr) -> Next {
    let page = vm.avic.page(vcpu.index);
    let low = page.load(offset::ICR);
    page.store(offset::ICR, low & !(Icr::BUSY as u32));
    msr::carry_out(vm, vcpu, vmcb, Effect::Ipi(icr))
}

/// Wakes or kicks every target that may need it, and writes no IRR: one that runs meanwhile loses
/// nothing by it.
fn kick_targets(vm: &Vm<'_>, vcpu: &mut Vcpu, icr: Icr) {
    let fixed = matches!(icr.delivery_mode(), DeliveryMode::Fixed);
    if !fixed || matches!(icr.shorthand(), Shorthand::Itself) {
        return;
    }
    let own = vcpu.index;
    for index in (0..vm.vcpus).filter(|&index| index != own) {
        if vm.mailbox(index).identity().targeted_by_peer(icr) {
            vm.notify(vcpu, index);
        }
    }
}
