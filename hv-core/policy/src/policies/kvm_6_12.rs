//! `kvm-6.12`: Linux 6.12, what the policy copies unless told otherwise.

use super::Release;
use crate::hyperv::DecrementRule;
use crate::inhibit::Reason;

/// Idle HLT and carrying TPR are for later releases.
pub const RELEASE: Release = Release {
    avic: true,
    x2avic: true,
    force_avic: true,
    ipiv_off_on_family_17h: false,
    idle_hlt: false,
    vnmi: true,
    carries_tpr: false,
    // Hybrid mode took the place of this one in 6.0.
    reasons: !Reason::X2Apic.bit(),
    synic_inhibits: false,
    decrement: DecrementRule::OldAndNotNew,
    drops_invalid_targets: false,
    xen_rfc: false,
    xen: false,
};
