//! hvm_op: by which vector upcalls come (Xen, public/hvm/hvm_op.h, public/hvm/params.h).

use super::argument::Argument;
use super::errno::{Answer, Errno};
use super::{check_domain, check_vcpu};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;
use crate::xen::upcall;

const SET_PARAM: u64 = 0;
const GET_PARAM: u64 = 1;
const SET_EVTCHN_UPCALL_VECTOR: u64 = 23;

/// A parameter's structure.
const DOMAIN: u64 = 0;
const INDEX: u64 = 4;
const VALUE: u64 = 8;
const CALLBACK_IRQ: u32 = 0;
const PARAMS: u32 = 39;

/// CALLBACK_IRQ: what the callback is, in the top byte.
const TYPE_SHIFT: u32 = 56;
const TYPE_VECTOR: u64 = 2;

/// Vectors below are the processor's own.
const FIRST_VECTOR: u8 = 0x10;

pub(super) fn op<M: GuestMemory>(
    vm: &Vm,
    vcpu: &mut Vcpu,
    command: u64,
    argument: Argument<'_, M>,
) -> Answer {
    match command {
        SET_PARAM => {
            parameter(&argument)?;
            set_callback(vm, vcpu, argument.u64(VALUE)?)
        }
        GET_PARAM => {
            parameter(&argument)?;
            let vector = vm.xen().callback();
            let value = vector.map_or(0, |vector| TYPE_VECTOR << TYPE_SHIFT | u64::from(vector));
            argument.put(VALUE, &value.to_le_bytes())?;
            Ok(0)
        }
        SET_EVTCHN_UPCALL_VECTOR => {
            let (of, vector) = (argument.u32(0)?, argument.u8(4)?);
            if vector < FIRST_VECTOR {
                return Err(Errno::Invalid);
            }
            upcall::set_vector(vm, vcpu, check_vcpu(vm, of)?, vector);
            Ok(0)
        }
        _ => Err(Errno::NoSuchCall),
    }
}

/// The one parameter that there is.
fn parameter<M: GuestMemory>(argument: &Argument<'_, M>) -> Result<(), Errno> {
    let index = argument.u32(INDEX)?;
    if index >= PARAMS {
        return Err(Errno::Invalid);
    }
    check_domain(argument.u16(DOMAIN)?.into())?;
    if index == CALLBACK_IRQ { Ok(()) } else { Err(Errno::NoSuchCall) }
}

fn set_callback(vm: &Vm, vcpu: &mut Vcpu, value: u64) -> Answer {
    let vector = match (value >> TYPE_SHIFT, value as u8) {
        (TYPE_VECTOR, vector) => Some(vector),
        // GSI 0 means none, and so does a type that does not exist.
        (0, _) if value == 0 => None,
        // A line of the IOAPIC or of PCI, of which hv-core has none to spare.
        (0 | 1, _) => return Err(Errno::NoSuchCall),
        _ => None,
    };
    upcall::set_callback(vm, vcpu, vector);
    Ok(0)
}
