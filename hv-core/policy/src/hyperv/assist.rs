//! The VP assist page: Hyper-V's word for "this one needs no EOI".
//!
//! The machine behind its first word is KVM's paravirtual EOI ([`PvEoi`]), in KVM as here: bit 0 is
//! NoEoiRequired, set and taken back by the same rules, at another address. So a guest that turns both
//! interfaces on has the one that it turned on last.

use super::{Effect, Partition};
use crate::fault::Gp;
use crate::pv_eoi::PvEoi;

const ENABLE: u64 = 1;

/// VP_ASSIST_PAGE of a vCPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assist {
    msr: u64,
}

impl Assist {
    /// The value of the MSR. INIT leaves it as it is, and turns the assist off nevertheless, as in KVM.
    pub const fn value(&self) -> u64 {
        self.msr
    }

    /// Writes the MSR. Enabling zeroes the first word and nothing else: the rest of the page may hold what
    /// came with a migration. KVM does so for its own host as well, and takes any reserved bit.
    ///
    /// # Errors
    /// `#GP`, and nothing changes, on enabling outside of RAM (HV-036).
    pub fn write(
        &mut self,
        partition: &Partition,
        pv_eoi: &mut PvEoi,
        value: u64,
    ) -> Result<Effect, Gp> {
        let (page, effect) = if value & ENABLE == 0 {
            (None, Effect::None)
        } else {
            let address = partition.page(value)?;
            (Some(address), Effect::WriteBytes { address, bytes: &[0; 4] })
        };
        self.msr = value;
        pv_eoi.move_to(page);
        Ok(effect)
    }

    /// VM reset.
    pub const fn reset(&mut self, pv_eoi: &mut PvEoi) {
        self.msr = 0;
        pv_eoi.reset();
    }
}
