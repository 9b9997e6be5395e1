//! IsRunning: which core a vCPU's entry names (spec avic.md 5.5; AVH-012, AVH-013).

use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_defs::avic::PhysicalEntry;

/// The vCPU starts to run on core `host_id` (KVM's vcpu_load, and unblocking). Comes before its
/// VMRUN, whose evaluation finds what was posted until then.
pub fn load(vm: &Vm<'_>, vcpu: &mut Vcpu, host_id: u16) {
    vcpu.avic.host_id = host_id;
    if !vm.features.avic {
        return;
    }
    vcpu.avic.loaded = true;
    if vcpu.avic.active {
        publish(vm, vcpu);
    }
}

/// The vCPU leaves its core or blocks. Who looks for interrupts of it must do so after this: a
/// sender either sees IsRunning=0 and reports its IPI, or its vector is seen here. The stores are
/// sequentially consistent, which is the barrier in between.
pub fn put(vm: &Vm<'_>, vcpu: &mut Vcpu) {
    if vm.features.avic {
        vcpu.avic.loaded = false;
        publish(vm, vcpu);
    }
}

/// The entry as it has to be now: host id and IsRunning in one store. Without IPI virtualization
/// IsRunning is never set (AVH-023).
pub(super) fn publish(vm: &Vm<'_>, vcpu: &Vcpu) {
    let page = vm.avic.backing_page(vcpu.index);
    let running = vcpu.avic.loaded && vcpu.avic.active && vm.features.ipi_virtualization;
    let parked = PhysicalEntry::parked(page).with_host_id(vcpu.avic.host_id & 0xfff);
    vm.avic.set_entry(vcpu.index, parked.with_is_running(running));
}
