//! KVM's hypercalls (Linux, "KVM Hypercalls"; spec pv-and-formats.md a.2).

use crate::handle::Handled;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::exit::{self, ExitKey};
use trapline_defs::vmcb::Vmcb;

/// KVM_ENOSYS, as a guest sees it.
const ENOSYS: u64 = -1000i64 as u64;
/// KVM_EPERM.
const EPERM: u64 = -1i64 as u64;

/// None is offered yet.
pub(super) fn exit<M: GuestMemory>(
    _vm: &mut Vm,
    _vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    _memory: &M,
) -> Handled {
    let key = ExitKey::number(exit::VMMCALL, vmcb.save.rax as u32);
    vmcb.skip(3);
    vmcb.save.rax = if vmcb.save.cpl != 0 { EPERM } else { ENOSYS };
    Handled::enter(key)
}
