//! Xen's leaves, as version 4.17 fills them for an HVM guest under SVM (Xen, public/arch-x86/cpuid.h;
//! measured, spec pv-and-formats.md b.1).

use super::hypervisor::put_signature;
use super::{CpuidTable, Registers};
use crate::xen::{DOMAIN_ID, HYPERCALL_MSR, HYPERCALL_MSR_BESIDE_HYPERV, VERSION};

use super::hypervisor::BASE;

const SIGNATURE: [u8; 12] = *b"XenVMMXenVMM";
/// The last leaf, which is for PV guests only and empty here.
const LAST: u32 = 5;

/// Leaf +4 EAX. Bits 0 and 1, APIC registers and x2APIC MSRs without exits, are not among them: Xen sets
/// them by what a VMX processor can do, and never on AMD.
mod feature {
    pub const IOMMU_MAPPINGS: u32 = 1 << 2;
    pub const VCPU_ID: u32 = 1 << 3;
    pub const DOMAIN_ID: u32 = 1 << 4;
    pub const UPCALL_VECTOR: u32 = 1 << 6;
}

pub(super) fn fill(table: &mut CpuidTable, base: u32) {
    let zero = Registers::default();
    put_signature(table, base, base + LAST, &SIGNATURE);
    table.put(base + 1, Registers { eax: VERSION, ..zero });
    let msr = if base == BASE { HYPERCALL_MSR } else { HYPERCALL_MSR_BESIDE_HYPERV };
    // One hypercall page.
    table.put(base + 2, Registers { eax: 1, ebx: msr, ..zero });
    table.xen_time = base + 3;
    let eax =
        feature::IOMMU_MAPPINGS | feature::VCPU_ID | feature::DOMAIN_ID | feature::UPCALL_VECTOR;
    let vcpu = table.vcpu.apic_id;
    table.put(base + 4, Registers { eax, ebx: vcpu, ecx: DOMAIN_ID, ..zero });
    table.put(base + LAST, zero);
}

/// Leaf +3: the TSC is the processor's own, from offset 0 on, and good for that.
pub(super) fn time(khz: u32, subleaf: u32) -> Registers {
    let zero = Registers::default();
    match subleaf {
        // Safe, and not emulated; the default mode; never migrated.
        0 => Registers { eax: 1 << 1, ecx: khz, edx: 1, ..zero },
        1 => {
            let (fraction, shift) = to_nanoseconds(khz);
            Registers { ecx: fraction, edx: i32::from(shift) as u32, ..zero }
        }
        2 => Registers { eax: khz, ..zero },
        _ => zero,
    }
}

/// By what ticks are shifted to the left, and then multiplied in units of 2^-32.
fn to_nanoseconds(khz: u32) -> (u32, i8) {
    const SECOND: u64 = 1_000_000_000;
    let mut hertz = u64::from(khz) * 1000;
    let mut shift = 0;
    while hertz > 2 * SECOND {
        hertz >>= 1;
        shift -= 1;
    }
    while hertz <= SECOND && hertz > 0 {
        hertz <<= 1;
        shift += 1;
    }
    (((SECOND << 32) / hertz.max(1)) as u32, shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds() {
        for khz in [1_000_000, 2_500_000, 999_999, 3_000_000, 100] {
            let (fraction, shift) = to_nanoseconds(khz);
            let ticks = u64::from(khz) * 1000;
            let ticks = if shift < 0 { ticks >> -shift } else { ticks << shift };
            let nanoseconds = (u128::from(ticks) * u128::from(fraction)) >> 32;
            // A second.
            assert!(nanoseconds.abs_diff(1_000_000_000) <= 1, "{khz} kHz: {nanoseconds}");
        }
    }
}
