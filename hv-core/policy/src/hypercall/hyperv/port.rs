//! HvCallPostMessage and HvCallSignalEvent (spec hyperv.md 7.4).
//!
//! KVM leaves both to its VMM; checks and statuses are QEMU's (hw/hyperv), and the TLFS's where QEMU has
//! none. What connections there are [`ports`] says.
//!
//! [`ports`]: crate::hyperv::ports

use super::Call;
use super::status::Status;
use crate::hyperv::delivery;
use crate::hyperv::message::MAX_PAYLOAD;
use crate::hyperv::ports::Port;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::{Devices, Vm};

/// Bytes of a message's block: connection, type and size in front of the payload.
const BLOCK: u64 = 256;
const PAYLOAD: u64 = 16;
/// Types with this bit are the hypervisor's own.
const RESERVED_TYPE: u32 = 1 << 31;

/// HvCallPostMessage.
pub fn post<M: GuestMemory>(vm: &Vm<'_>, vcpu: &mut Vcpu, memory: &M, call: &Call<'_>) -> Status {
    match try_post(vm, vcpu, memory, call) {
        Ok(()) => Status::Success,
        Err(status) => status,
    }
}

fn try_post<M: GuestMemory>(
    vm: &Vm<'_>,
    vcpu: &mut Vcpu,
    memory: &M,
    call: &Call<'_>,
) -> Result<(), Status> {
    let (input, block) = (call.input, call.input.first);
    if input.is_repeated() || input.header() != 0 {
        return Err(Status::Input);
    }
    if input.is_fast() {
        return Err(Status::Code);
    }
    if !block.is_multiple_of(8) {
        return Err(Status::Alignment);
    }
    // A choice made here (HV-207, HV-208); QEMU maps what crosses pages, and says 0Bh of what is not there.
    if block % 4096 + BLOCK > 4096 {
        return Err(Status::Input);
    }
    let word = |at: u64| memory.read_u64(block + at).ok_or(Status::Input);
    let (connection, header) = (word(0)? as u32, word(8)?);
    let (kind, size) = (header as u32, (header >> 32) as usize);
    if size > MAX_PAYLOAD {
        return Err(Status::Input);
    }
    let port = Port::at(connection, vm.vcpus).ok_or(Status::Connection)?;
    if kind == 0 || kind & RESERVED_TYPE != 0 {
        return Err(Status::Parameter);
    }
    let mut payload = [0; MAX_PAYLOAD];
    for (at, bytes) in payload.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *bytes = word(PAYLOAD + at as u64 * 8)?.to_le_bytes();
    }
    {
        let Devices { partition, ports, .. } = &mut *vm.devices();
        if !partition.view(port.vcpu).enabled {
            return Err(Status::Synic);
        }
        if !ports.queue(port, kind, &payload[..size]) {
            return Err(Status::Buffers);
        }
    }
    vm.announce_message(vcpu, port);
    Ok(())
}

/// HvCallSignalEvent.
pub fn signal<M: GuestMemory>(vm: &Vm<'_>, vcpu: &mut Vcpu, memory: &M, call: &Call<'_>) -> Status {
    let input = call.input;
    if input.is_repeated() || input.header() != 0 {
        return Status::Input;
    }
    let event = if input.is_fast() {
        Some(input.first)
    } else if input.first.is_multiple_of(8) {
        memory.read_u64(input.first)
    } else {
        None
    };
    // KVM says the same of what is not aligned and of what is not there.
    let Some(event) = event else { return Status::Alignment };
    // KVM's and QEMU's ports have the one flag 0 (HV-226).
    if event >> 32 & 0xffff != 0 {
        return Status::Port;
    }
    if event >> 24 != 0 {
        return Status::Input;
    }
    let Some(port) = Port::at(event as u32, vm.vcpus) else { return Status::Connection };
    let Some((is_new, vector)) = delivery::signal(&vm.devices().partition, memory, port) else {
        return Status::Synic;
    };
    // A flag that is set has had its interrupt (HV-068).
    if is_new {
        vm.send_fixed(vcpu, port.vcpu, vector);
    }
    Status::Success
}
