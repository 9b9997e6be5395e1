//! Hyper-V's leaves (TLFS, "Feature and Interface Discovery"; spec hyperv.md 1).

use super::hypervisor::{BASE, put_signature};
use super::{CpuidTable, Host, Registers, words};
use trapline_abi::machine::HyperV;

const SIGNATURE: [u8; 12] = *b"Microsoft Hv";
const INTERFACE: [u8; 4] = *b"Hv#1";
const LAST: u32 = BASE + 6;
/// Build 14393, version 10.0: what KVM says.
const BUILD: u32 = 0x3839;
const VERSION: u32 = 10 << 16;

/// Leaf 4000_0003h, privileges: exactly the MSRs of [`crate::hyperv`] (HV-005, HV-006).
mod privilege {
    pub const VP_RUNTIME: u32 = 1;
    pub const TIME_REF_COUNT: u32 = 1 << 1;
    pub const SYNIC: u32 = 1 << 2;
    pub const SYNTHETIC_TIMERS: u32 = 1 << 3;
    pub const APIC_MSRS: u32 = 1 << 4;
    pub const HYPERCALL: u32 = 1 << 5;
    pub const VP_INDEX: u32 = 1 << 6;
    pub const RESET: u32 = 1 << 7;
    pub const REFERENCE_TSC: u32 = 1 << 9;
    pub const FREQUENCIES: u32 = 1 << 11;
}

/// Leaf 4000_0003h EBX, privileges to call: what QEMU gives along with the SynIC (HV-228).
mod call_privilege {
    pub const POST_MESSAGES: u32 = 1 << 4;
    pub const SIGNAL_EVENTS: u32 = 1 << 5;
}

/// Leaf 4000_0003h EDX, features.
mod feature {
    pub const XMM_INPUT: u32 = 1 << 4;
    /// The frequencies, once more.
    pub const FREQUENCIES: u32 = 1 << 8;
    pub const DIRECT_TIMERS: u32 = 1 << 19;
}

/// Leaf 4000_0004h EAX, recommendations.
mod recommended {
    pub const APIC_MSRS: u32 = 1 << 3;
    /// "Deprecating AutoEOI".
    pub const NO_AUTO_EOI: u32 = 1 << 9;
    pub const CLUSTER_IPI: u32 = 1 << 10;
    pub const EXTENDED_PROCESSOR_MASKS: u32 = 1 << 11;
}

/// Leaf 4000_0004h EBX: how often to spin before HvCallNotifyLongSpinWait.
mod spins {
    /// As long as you like: nobody waits for the call.
    pub const NEVER_NOTIFY: u32 = u32::MAX;
    /// What Linux's and QEMU's documents use.
    pub const USUAL: u32 = 0xfff;
}

/// The bits of the words that a set of switches turns on.
fn bits(offered: HyperV, of: &[(HyperV, u32)]) -> u32 {
    let bits = of.iter().filter(|(switch, _)| offered.contains(*switch));
    bits.fold(0, |word, (_, bits)| word | bits)
}

/// Leaf 4000_0003h EAX.
fn privileges(offered: HyperV) -> u32 {
    bits(
        offered,
        &[
            (HyperV::INTERFACE, privilege::HYPERCALL),
            (HyperV::VP_INDEX, privilege::VP_INDEX),
            (HyperV::TIME, privilege::TIME_REF_COUNT | privilege::REFERENCE_TSC),
            (HyperV::FREQUENCIES, privilege::FREQUENCIES),
            (HyperV::SYNIC, privilege::SYNIC),
            (HyperV::STIMER, privilege::SYNTHETIC_TIMERS),
            (HyperV::VAPIC, privilege::APIC_MSRS),
            (HyperV::RUNTIME, privilege::VP_RUNTIME),
            (HyperV::RESET, privilege::RESET),
        ],
    )
}

/// Leaf 4000_0003h EBX.
fn call_privileges(offered: HyperV) -> u32 {
    let both = call_privilege::POST_MESSAGES | call_privilege::SIGNAL_EVENTS;
    bits(offered, &[(HyperV::SYNIC, both)])
}

/// Leaf 4000_0003h EDX.
fn features(offered: HyperV) -> u32 {
    bits(
        offered,
        &[
            (HyperV::FREQUENCIES, feature::FREQUENCIES),
            (HyperV::STIMER_DIRECT, feature::DIRECT_TIMERS),
            (HyperV::XMM_INPUT, feature::XMM_INPUT),
        ],
    )
}

/// Leaf 4000_0004h EAX.
fn recommendations(offered: HyperV) -> u32 {
    let mut eax = bits(
        offered,
        &[
            (HyperV::AVIC, recommended::NO_AUTO_EOI),
            (HyperV::IPI, recommended::CLUSTER_IPI | recommended::EXTENDED_PROCESSOR_MASKS),
        ],
    );
    // An EOI by MSR exits, AVIC or not: whoever wants AVIC used does not recommend it.
    if offered.contains(HyperV::VAPIC) && !offered.contains(HyperV::AVIC) {
        eax |= recommended::APIC_MSRS;
    }
    eax
}

pub(super) fn fill(table: &mut CpuidTable, offered: HyperV, host: &Host) {
    let vcpus = table.vcpu.count;
    let zero = Registers::default();
    put_signature(table, BASE, LAST, &SIGNATURE);
    let [interface] = words(&INTERFACE);
    table.put(BASE + 1, Registers { eax: interface, ..zero });
    table.put(BASE + 2, Registers { eax: BUILD, ebx: VERSION, ..zero });
    let (eax, edx) = (privileges(offered), features(offered));
    table.put(BASE + 3, Registers { eax, ebx: call_privileges(offered), edx, ..zero });
    let (eax, ecx) = (recommendations(offered), host.physical_bits.into());
    let ebx = if offered.contains(HyperV::SPINLOCKS) { spins::USUAL } else { spins::NEVER_NOTIFY };
    table.put(BASE + 4, Registers { eax, ebx, ecx, ..zero });
    table.put(BASE + 5, Registers { eax: vcpus, ebx: vcpus, ..zero });
    table.put(BASE + 6, zero);
}
