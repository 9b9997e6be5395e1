//! Events as Xen 4.17 decides them (arch/x86/hvm/svm/intr.c, arch/x86/hvm/irq.c).
//!
//! Xen looks before every entry, not on request: what waits is looked at again at the next exit, whichever
//! that is. So the HLT exit injects at once where KVM waits for its window. A window has the class of what
//! waits as its priority and heeds V_TPR for the local APIC's vectors (rule WIN-2): a vector that TPR holds
//! back needs no intercept of CR8, as V_TPR holds the window back.

use super::{Source, beside_apic, injection, interrupts_open, mask_nmis};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::plan::Seed;
use trapline_defs::event::Event;
use trapline_defs::intercept::Word3;
use trapline_defs::vmcb::Vmcb;

/// What waits first.
#[derive(Clone, Copy)]
enum Waiting {
    Nmi,
    Interrupt(Source),
}

/// A window: V_IRQ's priority, and whether it ignores V_TPR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    priority: u8,
    ignores_tpr: bool,
}

/// Decides what the next entry injects.
#[cold]
#[inline(never)]
pub(super) fn evaluate<M: GuestMemory>(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, memory: &M) {
    vcpu.lapic.event_request = false;
    // NMIs that arrive while one waits are that one.
    vcpu.events.nmis = vcpu.events.nmis.min(1);
    let injected = vmcb.control.event_injection.valid() || super::inject_one(vm, vcpu, vmcb);
    let Some(waiting) = first(vm, vcpu, memory) else { return };
    if injected || is_blocked(vcpu, vmcb, waiting) {
        open_window(vm, vmcb, waiting);
    } else {
        inject(vm, vcpu, vmcb, waiting);
        // The vector of the global callback is still there: the guest has not yet cleared its flag.
        match first(vm, vcpu, memory) {
            Some(next) => open_window(vm, vmcb, next),
            None => return,
        }
    }
    // At the next exit again.
    vcpu.lapic.event_request = true;
    vcpu.attention = true;
}

fn first<M: GuestMemory>(vm: &Vm, vcpu: &Vcpu, memory: &M) -> Option<Waiting> {
    if vcpu.events.nmis > 0 {
        return Some(Waiting::Nmi);
    }
    beside_apic(vm, vcpu, memory, vm.beside_apic())
        .or_else(|| above_service(vcpu).map(Source::Apic))
        .map(Waiting::Interrupt)
}

/// The highest vector of an enabled APIC, if its class is above that in service; TPR may still hold it.
fn above_service(vcpu: &Vcpu) -> Option<u8> {
    let service = vcpu.lapic.highest_isr().unwrap_or(0) & 0xf0;
    vcpu.lapic.highest_irr().filter(|&vector| vcpu.lapic.enabled() && vector & 0xf0 > service)
}

/// Whether an interrupt waits that the priorities let through.
pub(super) fn pending<M: GuestMemory>(vm: &Vm, vcpu: &Vcpu, memory: &M) -> bool {
    beside_apic(vm, vcpu, memory, vm.beside_apic()).is_some()
        || above_service(vcpu).is_some_and(|vector| vector >> 4 > vcpu.lapic.tpr() >> 4)
}

fn is_blocked(vcpu: &Vcpu, vmcb: &Vmcb, waiting: Waiting) -> bool {
    match waiting {
        Waiting::Nmi => vmcb.control.interrupt_shadow & 1 != 0 || vcpu.events.nmi_masked,
        Waiting::Interrupt(Source::Apic(vector)) => {
            !interrupts_open(vmcb) || vcpu.lapic.tpr() >> 4 >= vector >> 4
        }
        Waiting::Interrupt(_) => !interrupts_open(vmcb),
    }
}

fn inject(vm: &mut Vm, vcpu: &mut Vcpu, vmcb: &mut Vmcb, waiting: Waiting) {
    match waiting {
        Waiting::Nmi => {
            vcpu.events.nmis = 0;
            vmcb.control.event_injection = Event::nmi();
            mask_nmis(vcpu, vmcb);
        }
        Waiting::Interrupt(source) => {
            let vector = source.acknowledge(vm, vcpu);
            vmcb.control.event_injection = injection(vm, vcpu, vmcb, vector);
        }
    }
}

/// The window for what waits. An NMI's and the PIC's have the lowest priority, which counts for nothing as
/// they ignore V_TPR.
const fn window(waiting: Waiting) -> Window {
    let (vector, ignores_tpr) = match waiting {
        Waiting::Interrupt(Source::Apic(vector)) => (vector, false),
        Waiting::Interrupt(Source::Callback(vector)) => (vector, true),
        Waiting::Interrupt(Source::Pic) => (0, true),
        Waiting::Nmi => (2, true),
    };
    Window { priority: vector >> 4, ignores_tpr }
}

fn open_window(vm: &Vm, vmcb: &mut Vmcb, waiting: Waiting) {
    // Masked NMIs wait for the IRET, whose exit says so.
    if matches!(waiting, Waiting::Nmi) && vmcb.control.intercept_3.contains(Word3::IRET) {
        return;
    }
    let mut window = window(waiting);
    if vm.seed == Some(Seed::WindowIgnoresTpr) {
        window.ignores_tpr = true;
    } else if vm.soft_injection && !window.ignores_tpr {
        // QEMU's TCG opens at equal priority, too (docs/tcg.md T1).
        window.priority -= 1;
    }
    let v_intr = &mut vmcb.control.v_intr;
    v_intr.set_v_irq(true);
    v_intr.set_v_intr_prio(window.priority);
    v_intr.set_v_ign_tpr(window.ignores_tpr);
    vmcb.control.intercept_3 |= Word3::VINTR;
}

/// The IRET of an NMI handler: NMIs are open from here on, and a shadow keeps the next one behind the IRET.
pub(super) fn iret(vcpu: &mut Vcpu, vmcb: &mut Vmcb) {
    vcpu.events.nmi_masked = false;
    vmcb.control.interrupt_shadow |= 1;
    vcpu.lapic.event_request = true;
}

#[cfg(test)]
mod tests;
