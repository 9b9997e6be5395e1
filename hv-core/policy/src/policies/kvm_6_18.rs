//! `kvm-6.18`: Linux 6.18, as far as it differs in interrupt virtualization.

use super::Release;
use super::kvm_6_12;

/// Idle HLT since 6.15; no IsRunning on family 17h and TPR carried since 6.17.
pub const RELEASE: Release = Release {
    ipiv_off_on_family_17h: true,
    idle_hlt: true,
    carries_tpr: true,
    ..kvm_6_12::RELEASE
};
