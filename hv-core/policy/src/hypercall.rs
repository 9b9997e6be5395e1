//! VMMCALLs that are not payload calls: which interface answers (rule HC-1).

mod hyperv;
mod kvm;

use crate::handle::Handled;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_defs::vmcb::Vmcb;

/// Answers a hypercall. RIP is still on the instruction.
///
/// Hyper-V's interface comes before KVM's as soon as the guest said who it is; KVM's is there for every
/// other guest, whatever its CPUID says.
#[cold]
#[inline(never)]
pub fn exit<M: GuestMemory>(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M) -> Handled {
    if !vm.machine.hyperv.is_empty() && vm.devices().partition.guest_os_id() != 0 {
        hyperv::exit(vm, vcpu, vmcb, memory)
    } else {
        kvm::exit(vm, vcpu, vmcb, memory)
    }
}
