//! The leaves from 4000_0000h: who the hypervisor is, and to which guests.

use super::{CpuidTable, Host, Registers, hyperv, kvm, words, xen};
use trapline_abi::call::{CPUID_LEAF, SIGNATURE};
use trapline_abi::machine::Machine;

/// Where the first interface's leaves are.
pub(super) const BASE: u32 = 0x4000_0000;
/// From one interface's leaves to the next one's.
const STEP: u32 = 0x100;

pub(super) fn fill(table: &mut CpuidTable, machine: &Machine, host: &Host) {
    // Hyper-V's guests look at the first place only, so everybody makes room for it.
    let mut base = BASE;
    if !machine.hyperv.is_empty() {
        hyperv::fill(table, machine.hyperv, host);
        base += STEP;
    }
    // QEMU's order, where KVM offers both.
    if machine.xen {
        xen::fill(table, base);
        base += STEP;
    }
    if !machine.kvm.is_empty() {
        kvm::fill(table, base, machine.kvm);
    }
    put_signature(table, CPUID_LEAF, trapline_abi::PROTOCOL, &SIGNATURE);
}

pub(super) fn put_signature(table: &mut CpuidTable, leaf: u32, eax: u32, signature: &[u8; 12]) {
    let [ebx, ecx, edx] = words(signature);
    table.put(leaf, Registers { eax, ebx, ecx, edx });
}
