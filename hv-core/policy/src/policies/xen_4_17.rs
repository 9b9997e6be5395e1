//! `xen-4.17`: Xen 4.17, which has neither AVIC nor Idle HLT nor VNMI.

use super::Release;
use super::kvm_6_12;

/// Its way to decide events is a file of its own; what is left of KVM 6.12 are its devices.
pub const RELEASE: Release = Release {
    avic: false,
    x2avic: false,
    force_avic: false,
    vnmi: false,
    xen: true,
    ..kvm_6_12::RELEASE
};
