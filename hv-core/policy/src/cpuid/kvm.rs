//! KVM's leaves (Linux Documentation/virt/kvm/x86/cpuid.rst).

use super::hypervisor::put_signature;
use super::{CpuidTable, Registers};
use trapline_abi::machine::Kvm;

const SIGNATURE: [u8; 12] = *b"KVMKVMKVM\0\0\0";

/// The feature bits of each switch, in EAX of the second leaf.
const FEATURES: &[(Kvm, u32)] = &[
    // Two sets of MSRs, of which the old one came first.
    (Kvm::CLOCK, 1 << 0 | 1 << 3),
    (Kvm::NO_IO_DELAY, 1 << 1),
    (Kvm::STEAL_TIME, 1 << 5),
    (Kvm::PV_EOI, 1 << 6),
    (Kvm::PV_UNHALT, 1 << 7),
    (Kvm::PV_IPI, 1 << 11),
    (Kvm::POLL_CONTROL, 1 << 12),
    (Kvm::SCHED_YIELD, 1 << 13),
    (Kvm::CLOCK_STABLE, 1 << 24),
];

/// Hints, in EDX.
const HINTS: &[(Kvm, u32)] = &[(Kvm::HINT_DEDICATED, 1 << 0)];

pub(super) fn fill(table: &mut CpuidTable, base: u32, offered: Kvm) {
    put_signature(table, base, base + 1, &SIGNATURE);
    let bits = |of: &[(Kvm, u32)]| {
        let on = of.iter().filter(|(switch, _)| offered.contains(*switch));
        on.fold(0, |all, (_, bits)| all | bits)
    };
    let (eax, edx) = (bits(FEATURES), bits(HINTS));
    table.put(base + 1, Registers { eax, edx, ..Registers::default() });
}
