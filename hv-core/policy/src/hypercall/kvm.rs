//! KVM's hypercalls (Linux, "KVM Hypercalls"; spec pv-and-formats.md a.2, a.3, a.6).

mod kick;
mod send_ipi;

use crate::handle::{Handled, Next};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use trapline_abi::exit::{self, ExitKey};
use trapline_abi::machine::Kvm;
use trapline_defs::msr::efer;
use trapline_defs::vmcb::Vmcb;

/// KVM_ENOSYS, as a guest sees it.
const ENOSYS: u64 = -1000i64 as u64;
/// KVM_EPERM.
const EPERM: u64 = -1i64 as u64;
/// KVM_EINVAL.
const EINVAL: u64 = -22i64 as u64;
/// KVM_EOPNOTSUPP.
const EOPNOTSUPP: u64 = -95i64 as u64;

/// Only there to force an exit.
const VAPIC_POLL_IRQ: u64 = 1;
const KICK_CPU: u64 = 5;
const CLOCK_PAIRING: u64 = 9;
const SEND_IPI: u64 = 10;
const SCHED_YIELD: u64 = 11;

/// Answers one. Nothing but RAX changes.
pub(super) fn exit<M: GuestMemory>(
    vm: &mut Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    _memory: &M,
) -> Handled {
    let key = ExitKey::number(exit::VMMCALL, vmcb.save.rax as u32);
    let is_wide = vmcb.save.efer & efer::LMA != 0 && vmcb.save.cs.is_long();
    // Outside of 64-bit mode arguments, number and result have 32 bits.
    let mask = if is_wide { u64::MAX } else { u64::from(u32::MAX) };
    vmcb.skip(3);
    let (result, next) = if vmcb.save.cpl != 0 {
        (EPERM, Next::Enter)
    } else {
        answer(vm, vcpu, vmcb.save.rax & mask, mask)
    };
    vmcb.save.rax = result & mask;
    Handled { key, next }
}

/// The answer to a call of a guest whose registers have those bits.
fn answer(vm: &Vm, vcpu: &mut Vcpu, number: u64, mask: u64) -> (u64, Next) {
    match number {
        VAPIC_POLL_IRQ => (0, Next::Enter),
        KICK_CPU if vm.serves(Kvm::PV_UNHALT) => {
            let target = vcpu.gprs.rcx & mask;
            (0, kick::kick(vm, vcpu, target))
        }
        // KVM's answer where the host's clock does not allow pairing.
        CLOCK_PAIRING => (EOPNOTSUPP, Next::Enter),
        SEND_IPI if vm.serves(Kvm::PV_IPI) => {
            let gprs = &vcpu.gprs;
            let arguments = [gprs.rbx, gprs.rcx, gprs.rdx, gprs.rsi].map(|value| value & mask);
            send_ipi::send(vm, vcpu, arguments, mask == u64::MAX)
        }
        SCHED_YIELD if vm.serves(Kvm::SCHED_YIELD) => {
            let target = vcpu.gprs.rbx & mask;
            (0, kick::yield_to(vm, vcpu, target))
        }
        _ => (ENOSYS, Next::Enter),
    }
}

#[cfg(test)]
mod tests;
