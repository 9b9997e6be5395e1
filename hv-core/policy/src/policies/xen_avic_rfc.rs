//! `xen-avic-rfc`: Xen's AVIC series of 2016 to 2018.

use super::Release;
use super::kvm_6_12;

/// KVM 6.12 but for the answers to AVIC's exits ([`crate::xen_rfc`]), and it trusts CPUID: `force_avic` is
/// KVM's.
pub const RELEASE: Release =
    Release { x2avic: false, force_avic: false, vnmi: false, xen_rfc: true, ..kvm_6_12::RELEASE };
