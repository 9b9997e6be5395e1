//! Hypercalls that are not payload calls.

use crate::vm::Vm;
use trapline_defs::vmcb::Vmcb;

/// KVM_ENOSYS, as a guest sees it.
const KVM_ENOSYS: u64 = -1000i64 as u64;
/// KVM_EPERM.
const KVM_EPERM: u64 = -1i64 as u64;
/// HV_STATUS_INVALID_HYPERCALL_CODE.
const HV_INVALID_CODE: u64 = 2;

/// The answer in RAX to VMMCALL with that RAX: no hypercall is offered yet.
///
/// Hyper-V's interface comes before KVM's as soon as the guest said who it is (rule HC-1).
#[inline]
pub fn answer(vm: &Vm, vmcb: &Vmcb, _number: u64) -> u64 {
    if !vm.machine.hyperv.is_empty() && vm.devices().partition.guest_os_id() != 0 {
        HV_INVALID_CODE
    } else if vmcb.save.cpl != 0 {
        KVM_EPERM
    } else {
        KVM_ENOSYS
    }
}
