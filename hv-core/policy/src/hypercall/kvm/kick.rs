//! KICK_CPU and SCHED_YIELD: what one vCPU does for another one that halts or waits for a core.

use crate::handle::Next;
use crate::lapic::{Delivery, Mode};
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::plan::Seed;

/// Ends the halt of the vCPU with that APIC id, and yields to it.
///
/// KVM sends an IPI of the remote-read mode, with a physical destination: that of a broadcast reaches all. The
/// IPI's has 32 bits, the yield's all that the guest gave.
#[inline(never)]
pub(super) fn kick(vm: &Vm, vcpu: &mut Vcpu, apic_id: u64) -> Next {
    let is_lost = vm.seed == Some(Seed::UnhaltLost);
    for index in 0..vm.vcpus {
        if !is_lost && vm.mailbox(index).identity().matches(apic_id as u32, false) {
            vm.deliver_to(vcpu, index, Delivery::Unhalt);
        }
    }
    yield_to(vm, vcpu, apic_id)
}

/// Yields to the vCPU with that APIC id. Whether it can have the core is the run loop's to know.
#[inline(never)]
pub(super) fn yield_to(vm: &Vm, vcpu: &mut Vcpu, apic_id: u64) -> Next {
    let is_named = |index: &u32| {
        let identity = vm.mailbox(*index).identity();
        identity.mode() != Mode::Disabled && u64::from(identity.physical_id()) == apic_id
    };
    match (0..vm.vcpus).find(is_named) {
        // To oneself: nothing.
        Some(index) if index != vcpu.index => {
            vcpu.kvm.yields_to = index;
            Next::Yield
        }
        _ => Next::Enter,
    }
}
