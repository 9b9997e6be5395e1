//! vcpu_op (Xen, public/vcpu.h).

use super::check_vcpu;
use super::errno::{Answer, Errno};
use crate::vcpu::Vcpu;
use crate::vm::Vm;

const SEND_NMI: u64 = 11;

/// An NMI. What else Xen lets an HVM guest have is about time, about vCPUs that are down, and about other
/// places for parts of the shared info page.
pub(super) fn op(vm: &Vm, vcpu: &mut Vcpu, command: u64, to: u64) -> Answer {
    let to = check_vcpu(vm, to as u32)?;
    if command != SEND_NMI {
        return Err(Errno::NoSuchCall);
    }
    if vcpu.gprs.rdx != 0 {
        return Err(Errno::Invalid);
    }
    vm.nmi(vcpu, to);
    Ok(0)
}
