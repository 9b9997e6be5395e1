//! event_channel_op (Xen, public/event_channel.h, common/event_channel.c).

use super::argument::Argument;
use super::errno::{Answer, Errno};
use super::{check_domain, check_vcpu};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use crate::xen::ports::Port;
use crate::xen::upcall;

const CLOSE: u64 = 3;
const SEND: u64 = 4;
const STATUS: u64 = 5;
const BIND_IPI: u64 = 7;
const BIND_VCPU: u64 = 8;
const UNMASK: u64 = 9;

/// What STATUS answers.
const CLOSED: u32 = 0;
const IPI: u32 = 5;

pub(super) fn op<M: GuestMemory>(
    vm: &Vm,
    vcpu: &mut Vcpu,
    command: u64,
    argument: Argument<'_, M>,
) -> Answer {
    let memory = argument.memory;
    let bound = |port| vm.xen().ports().get(port).ok_or(Errno::Invalid);
    match command {
        SEND => {
            let port = argument.u32(0)?;
            let Port::Ipi { vcpu: to } = bound(port)? else { return Err(Errno::Invalid) };
            upcall::send(vm, vcpu, memory, port, to);
            Ok(0)
        }
        BIND_IPI => {
            let to = check_vcpu(vm, argument.u32(0)?)?;
            let port = vm.xen().ports().bind_ipi(to).ok_or(Errno::NoSpace)?;
            argument.put(4, &port.to_le_bytes())?;
            Ok(0)
        }
        CLOSE => {
            let closed = upcall::close(vm, memory, argument.u32(0)?);
            if closed { Ok(0) } else { Err(Errno::Invalid) }
        }
        STATUS => {
            check_domain(argument.u16(0)?.into())?;
            let (status, to) = match bound(argument.u32(4)?)? {
                Port::Ipi { vcpu } => (IPI, vcpu),
                Port::Free | Port::Reserved => (CLOSED, 0),
            };
            argument.put(8, &status.to_le_bytes())?;
            argument.put(12, &to.to_le_bytes())?;
            Ok(0)
        }
        BIND_VCPU => {
            check_vcpu(vm, argument.u32(4)?)?;
            bound(argument.u32(0)?)?;
            // An IPI's port keeps the vCPU that it was bound to, and there are no others.
            Err(Errno::Invalid)
        }
        UNMASK => {
            let port = argument.u32(0)?;
            let bound = bound(port)?;
            upcall::unmask(vm, vcpu, memory, port, bound);
            Ok(0)
        }
        _ => Err(Errno::NoSuchCall),
    }
}
