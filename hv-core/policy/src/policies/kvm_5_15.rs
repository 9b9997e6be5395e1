//! `kvm-5.15`: Linux 5.15, the first with a counted AutoEOI inhibit.

use super::Release;
use super::kvm_6_12;
use crate::inhibit::Reason;

/// 6.12 without what came in between: `force_avic` (5.18), x2AVIC (6.0), emulation of IPIs to nobody
/// (6.3), VNMI (6.4).
///
/// A machine that offers x2APIC inhibits AVIC (5.6 to 5.19), while APIC ids that were changed, moved
/// bases and aliased ids do not yet (`svm_check_apicv_inhibit_reasons`). Not copied is what no exit shows:
/// targets that poll count as not running before 5.17, but nobody polls here; ICR's reserved bits fault
/// since 6.11 only, and do here as in 6.12.
pub const RELEASE: Release = Release {
    x2avic: false,
    force_avic: false,
    vnmi: false,
    reasons: Reason::Disabled.bit()
        | Reason::Hyperv.bit()
        | Reason::Nested.bit()
        | Reason::IrqWindow.bit()
        | Reason::PitReinject.bit()
        | Reason::X2Apic.bit(),
    drops_invalid_targets: true,
    ..kvm_6_12::RELEASE
};
