//! The hypercall page: code that a guest calls, one slot a hypercall.

use super::PAGE;
use crate::fault::Gp;
use crate::memory::GuestMemory;

const SLOT: u64 = 32;
/// The slot of `iret`, which is for PV guests.
const IRET: u64 = 23;
const UD2: [u8; 2] = [0x0f, 0x0b];

/// The address of the page that an MSR value names.
///
/// # Errors
/// `#GP` if it is none of the guest's `memory` bytes of RAM: bits 11:0 would say which of several pages,
/// and there is one.
pub(crate) const fn at(value: u64, memory: u64) -> Result<u64, Gp> {
    if value.is_multiple_of(PAGE) && value < memory { Ok(value) } else { Err(Gp) }
}

/// Writes the page at an address. Beside the code it stays as it is.
#[cold]
pub(crate) fn write<M: GuestMemory>(memory: &M, page: u64) {
    for number in 0..PAGE / SLOT {
        let address = page + number * SLOT;
        if number == IRET {
            put(memory, address, &UD2);
        } else {
            // MOV EAX, number; VMMCALL; RET.
            put(memory, address, &[0xb8, number as u8, 0, 0, 0, 0x0f, 0x01, 0xd9, 0xc3]);
        }
    }
}

fn put<M: GuestMemory>(memory: &M, address: u64, bytes: &[u8]) {
    for (address, &byte) in (address..).zip(bytes) {
        memory.write_u8(address, byte);
    }
}
