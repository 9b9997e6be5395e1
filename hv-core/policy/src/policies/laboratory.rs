//! `laboratory`: no hypervisor.

use super::Release;
use super::kvm_6_12;

/// Nobody turns anything on: the payload does.
pub const RELEASE: Release = Release { avic: false, vnmi: false, ..kvm_6_12::RELEASE };
