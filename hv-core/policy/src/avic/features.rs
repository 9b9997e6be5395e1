//! Which features of the processor the hypervisor uses, and how (spec avic.md 5.1, 5.13).

use crate::policies::{self, Release};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// AVIC is enabled in the module.
    pub avic: bool,
    /// x2AVIC, too.
    pub x2avic: bool,
    /// IsRunning may be set, so that the processor sends IPIs by itself (`enable_ipiv`).
    pub ipi_virtualization: bool,
    /// The Idle HLT intercept takes the place of the HLT intercept.
    pub idle_hlt: bool,
    /// NMIs go through V_NMI.
    pub vnmi: bool,
    /// The software TPR is carried to V_TPR before each entry under AVIC, too.
    pub carries_tpr: bool,
    /// Events are decided as Xen 4.17 does.
    pub xen: bool,
    /// What the release does with the rest.
    pub release: &'static Release,
}

impl Default for Features {
    /// None of them, as Linux 6.12.
    fn default() -> Self {
        let module = Module { avic: false, enable_ipiv: false, force_avic: false };
        Self::of(Policy::Kvm612, module, Offered::default())
    }
}

impl Features {
    /// What a policy makes of a processor with these module parameters.
    pub const fn of(policy: Policy, module: Module, offered: Offered) -> Self {
        let release = policies::of(policy);
        let is_there =
            offered.avic || release.force_avic && offered.avic_hidden && module.force_avic;
        let avic = release.avic && module.avic && is_there;
        Self {
            avic,
            x2avic: avic && offered.x2avic && release.x2avic,
            ipi_virtualization: module.enable_ipiv
                && !(release.ipiv_off_on_family_17h && offered.family_17h),
            idle_hlt: offered.idle_hlt && release.idle_hlt,
            vnmi: offered.vnmi && release.vnmi,
            carries_tpr: release.carries_tpr,
            xen: release.xen,
            release,
        }
    }
}
