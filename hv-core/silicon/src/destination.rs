//! Which guest APICs a command names (APM vol. 2 §15.29.5, §15.29.6).

use crate::processor::{AvicMode, Processor};
use trapline_defs::apic::{BROADCAST, Icr, Shorthand, X2APIC_BROADCAST};

/// The APICs that a command names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Every valid entry.
    Everyone,
    /// Every valid entry but the sender's.
    Others,
    /// The entry with this id, compared in full.
    Physical(u32),
    /// Logical entries of the flat model, one per bit.
    Flat(u8),
    /// Logical entries of the cluster model: the cluster, and one bit per entry.
    Cluster(u8, u8),
    /// APIC ids `cluster * 16 + bit`; no table is involved.
    X2Logical(u32, u16),
}

impl Destination {
    /// The destination of a command with any shorthand but self. `dfr` is called in xAPIC logical
    /// mode only: it is the sender's DFR that counts.
    ///
    /// The broadcast value comes before everything, logical mode included. In x2APIC mode that
    /// value is FFFF_FFFFh and FFh is an ordinary id (model-defined, P6).
    #[inline]
    pub(crate) fn of(icr: Icr, mode: AvicMode, dfr: impl FnOnce() -> u32) -> Self {
        match icr.shorthand() {
            Shorthand::AllExcludingSelf => return Self::Others,
            Shorthand::AllIncludingSelf => return Self::Everyone,
            Shorthand::None | Shorthand::Itself => {}
        }
        let destination = icr.destination();
        if mode == AvicMode::X2Avic {
            return match (destination, icr.logical()) {
                (X2APIC_BROADCAST, _) => Self::Everyone,
                (_, false) => Self::Physical(destination),
                (_, true) => Self::X2Logical(destination >> 16, destination as u16),
            };
        }
        match (destination, icr.logical()) {
            (BROADCAST, _) => Self::Everyone,
            (_, false) => Self::Physical(destination),
            // 1111b is flat. 0000b is cluster; so is, model-defined, any other value.
            (_, true) if dfr() >> 28 == 0xf => Self::Flat(destination as u8),
            (_, true) => Self::Cluster(destination as u8 >> 4, destination as u8 & 0xf),
        }
    }
}

impl Processor {
    /// The last id that this guest's tables hold. Index 255 of an xAPIC table is reserved.
    #[inline]
    pub(crate) fn last_id(&self) -> u32 {
        let last = u32::from(self.loaded.max_index);
        if self.loaded.mode == AvicMode::X2Avic { last } else { last.min(254) }
    }
}
