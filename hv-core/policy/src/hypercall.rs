//! VMMCALLs that are not payload calls: which interface answers (rule HC-1).

mod hyperv;
mod kvm;
#[cfg(test)]
mod tests;
mod xen;

use crate::handle::{Handled, Next};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::exit::{self, ExitKey};
use trapline_defs::vmcb::Vmcb;

pub use hyperv::input::Xmm;

/// What Hyper-V's hypercalls have in EAX where Xen's interface is there as well.
const HYPERV_BESIDE_XEN: u64 = 1 << 31;

/// Answers a hypercall. RIP is still on the instruction.
///
/// Xen's interface comes first where the machine has it, but for calls with bit 31 of EAX: Hyper-V's
/// hypercall page sets that bit where both are there. Hyper-V's comes before KVM's as soon as the guest
/// said who it is; KVM's is there for every other guest, whatever its CPUID says.
///
/// Xen's and Hyper-V's calls reach other vCPUs and guest memory: they are answered by [`answer`], behind the
/// handlers of common exits, which thus stay as short as they are.
#[cold]
#[inline(never)]
pub fn exit<M: GuestMemory>(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M) -> Handled {
    if is_xens(vm, vmcb) {
        let key = ExitKey::number(exit::VMMCALL, vmcb.save.rax as u32);
        Handled { key, next: Next::Hypercall }
    } else if is_hypervs_guest(vm) {
        let code = hyperv::input::Input::read(&vcpu.gprs, vmcb).code();
        let key = ExitKey::number(exit::VMMCALL, code.into());
        Handled { key, next: Next::Hypercall }
    } else {
        kvm::exit(vm, vcpu, vmcb, memory)
    }
}

/// Whether the guest said to Hyper-V who it is.
fn is_hypervs_guest(vm: &Vm) -> bool {
    !vm.machine.hyperv.is_empty() && vm.devices().partition.guest_os_id() != 0
}

fn is_xens(vm: &Vm, vmcb: &Vmcb) -> bool {
    vm.machine.xen && !(vmcb.save.rax & HYPERV_BESIDE_XEN != 0 && is_hypervs_guest(vm))
}

/// Answers Xen's or Hyper-V's hypercall after [`Next::Hypercall`]; what comes next, and that is the guest in
/// all cases but a few.
#[cold]
#[inline(never)]
pub fn answer<M: GuestMemory>(
    vm: &Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
    xmm: &Xmm,
) -> Next {
    if is_xens(vm, vmcb) {
        return xen::answer(vm, vcpu, vmcb, memory);
    }
    hyperv::answer(vm, vcpu, vmcb, memory, xmm);
    Next::Enter
}
