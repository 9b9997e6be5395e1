//! HvCallSendSyntheticClusterIpi and its "Ex" form: one interrupt to many vCPUs (spec hyperv.md 7.3).
//!
//! VP indices are vCPU numbers. The order of checks and their statuses are KVM's (kvm_hv_send_ipi), which
//! answers a bad vector with 3 where the TLFS has 5 (HV-211), and takes every set that is not "all" for
//! a sparse one (HV-220).

use super::Call;
use super::status::Status;
use crate::memory::GuestMemory;
use crate::vcpu::Vcpu;
use crate::vm::Vm;

/// HV_GENERIC_SET_ALL.
const ALL: u64 = 1;
/// Vectors below are no interrupts'.
const FIRST_VECTOR: u32 = 16;

/// Which vCPUs: those whose bit is set in the bank of their 64. Only banks that are valid are there.
struct Targets {
    valid: u64,
    banks: [u64; 64],
}

impl Targets {
    /// Everybody.
    const ALL: Self = Self { valid: u64::MAX, banks: [u64::MAX; 64] };

    const fn have(&self, vcpu: u32) -> bool {
        let bank = vcpu / 64 % 64;
        let before = self.valid & ((1 << bank) - 1);
        let its = self.banks[before.count_ones() as usize % 64];
        self.valid >> bank & 1 != 0 && its >> (vcpu % 64) & 1 != 0
    }
}

/// Sends a call's IPIs.
pub fn send<M: GuestMemory>(
    vm: &Vm<'_>,
    vcpu: &mut Vcpu,
    memory: &M,
    call: &Call<'_>,
    is_extended: bool,
) -> Status {
    let read = if is_extended { extended(memory, call) } else { plain(memory, call) };
    let (vector, targets) = match read {
        Ok(Some(read)) => read,
        // Nobody is meant, and KVM looks no further.
        Ok(None) => return Status::Success,
        Err(status) => return status,
    };
    let Some(vector) = u8::try_from(vector).ok().filter(|_| vector >= FIRST_VECTOR) else {
        return Status::Input;
    };
    for index in (0..vm.vcpus).filter(|&index| targets.have(index)) {
        vm.send_fixed(vcpu, index, vector);
    }
    Status::Success
}

type Read = Result<Option<(u32, Targets)>, Status>;

/// Vector, VTL and reserved bytes, mask. In memory KVM reads neither VTL nor reserved bytes, and asks for no
/// alignment (HV-206); in registers they have to be 0 (HV-212).
fn plain<M: GuestMemory>(memory: &M, call: &Call<'_>) -> Read {
    let input = call.input;
    if input.header() != 0 || input.is_repeated() {
        return Err(Status::Input);
    }
    let (first, mask) = if input.is_fast() {
        if input.first >> 32 != 0 {
            return Err(Status::Input);
        }
        (input.first, input.second)
    } else {
        (word(memory, input.first, 0)?, word(memory, input.first, 1)?)
    };
    let mut banks = [0; 64];
    banks[0] = mask;
    Ok(Some((first as u32, Targets { valid: 1, banks })))
}

/// Vector, VTL and reserved bytes, format, mask of valid banks, banks.
fn extended<M: GuestMemory>(memory: &M, call: &Call<'_>) -> Read {
    let input = call.input;
    if input.is_repeated() {
        return Err(Status::Input);
    }
    let (first, format, valid) = match call.xmm {
        Some(xmm) => (input.first, input.second, xmm.0[0]),
        None => {
            let word = |index| word(memory, input.first, index);
            (word(0)?, word(1)?, word(2)?)
        }
    };
    // An empty set of all banks has a header of none, and a header has to be as long as its banks are many.
    if input.header() != valid.count_ones() {
        return Err(Status::Input);
    }
    if format == ALL {
        return Ok(Some((first as u32, Targets::ALL)));
    }
    let count = input.header() as usize;
    if count == 0 {
        return Ok(None);
    }
    let mut banks = [0; 64];
    match call.xmm {
        // One half went to the mask.
        Some(xmm) => {
            let from = xmm.0[1..].get(..count).ok_or(Status::Input)?;
            banks[..count].copy_from_slice(from);
        }
        None => {
            for (at, bank) in banks[..count].iter_mut().enumerate() {
                *bank = word(memory, input.first, 3 + at as u64)?;
            }
        }
    }
    Ok(Some((first as u32, Targets { valid, banks })))
}

/// An eight-byte word of a block in memory, wherever that begins and whatever pages it crosses (HV-207,
/// HV-208: KVM asks only that all of it is RAM).
fn word<M: GuestMemory>(memory: &M, block: u64, index: u64) -> Result<u64, Status> {
    let address = block.checked_add(index * 8).ok_or(Status::Input)?;
    let mut bytes = [0; 8];
    for (at, byte) in bytes.iter_mut().enumerate() {
        let address = address.checked_add(at as u64).ok_or(Status::Input)?;
        *byte = memory.read_u8(address).ok_or(Status::Input)?;
    }
    Ok(u64::from_le_bytes(bytes))
}
