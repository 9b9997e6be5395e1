//! Which features of the processor the hypervisor uses, and how (spec avic.md 5.1, 5.13).

use trapline_abi::plan::{Module, Policy};

/// What CPUID says of the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// AVIC (Fn8000_000A EDX bit 13).
    pub avic: bool,
    /// AVIC works although CPUID does not say so.
    pub avic_hidden: bool,
    /// x2AVIC (bit 18).
    pub x2avic: bool,
    /// Idle HLT intercept (bit 30).
    pub idle_hlt: bool,
    /// Virtual NMI (bit 25).
    pub vnmi: bool,
    /// Family 17h: erratum 1235.
    pub family_17h: bool,
}

/// What the hypervisor uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// AVIC is enabled in the module.
    pub avic: bool,
    /// x2AVIC, too.
    pub x2avic: bool,
    /// IsRunning may be set, so that the processor sends IPIs by itself (`enable_ipiv`).
    pub ipi_virtualization: bool,
    /// The Idle HLT intercept takes the place of the HLT intercept (KVM from 6.15 on).
    pub idle_hlt: bool,
    /// NMIs go through V_NMI (KVM from 6.4 on).
    pub vnmi: bool,
    /// The software TPR is carried to V_TPR before each entry under AVIC, too (KVM from 6.17 on).
    pub carries_tpr: bool,
    /// Exits of AVIC are answered as Xen's series of 2016 did.
    pub xen_rfc: bool,
}

impl Features {
    /// What a policy makes of a processor with these module parameters.
    pub const fn of(policy: Policy, module: Module, offered: Offered) -> Self {
        let newer = matches!(policy, Policy::Kvm618);
        let xen = matches!(policy, Policy::XenAvicRfc);
        // Xen's series trusts CPUID; `force_avic` is KVM's.
        let there = offered.avic || !xen && offered.avic_hidden && module.force_avic;
        // In the laboratory nobody turns anything on.
        let laboratory = matches!(policy, Policy::Laboratory);
        let avic = module.avic && there && !laboratory;
        Self {
            avic,
            x2avic: avic && offered.x2avic && !xen,
            // Forced off on family 17h from 6.17 on.
            ipi_virtualization: module.enable_ipiv && !(newer && offered.family_17h),
            idle_hlt: offered.idle_hlt && newer,
            vnmi: offered.vnmi && !xen && !laboratory,
            carries_tpr: newer,
            xen_rfc: xen,
        }
    }
}
