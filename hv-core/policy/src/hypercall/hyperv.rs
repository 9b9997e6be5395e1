//! Hyper-V's hypercalls (TLFS, "Hypercall Interface"; spec hyperv.md 7).

use crate::handle::Handled;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::exit::{self, ExitKey};
use trapline_defs::vmcb::Vmcb;

/// HV_STATUS_INVALID_HYPERCALL_CODE.
const INVALID_CODE: u64 = 2;

/// None is offered yet.
pub(super) fn exit<M: GuestMemory>(
    _vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    _memory: &M,
) -> Handled {
    // The call code is in the low word of the input value.
    let key = ExitKey::number(exit::VMMCALL, vcpu.gprs.rcx as u16 as u32);
    vmcb.skip(3);
    vmcb.save.rax = INVALID_CODE;
    Handled::enter(key)
}
