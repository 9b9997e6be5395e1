//! CPUID words of SVM (APM vol. 3, Fn8000_000A).

use bitflags::bitflags;

/// Fn8000_0001 ECX bit 2: SVM.
pub const SVM_BIT: u32 = 1 << 2;
/// Fn0000_0001 ECX bit 21: x2APIC.
pub const X2APIC_BIT: u32 = 1 << 21;

/// Fn8000_000A EDX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SvmFeatures(u32);

bitflags! {
    impl SvmFeatures: u32 {
        /// Nested paging.
        const NP = 1 << 0;
        /// LBR virtualization.
        const LBR_VIRT = 1 << 1;
        /// SVM lock.
        const SVML = 1 << 2;
        /// Next RIP is saved.
        const NRIPS = 1 << 3;
        /// TSC ratio MSR.
        const TSC_RATE = 1 << 4;
        /// VMCB clean bits.
        const VMCB_CLEAN = 1 << 5;
        /// Flush by ASID.
        const FLUSH_BY_ASID = 1 << 6;
        /// Decode assists.
        const DECODE_ASSISTS = 1 << 7;
        /// Pause filter.
        const PAUSE_FILTER = 1 << 10;
        /// Pause filter threshold.
        const PAUSE_FILTER_THRESHOLD = 1 << 12;
        /// AVIC.
        const AVIC = 1 << 13;
        /// VMLOAD and VMSAVE virtualization.
        const VMSAVE_VIRT = 1 << 15;
        /// Virtual GIF.
        const VGIF = 1 << 16;
        /// x2AVIC.
        const X2AVIC = 1 << 18;
        /// Virtual NMI.
        const VNMI = 1 << 25;
        /// Extended LVT registers under AVIC.
        const EXT_LVT_AVIC = 1 << 27;
        /// VMCB address is checked.
        const SVME_ADDR_CHK = 1 << 28;
        /// Bus lock threshold.
        const BUS_LOCK_THRESHOLD = 1 << 29;
        /// Idle HLT intercept.
        const IDLE_HLT = 1 << 30;
        const _ = !0;
    }
}
