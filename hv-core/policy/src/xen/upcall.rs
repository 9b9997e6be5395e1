//! Upcalls: how a vCPU is told that it has events (Xen, hvm_assert_evtchn_irq in arch/x86/hvm/irq.c).
//!
//! A vCPU with an upcall vector gets it through its local APIC, as an edge that wants an EOI. The vector
//! of the global callback comes from beside the APIC: it waits as long as the vCPU's flag in the shared
//! info page is set, and is looked at wherever events are evaluated (`crate::events`).

use super::ports::Port;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use core::sync::atomic::Ordering::SeqCst;

/// An event at a port that is bound to a vCPU. Without a shared info page nobody could see it, and it is
/// lost.
pub fn send<M: GuestMemory>(vm: &Vm, vcpu: &mut Vcpu, memory: &M, port: u32, to: u32) {
    if vm.xen().shared_info().is_some_and(|page| page.raise(memory, port, to)) {
        tell(vm, vcpu, to);
    }
}

/// Ends the mask of a port.
pub fn unmask<M: GuestMemory>(vm: &Vm, vcpu: &mut Vcpu, memory: &M, port: u32, bound: Port) {
    // A port that is bound to nobody notifies the first vCPU.
    let to = if let Port::Ipi { vcpu } = bound { vcpu } else { 0 };
    if vm.xen().shared_info().is_some_and(|page| page.unmask(memory, port, to)) {
        tell(vm, vcpu, to);
    }
}

/// Frees a port and forgets its event; `false` if it is not bound.
pub fn close<M: GuestMemory>(vm: &Vm, memory: &M, port: u32) -> bool {
    let mut ports = vm.xen().ports();
    let closed = ports.close(port);
    if closed && let Some(page) = vm.xen().shared_info() {
        page.forget(memory, port);
    }
    closed
}

/// Gives a vCPU an upcall vector. Xen tells it at once, whether or not it has events.
pub fn set_vector(vm: &Vm, vcpu: &mut Vcpu, of: u32, vector: u8) {
    if let Some(place) = vm.xen().vectors.get(of as usize) {
        place.store(vector, SeqCst);
        tell(vm, vcpu, of);
    }
}

/// Sets the vector of the global callback, or ends it. Here, too, Xen tells everybody.
pub fn set_callback(vm: &Vm, vcpu: &mut Vcpu, vector: Option<u8>) {
    vm.xen().callback.store(vector.unwrap_or(0), SeqCst);
    vm.set_callback_in_use(vector.is_some());
    for of in 0..vm.vcpus {
        tell(vm, vcpu, of);
    }
}

fn tell(vm: &Vm, vcpu: &mut Vcpu, of: u32) {
    let domain = vm.xen();
    if let Some(vector) = domain.vector(of) {
        vm.interrupt(vcpu, of, vector);
    }
    // Of a vCPU that has a vector of its own the flag counts as well, once there is a global one.
    if domain.callback().is_some() {
        vm.ask_to_evaluate(vcpu, of);
    }
}
