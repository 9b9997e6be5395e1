//! The leaves from 4000_0000h: who the hypervisor is, and to which guests.

use super::{CpuidTable, Host, Registers, words};
use trapline_abi::call::{CPUID_LEAF, SIGNATURE};
use trapline_abi::plan::Machine;

/// Where KVM's leaves are, alone or beside Hyper-V's.
const BASE: u32 = 0x4000_0000;
const SECOND_BASE: u32 = 0x4000_0100;

const KVM_SIGNATURE: [u8; 12] = *b"KVMKVMKVM\0\0\0";
/// KVM feature: MSR 4B56_4D04h, see [`crate::pv_eoi`].
const KVM_PV_EOI: u32 = 1 << 6;

const HYPERV_SIGNATURE: [u8; 12] = *b"Microsoft Hv";
const HYPERV_LAST: u32 = 0x4000_0006;
const HYPERV_INTERFACE: [u8; 4] = *b"Hv#1";
/// Build 14393, version 10.0: what KVM says.
const HYPERV_BUILD: u32 = 0x3839;
const HYPERV_VERSION: u32 = 10 << 16;

/// Hyper-V privileges: exactly the MSRs of [`crate::hyperv`] (HV-005, HV-006).
const TIME_REF_COUNT: u32 = 1 << 1;
const SYNIC: u32 = 1 << 2;
const SYNTHETIC_TIMERS: u32 = 1 << 3;
const HYPERCALL: u32 = 1 << 5;
const VP_INDEX: u32 = 1 << 6;
const REFERENCE_TSC: u32 = 1 << 9;
const FREQUENCIES: u32 = 1 << 11;
/// Leaf 4000_0003h EDX: the same frequencies, once more.
const FREQUENCIES_AVAILABLE: u32 = 1 << 8;
/// Leaf 4000_0003h EDX: synthetic timers may interrupt without a message.
const DIRECT_TIMERS: u32 = 1 << 19;
/// Spin as long as you like: there is no HvCallNotifyLongSpinWait.
const NEVER_NOTIFY: u32 = u32::MAX;

pub(super) fn fill(table: &mut CpuidTable, machine: &Machine, host: &Host) {
    if machine.hyperv {
        fill_hyperv(table, host);
    }
    if machine.kvm {
        let base = if machine.hyperv { SECOND_BASE } else { BASE };
        put_signature(table, base, base + 1, &KVM_SIGNATURE);
        table.put(base + 1, Registers { eax: KVM_PV_EOI, ..Registers::default() });
    }
    put_signature(table, CPUID_LEAF, trapline_abi::PROTOCOL, &SIGNATURE);
}

fn put_signature(table: &mut CpuidTable, leaf: u32, eax: u32, signature: &[u8; 12]) {
    let [ebx, ecx, edx] = words(signature);
    table.put(leaf, Registers { eax, ebx, ecx, edx });
}

fn fill_hyperv(table: &mut CpuidTable, host: &Host) {
    let vcpus = table.vcpu.count;
    let zero = Registers::default();
    put_signature(table, BASE, HYPERV_LAST, &HYPERV_SIGNATURE);
    let [interface] = words(&HYPERV_INTERFACE);
    table.put(BASE + 1, Registers { eax: interface, ..zero });
    table.put(BASE + 2, Registers { eax: HYPERV_BUILD, ebx: HYPERV_VERSION, ..zero });
    let time = TIME_REF_COUNT | REFERENCE_TSC | FREQUENCIES;
    let eax = time | SYNIC | SYNTHETIC_TIMERS | HYPERCALL | VP_INDEX;
    let edx = FREQUENCIES_AVAILABLE | DIRECT_TIMERS;
    table.put(BASE + 3, Registers { eax, edx, ..zero });
    // No recommendation: neither MSRs for the APIC (bit 3) nor against AutoEOI (bit 9).
    let ecx = host.physical_bits.into();
    table.put(BASE + 4, Registers { ebx: NEVER_NOTIFY, ecx, ..zero });
    table.put(BASE + 5, Registers { eax: vcpus, ebx: vcpus, ..zero });
    table.put(BASE + 6, zero);
}
