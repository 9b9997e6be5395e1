//! `kvm-5.8`: Linux 5.8, on which the first tables of seeds/000 were measured.

use super::Release;
use super::kvm_5_15;

/// 5.15 but for the SynIC: `kvm_hv_activate_synic` asks for the HYPERV inhibit as soon as user space turns
/// the capability on, which QEMU does for every vCPU of a machine with `hv-synic`, and nothing ever
/// takes it back (spec hyperv.md 4.1, 5.6 to 5.14).
pub const RELEASE: Release = Release { synic_inhibits: true, ..kvm_5_15::RELEASE };
