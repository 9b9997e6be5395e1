//! Turning AVIC on and off for a vCPU (spec avic.md 5.2; AVH-010, AVH-018, AVH-021, AVH-022, AVH-027).

use super::{post, registers, running};
use crate::events;
use crate::lapic::{Mode, Vectors};
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use core::sync::atomic::{Ordering::SeqCst, fence};
use trapline_defs::apic::{DEFAULT_BASE, offset};
use trapline_defs::avic::{MAX_INDEX, X2AVIC_LAST_INDEX, XAVIC_LAST_ID};
use trapline_defs::intercept::{Word3, Word5};
use trapline_defs::vmcb::Vmcb;

/// What a new VMCB gets, before its first VMRUN: pointers, and the HLT intercept of this processor.
pub fn prepare(vm: &Vm<'_>, vcpu: &Vcpu, vmcb: &mut Vmcb) {
    let control = &mut vmcb.control;
    if vm.features.idle_hlt {
        control.intercept_3.remove(Word3::HLT);
        control.intercept_5 |= Word5::IDLE_HLT;
    }
    control.v_intr.set_v_nmi_enable(vm.features.vnmi);
    if vm.features.xen {
        // Its windows heed V_TPR instead (rule WIN-2).
        events::set_cr8_intercept(vmcb, false);
        return;
    }
    if vm.features.avic {
        control.avic_apic_bar = DEFAULT_BASE;
        control.avic_backing_page = vm.avic.backing_page(vcpu.index);
        control.avic_logical_table = vm.avic.logical_table();
        control.avic_physical_table = vm.avic.physical_table() | u64::from(last_index(vm, vcpu));
    }
}

fn last_index(vm: &Vm<'_>, vcpu: &Vcpu) -> u16 {
    if vm.features.release.xen_rfc {
        // Twice the number of vCPUs, because Xen's APIC ids are even, and one too many (spec 6.2).
        // The ids here are not: what is left of it is the wrap.
        return (vm.vcpus as u16 * 2) & 0xff;
    }
    if uses_x2avic(vm, vcpu) { X2AVIC_LAST_INDEX } else { XAVIC_LAST_ID }
}

fn uses_x2avic(vm: &Vm<'_>, vcpu: &Vcpu) -> bool {
    vm.features.x2avic && vcpu.lapic.mode() == Mode::X2Apic
}

/// The page whose accesses the software APIC answers: none while AVIC does.
pub fn software_page(vcpu: &Vcpu) -> u64 {
    if vcpu.lapic.mode() == Mode::XApic && !vcpu.avic.active {
        vcpu.lapic.base_address()
    } else {
        Vcpu::NO_PAGE
    }
}

/// Whether [`update`] may begin: no vCPU may be in the guest that has not acted on the change of the
/// reasons, or its processor could post to a vCPU that no longer listens. KVM waits likewise
/// (KVM_REQUEST_WAIT).
pub fn may_update(vm: &Vm<'_>, vcpu: &Vcpu) -> bool {
    !vcpu.avic.together
        || (0..vm.vcpus)
            .filter(|&index| index != vcpu.index)
            .all(|index| vm.avic.has_acted(index) || !vm.mailbox(index).in_guest())
}

/// Acts on what the reasons and the APIC's mode say now.
pub fn update(vm: &Vm<'_>, vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    vm.avic.acts(vcpu.index);
    vcpu.avic.update = false;
    vcpu.avic.together = false;
    let wanted = vm.features.avic && vm.avic.permitted() && vcpu.lapic.mode() != Mode::Disabled;
    if wanted {
        activate(vm, vcpu, vmcb);
    } else if vcpu.avic.active {
        deactivate(vm, vcpu, vmcb);
    } else if vm.features.avic {
        // It was on for others between two changes that this vCPU took in at once.
        post::take_back(vm.avic, vcpu);
    }
    vcpu.apic_page = software_page(vcpu);
}

fn activate(vm: &Vm<'_>, vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    let page = vm.avic.page(vcpu.index);
    if !vcpu.avic.active {
        // Vectors first, then the word that lets others post.
        let waiting = *vcpu.lapic.irr();
        vcpu.lapic.set_apicv_active(true);
        registers::hand_back(&mut vcpu.lapic, page);
        let mut waiting = Vectors(waiting);
        while let Some(vector) = waiting.highest() {
            waiting.remove(vector);
            page.set(offset::IRR, vector);
        }
        vcpu.avic.active = true;
        vm.avic.set_active(vcpu.index, true);
    } else {
        // The mode may be another one, and with it ID and LDR.
        registers::with(&mut vcpu.lapic, page, |_| ());
    }
    let x2 = uses_x2avic(vm, vcpu);
    let control = &mut vmcb.control;
    let changed = !control.v_intr.avic_enable() || control.v_intr.x2avic_enable() != x2;
    control.v_intr.set_avic_enable(true);
    control.v_intr.set_x2avic_enable(x2);
    control.avic_physical_table =
        control.avic_physical_table & !MAX_INDEX | u64::from(last_index(vm, vcpu));
    control.msrpm_base = if x2 { vm.permissions.x2avic } else { vm.permissions.plain };
    events::set_cr8_intercept(vmcb, false);
    running::publish(vm, vcpu);
    // The exits that settle are every exit now (TPR-1).
    vcpu.attention = true;
    if changed {
        events::flush_tlb(vcpu, vmcb);
    }
}

/// INIT: the page is new, and AVIC is decided anew before the next entry.
pub fn reset(vm: &Vm<'_>, vcpu: &mut Vcpu) {
    if !vm.features.avic {
        return;
    }
    vcpu.avic.active = false;
    vm.avic.set_active(vcpu.index, false);
    running::publish(vm, vcpu);
    vm.avic.page(vcpu.index).take(offset::IRR);
    vcpu.lapic.take_posted();
    vcpu.lapic.set_apicv_active(false);
    vcpu.avic.update = true;
    vcpu.rearm = true;
}

fn deactivate(vm: &Vm<'_>, vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    let page = vm.avic.page(vcpu.index);
    post::flush(vm.avic, vcpu);
    vcpu.avic.active = false;
    vm.avic.set_active(vcpu.index, false);
    fence(SeqCst);
    running::publish(vm, vcpu);
    let (isr, tmr) = (page.vectors(offset::ISR), page.vectors(offset::TMR));
    let irr = page.take(offset::IRR);
    vcpu.lapic.load_vectors(irr, isr, tmr);
    vcpu.lapic.set_apicv_active(false);
    let control = &mut vmcb.control;
    control.v_intr.set_avic_enable(false);
    control.v_intr.set_x2avic_enable(false);
    control.avic_physical_table &= !MAX_INDEX;
    control.msrpm_base = vm.permissions.plain;
    events::set_cr8_intercept(vmcb, true);
    events::flush_tlb(vcpu, vmcb);
    vcpu.lapic.event_request = true;
}
