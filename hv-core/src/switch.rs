//! The moments at which a vCPU gains or loses its core, as KVM names them. Whatever has to be kept up to
//! date about that, such as AVIC's IsRunning, belongs here.
//!
//! One that blocks while its core has others goes through `blocking`, `switched_out`, `switched_in`,
//! `unblocking`, in this order; where nobody else wants the core, only through the first and the last. All
//! but the bootstrap vCPU are blocked when a scenario starts, without having gone through `blocking`.

use crate::clock;
use crate::vcpu_block::{Left, VcpuBlock};
use trapline_abi::machine::HyperV;
use trapline_policy::avic::running;
use trapline_policy::events;
use trapline_policy::hyperv::Runtime;
use trapline_policy::time::Ns;

/// The vCPU starts to run on its core: before its mailbox and its events are looked at, and before VMRUN
/// (KVM: `vcpu_load`). Another vCPU may have been there before.
pub fn switched_in(block: &mut VcpuBlock, is_after_another: bool) {
    running::load(&block.vm, &mut block.vcpu, block.core.apic_id);
    if block.vcpu.kvm.steal.is_on() {
        let now = block.vm.clock.at(clock::now());
        block.vcpu.kvm.steal.regain(&block.memory, now);
    }
    if !block.is_blocked {
        run_time(block, Runtime::start);
    }
    if is_after_another {
        if let Some(processor) = block.core.processor.take() {
            block.model.go_on(processor);
        }
        // All vCPUs have the same ASID, and translations of their own: other page tables, or none.
        events::flush_tlb(&mut block.vcpu, block.world.vmcb());
    }
}

/// Another vCPU is about to run on its core, because its slice is over or because it is blocked (KVM:
/// `vcpu_put`).
pub fn switched_out(block: &mut VcpuBlock) {
    run_time(block, Runtime::stop);
    running::put(&block.vm, &mut block.vcpu);
    if block.vcpu.kvm.steal.is_on() && matches!(block.left, Left::Preempted | Left::Yielded) {
        let now = block.vm.clock.at(clock::now());
        block.vcpu.kvm.steal.lose(&block.memory, now, block.left == Left::Preempted);
    }
    if block.model_plays {
        block.core.processor.set(Some(block.model.processor().clone()));
    }
}

/// It is about to block: until [`unblocking`] it has nothing to run (KVM: `vcpu_blocking`).
pub fn blocking(block: &mut VcpuBlock) {
    block.is_blocked = true;
    run_time(block, Runtime::stop);
    // Before anything is looked for that the vCPU might wake for (AVH-012).
    running::put(&block.vm, &mut block.vcpu);
}

/// Something woke it: it goes on, once it is settled with what (KVM: `vcpu_unblocking`).
pub fn unblocking(block: &mut VcpuBlock) {
    block.is_blocked = false;
    // Used up by this halt, whatever ended it.
    block.vcpu.kvm.unhalted = false;
    run_time(block, Runtime::start);
    running::load(&block.vm, &mut block.vcpu, block.core.apic_id);
}

/// VP_RUNTIME goes on or stands still, where there is one.
#[inline]
fn run_time(block: &mut VcpuBlock, act: fn(&mut Runtime, Ns)) {
    if block.vm.machine.hyperv.contains(HyperV::RUNTIME) {
        act(&mut block.vcpu.runtime, block.vm.clock.at(clock::now()));
    }
}
