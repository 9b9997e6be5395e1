//! KVM's leaves (Linux Documentation/virt/kvm/x86/cpuid.rst).

use super::hypervisor::put_signature;
use super::{CpuidTable, Registers};
use trapline_abi::machine::Kvm;

const SIGNATURE: [u8; 12] = *b"KVMKVMKVM\0\0\0";

/// The feature bit of each switch, in EAX of the second leaf.
const FEATURES: &[(Kvm, u32)] = &[(Kvm::PV_EOI, 6)];

pub(super) fn fill(table: &mut CpuidTable, base: u32, offered: Kvm) {
    put_signature(table, base, base + 1, &SIGNATURE);
    let eax = FEATURES.iter().filter(|(switch, _)| offered.contains(*switch));
    let eax = eax.fold(0, |eax, (_, bit)| eax | 1 << bit);
    table.put(base + 1, Registers { eax, ..Registers::default() });
}
