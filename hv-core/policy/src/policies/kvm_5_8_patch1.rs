//! `kvm-5.8-patch1`: Linux 5.8 with the first patch that was posted for it (seeds/000, 4 February 2021).

use super::Release;
use super::kvm_5_8;
use crate::hyperv::DecrementRule;

/// Only AutoEOI inhibits, and vCPUs are counted; but the branch that counts down has the condition of the
/// one that counts up, so it is never taken, and AVIC never comes back.
pub const RELEASE: Release = Release {
    synic_inhibits: false,
    decrement: DecrementRule::IncrementConditionAgain,
    ..kvm_5_8::RELEASE
};
