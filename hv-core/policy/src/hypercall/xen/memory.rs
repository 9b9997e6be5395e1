//! memory_op: where the shared info page is (Xen, public/memory.h).

use super::argument::Argument;
use super::check_domain;
use super::errno::{Answer, Errno};
use crate::memory::GuestMemory;
use crate::vm::Vm;

const ADD_TO_PHYSMAP: u64 = 7;
/// Bits above are where an interrupted command goes on.
const COMMAND: u64 = 0x3f;

const DOMAIN: u64 = 0;
const SPACE: u64 = 4;
const INDEX: u64 = 8;
const FRAME: u64 = 16;
const SHARED_INFO: u32 = 0;

pub(super) fn op<M: GuestMemory>(vm: &Vm, command: u64, argument: Argument<'_, M>) -> Answer {
    if command & COMMAND != ADD_TO_PHYSMAP {
        return Err(Errno::NoSuchCall);
    }
    let (domain, space) = (argument.u16(DOMAIN)?, argument.u32(SPACE)?);
    let (index, frame) = (argument.u64(INDEX)?, argument.u64(FRAME)?);
    check_domain(domain.into())?;
    // Grant tables and pages of others are not there. Xen would take a frame outside of RAM, too.
    if space != SHARED_INFO || index != 0 || !vm.xen().map_shared_info(argument.memory, frame) {
        return Err(Errno::Invalid);
    }
    Ok(0)
}
