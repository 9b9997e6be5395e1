//! Xen's hypercalls, from 64-bit code (Xen, arch/x86/hvm/hypercall.c; spec pv-and-formats.md b.3).
//!
//! The number is in RAX, the arguments are in RDI and RSI; the second one is mostly the address of a
//! structure. What hv-core has no use for is ENOSYS, as in a Xen that was built without it.

mod argument;
mod errno;
mod event_channel;
mod hvm;
mod memory;
mod schedule;
#[cfg(test)]
mod tests;
mod vcpu;
mod version;

use crate::handle::{Next, Stop};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use argument::Argument;
use errno::{Answer, Errno};
use trapline_defs::msr::efer;
use trapline_defs::vmcb::Vmcb;

/// The hypercalls, by number.
mod number {
    pub const MEMORY_OP: u64 = 12;
    pub const XEN_VERSION: u64 = 17;
    pub const VCPU_OP: u64 = 24;
    pub const SCHED_OP: u64 = 29;
    pub const EVENT_CHANNEL_OP: u64 = 32;
    pub const HVM_OP: u64 = 34;
}

/// Code segment attribute L.
const LONG: u16 = 1 << 9;

/// The domain that asks, by the name that each has for itself.
const DOMID_SELF: u16 = 0x7ff0;

pub(super) fn answer<M: GuestMemory>(
    vm: &Vm,
    vcpu: &mut Vcpu,
    vmcb: &mut Vmcb,
    memory: &M,
) -> Next {
    let number = vmcb.save.rax;
    if vmcb.save.efer & efer::LMA == 0 || vmcb.save.cs.attributes & LONG == 0 {
        // Other registers and other structures.
        return Next::Stop(Stop::CannotEmulate);
    }
    vmcb.skip(3);
    let (command, address) = (vcpu.gprs.rdi, vcpu.gprs.rsi);
    let argument = Argument { memory, cr3: vmcb.save.cr3, address };
    let answer: Answer = if vmcb.save.cpl != 0 {
        Err(Errno::NotPermitted)
    } else {
        match number {
            number::MEMORY_OP => memory::op(vm, command, argument),
            number::XEN_VERSION => version::op(command, argument),
            number::VCPU_OP => vcpu::op(vm, vcpu, command, address),
            number::SCHED_OP => schedule::op(command),
            number::EVENT_CHANNEL_OP => event_channel::op(vm, vcpu, command, argument),
            number::HVM_OP => hvm::op(vm, vcpu, command, argument),
            _ => Err(Errno::NoSuchCall),
        }
    };
    vmcb.save.rax = match answer {
        Ok(value) => value,
        Err(errno) => (errno as u64).wrapping_neg(),
    };
    let blocks = number == number::SCHED_OP && command == schedule::BLOCK && answer.is_ok();
    if blocks && !crate::handle::wakes(vm, vcpu, vmcb, memory) { Next::Block } else { Next::Enter }
}

/// A domain's id must be the domain's own.
fn check_domain(id: u32) -> Result<(), Errno> {
    let id = id as u16;
    if id == DOMID_SELF || u32::from(id) == crate::xen::DOMAIN_ID {
        Ok(())
    } else {
        Err(Errno::NoSuchDomain)
    }
}

/// A vCPU's number must be that of one.
fn check_vcpu(vm: &Vm, vcpu: u32) -> Result<u32, Errno> {
    if vcpu < vm.vcpus { Ok(vcpu) } else { Err(Errno::NoSuchEntity) }
}
