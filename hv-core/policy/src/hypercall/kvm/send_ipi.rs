//! SEND_IPI: one call, up to 128 targets (Linux 6.12 `kvm_pv_send_ipi`; rules HC-2 to HC-4).

use super::{EINVAL, EOPNOTSUPP};
use crate::handle::{Next, Stop};
use crate::lapic::{Delivery, Identity, Mode};
use crate::vcpu::Vcpu;
use crate::vm::{MAX_VCPUS, Vm};
use trapline_abi::plan::Seed;
use trapline_defs::apic::{Icr, Shorthand};

/// Sends what RBX, RCX, RDX and RSI say; the result is how many APICs accepted, or an error.
#[inline(never)]
pub(super) fn send(
    vm: &Vm,
    vcpu: &mut Vcpu,
    [low, high, first, icr]: [u64; 4],
    is_wide: bool,
) -> (u64, Next) {
    let icr = Icr::from_bits(icr);
    if icr.logical() || icr.shorthand() != Shorthand::None {
        return (EINVAL, Next::Enter);
    }
    let Some(ids) = apic_ids(vm) else { return (EOPNOTSUPP, Next::Enter) };
    let [low, high] = without_lost(vm, [low, high]);
    let first = first as u32;
    // KVM goes through the halves one by one. The second one's first id may wrap around.
    let halves = [(low, first), (high, first.wrapping_add(if is_wide { 64 } else { 32 }))];
    let delivery = Delivery::of(icr);
    let (mut accepted, mut next) = (0, Next::Enter);
    for (bitmap, first) in halves {
        for index in 0..vm.vcpus {
            if !ids[index as usize].is_some_and(|id| names(bitmap, first, id)) {
                continue;
            }
            accepted += u64::from(vm.deliver_to(vcpu, index, delivery));
            if index == vcpu.index && delivery == Delivery::Init {
                next = Next::Stop(Stop::Init);
            }
        }
    }
    (accepted, next)
}

/// Whether the bit of `id` is set in a bitmap that starts at `first`.
fn names(bitmap: u64, first: u32, id: u32) -> bool {
    id.checked_sub(first).is_some_and(|place| place < 64 && bitmap >> place & 1 != 0)
}

/// Physical ids by vCPU, without those whose APIC is off. `None` if two have the same: then KVM has no map,
/// and gives up.
fn apic_ids(vm: &Vm) -> Option<[Option<u32>; MAX_VCPUS]> {
    let mut ids = [None; MAX_VCPUS];
    for index in 0..vm.vcpus {
        let identity: Identity = vm.mailbox(index).identity();
        if identity.mode() != Mode::Disabled {
            let id = Some(identity.physical_id());
            if ids.contains(&id) {
                return None;
            }
            ids[index as usize] = id;
        }
    }
    Some(ids)
}

/// The bitmap, or what a seeded fault leaves of it.
fn without_lost(vm: &Vm, [low, high]: [u64; 2]) -> [u64; 2] {
    let mut bits = u128::from(high) << 64 | u128::from(low);
    if vm.seed == Some(Seed::PvIpiTopLost) && bits != 0 {
        bits &= !(1 << (127 - bits.leading_zeros()));
    }
    [bits as u64, (bits >> 64) as u64]
}
