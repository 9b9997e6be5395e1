//! How a message gets into a vCPU's message page: always on the vCPU's own core, so that it and its timers
//! never write one slot at a time (spec hyperv.md 3.4).

use super::message::{Delivery, Message, SLOT_SIZE, is_full};
use super::ports::Port;
use super::synic::SINTS;
use super::{Partition, Synic};
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::{Devices, Vm};

/// Bytes of a slot in front of the payload.
const HEADER: usize = 16;

/// Writes a message into a SINT's slot, if that is empty.
pub fn post<M: GuestMemory>(
    synic: &Synic,
    memory: &M,
    sint: usize,
    message: &Message<'_>,
) -> Delivery {
    let Some(address) = synic.message_slot(sint) else { return Delivery::NoPage };
    let used = HEADER + message.size();
    let Some(before) = read(memory, address, used) else { return Delivery::NoPage };
    let mut after = before;
    let delivery = synic.deliver(sint, Some(&mut after), message);
    // Backwards, so that the type, which the guest polls, comes last.
    for at in (0..used).rev() {
        if after[at] != before[at] {
            memory.write_u8(address + at as u64, after[at]);
        }
    }
    delivery
}

/// Whether a SINT's slot holds a message; no page holds none.
pub fn is_slot_full<M: GuestMemory>(synic: &Synic, memory: &M, sint: usize) -> bool {
    let slot = synic.message_slot(sint).and_then(|address| read(memory, address, HEADER));
    slot.is_some_and(|slot| is_full(&slot))
}

/// The part of a slot that a message may change.
fn read<M: GuestMemory>(memory: &M, address: u64, used: usize) -> Option<[u8; SLOT_SIZE]> {
    let mut slot = [0; SLOT_SIZE];
    let words = slot[..used.next_multiple_of(8)].as_chunks_mut::<8>().0;
    for (at, word) in words.iter_mut().enumerate() {
        *word = memory.read_u64(address + at as u64 * 8)?.to_le_bytes();
    }
    Some(slot)
}

/// Delivers what waits at a vCPU's ports, as far as its slots are empty, if somebody asked for it by
/// [`Vcpu::messages_due`].
#[inline]
pub fn deliver_due<M: GuestMemory>(vm: &Vm<'_>, vcpu: &mut Vcpu, memory: &M) {
    if core::mem::take(&mut vcpu.messages_due) {
        deliver(vm, vcpu, memory);
    }
}

#[cold]
#[inline(never)]
fn deliver<M: GuestMemory>(vm: &Vm<'_>, vcpu: &mut Vcpu, memory: &M) {
    // QEMU asks SCONTROL here; what waits goes on waiting (HV-064).
    if !vcpu.synic.is_enabled() {
        return;
    }
    let Devices { ports, .. } = &mut *vm.devices();
    let sints = ports.sints(vcpu.index);
    for sint in (0..SINTS).filter(|sint| sints >> sint & 1 != 0) {
        let port = Port { vcpu: vcpu.index, sint };
        // The message behind the one that is stored finds the slot full, and says so in it (HV-058).
        while ports.deliver(port, |message| {
            match post(&vcpu.synic, memory, sint, message) {
                Delivery::NoPage | Delivery::Busy => return false,
                // An APIC that is off loses the interrupt, not the message (HV-070).
                Delivery::Interrupt { vector } => {
                    vcpu.lapic.accept(vector, false);
                }
                Delivery::Masked => {}
            }
            true
        }) {}
        if ports.waits(port)
            && let Some(vector) = vcpu.synic.vector(sint)
        {
            vcpu.await_eoi(vector);
        }
    }
}

/// The guest emptied slots, or may have: SINTs whose bits are set are tried again.
#[cold]
pub fn retry(vcpu: &mut Vcpu, sints: u16) {
    vcpu.stimers.retry(sints);
    vcpu.messages_due = true;
    vcpu.rearm = true;
}

/// An EOI that somebody waited for: as an EOM for the SINTs with its vector (HV-061).
#[cold]
pub fn end_of_interrupt(vcpu: &mut Vcpu, vector: u8) {
    let has_it = |&sint: &usize| vcpu.synic.vector(sint) == Some(vector);
    let sints = (0..SINTS).filter(has_it).fold(0, |sints, sint| sints | 1 << sint);
    retry(vcpu, sints);
}

/// Sets a port's first event flag: whether it was clear, and the vector to interrupt with. `None` if the
/// SynIC takes no events there (HV-069, HV-232).
pub fn signal<M: GuestMemory>(partition: &Partition, memory: &M, port: Port) -> Option<(bool, u8)> {
    let view = partition.view(port.vcpu);
    let vector = view.vectors[port.sint]?;
    let flags = view.event_flags(port.sint).filter(|_| view.enabled)?;
    let before = memory.or_u8(flags, 1)?;
    Some((before & 1 == 0, vector))
}
