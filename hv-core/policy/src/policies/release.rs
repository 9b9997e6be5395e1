//! The facts in which releases differ.

use crate::hyperv::DecrementRule;

/// What one release does. What it does not name is the same in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// It uses AVIC where the processor and its module's parameters allow.
    pub avic: bool,
    /// It uses x2AVIC, too.
    pub x2avic: bool,
    /// Its module has `force_avic`.
    pub force_avic: bool,
    /// It leaves IsRunning clear on family 17h (erratum 1235).
    pub ipiv_off_on_family_17h: bool,
    /// It uses the Idle HLT intercept.
    pub idle_hlt: bool,
    /// It uses VNMI.
    pub vnmi: bool,
    /// It carries the software TPR to V_TPR before each entry under AVIC, too.
    pub carries_tpr: bool,
    /// What may inhibit AVIC, as bits of [`crate::inhibit::Reason`].
    pub reasons: u32,
    /// A machine that offers the SynIC inhibits AVIC for good, and nobody counts AutoEOI.
    pub synic_inhibits: bool,
    /// How the count of AutoEOI users goes down, if there is one.
    pub decrement: DecrementRule,
    /// An IPI that AVIC finds no target for is dropped, not emulated (exit 401h, failure id 2).
    pub drops_invalid_targets: bool,
    /// Exits of AVIC are answered as by Xen's series: [`crate::xen_rfc`].
    pub xen_rfc: bool,
    /// Events are decided as by Xen: [`crate::events`].
    pub xen: bool,
}
