//! VMMCALLs that are not payload calls: which interface answers (rule HC-1).

mod hyperv;
mod kvm;
#[cfg(test)]
mod tests;

use crate::handle::{Handled, Next};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::exit::{self, ExitKey};
use trapline_defs::vmcb::Vmcb;

pub use hyperv::input::Xmm;

/// Answers a hypercall. RIP is still on the instruction.
///
/// Hyper-V's interface comes before KVM's as soon as the guest said who it is; KVM's is there for every
/// other guest, whatever its CPUID says. Hyper-V's calls reach other vCPUs and guest memory: they are
/// answered by [`answer`], behind the handlers of common exits, which thus stay as short as they are.
#[cold]
#[inline(never)]
pub fn exit<M: GuestMemory>(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M) -> Handled {
    if !vm.machine.hyperv.is_empty() && vm.devices().partition.guest_os_id() != 0 {
        let code = hyperv::input::Input::read(&vcpu.gprs, vmcb).code();
        let key = ExitKey::number(exit::VMMCALL, code.into());
        Handled { key, next: Next::Hypercall }
    } else {
        kvm::exit(vm, vcpu, vmcb, memory)
    }
}

/// Answers Hyper-V's hypercall after [`Next::Hypercall`].
#[cold]
#[inline(never)]
pub fn answer<M: GuestMemory>(vm: &Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M, xmm: &Xmm) {
    hyperv::answer(vm, vcpu, vmcb, memory, xmm);
}
