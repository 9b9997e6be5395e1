//! VMRUN and #VMEXIT: the checks that involve AVIC and VNMI, loading and writing back
//! (APM vol. 2 §15.29.4, §15.21.10).
//!
//! Checks of anything else (ASID, CR0, EFER, ...) are the caller's. Not modeled: SEV-SNP's check
//! of who owns the backing page.

use crate::clean::Loaded;
use crate::feature::Feature;
use crate::memory::Memory;
use crate::processor::{AvicMode, Processor};
use crate::profile::Quirks;
use trapline_defs::avic;
use trapline_defs::event::EventKind;
use trapline_defs::intercept::Word3;
use trapline_defs::vmcb::ControlArea;

/// Why VMRUN exited with VMEXIT_INVALID (-1). Nothing was loaded, no instruction ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// 060h bit 30 without bit 31.
    X2AvicWithoutAvic,
    /// 060h bit 30 on a processor without x2AVIC.
    NoX2Avic,
    /// The last index is too large for the mode.
    MaxIndex,
    /// 0E0h, 0F0h or 0F8h points outside physical memory.
    Pointer,
    /// AVIC without nested paging.
    NoNestedPaging,
    /// VNMI without the NMI intercept.
    NmiNotIntercepted,
}

impl Invalid {
    /// Whether the manual leaves the result open, so that real silicon may do otherwise.
    pub const fn is_model_defined(self) -> bool {
        matches!(self, Self::NoX2Avic | Self::Pointer | Self::NoNestedPaging)
    }
}

impl Processor {
    /// VMRUN of the VMCB at physical address `vmcb`.
    ///
    /// An EVENTINJ is the caller's to deliver before the first guest instruction; it leaves IRR and
    /// ISR alone. Whatever AVIC holds is deliverable at the first [`Processor::boundary`] after.
    ///
    /// # Errors
    /// Why the exit code is -1; the processor stays in host mode.
    pub fn vmrun(
        &mut self,
        vmcb: u64,
        control: &ControlArea,
        memory: &impl Memory,
    ) -> Result<(), Invalid> {
        let new = self.load(vmcb, control);
        self.validate(&new)?;
        self.loaded = new;
        self.in_guest = true;
        self.latched = None;
        self.retag(control.tlb_control);
        if self.vnmi() {
            let event = control.event_injection;
            if event.valid() && event.kind() == EventKind::Nmi {
                self.loaded.v_intr.set_v_nmi_mask(true);
            }
        }
        self.evaluate(memory);
        Ok(())
    }

    /// #VMEXIT: writes back to the VMCB what the processor holds of 060h. The enables and the
    /// description of V_IRQ stay as the hypervisor left them.
    pub fn vmexit(&mut self, control: &mut ControlArea) {
        let live = self.loaded.v_intr;
        control.v_intr = control
            .v_intr
            .with_v_tpr(live.v_tpr())
            .with_v_irq(live.v_irq())
            .with_v_gif(live.v_gif())
            .with_v_nmi(live.v_nmi())
            .with_v_nmi_mask(live.v_nmi_mask());
        self.in_guest = false;
        self.latched = None;
    }

    #[inline]
    fn validate(&self, new: &Loaded) -> Result<(), Invalid> {
        let nmi = new.word_3.contains(Word3::NMI);
        if new.v_intr.v_nmi_enable() && self.silicon.has(Feature::Vnmi) && !nmi {
            return Err(Invalid::NmiNotIntercepted);
        }
        match new.mode {
            AvicMode::Off => {
                let alone = new.v_intr.x2avic_enable() && !new.v_intr.avic_enable();
                if alone && self.silicon.has(Feature::Avic) {
                    Err(Invalid::X2AvicWithoutAvic)
                } else {
                    Ok(())
                }
            }
            AvicMode::X2Avic if !self.silicon.has(Feature::X2Avic) => Err(Invalid::NoX2Avic),
            AvicMode::XAvic | AvicMode::X2Avic => self.validate_avic(new),
        }
    }

    fn validate_avic(&self, new: &Loaded) -> Result<(), Invalid> {
        let last = match new.mode {
            AvicMode::X2Avic if self.silicon.quirks().contains(Quirks::X2AVIC_EXT) => {
                avic::X2AVIC_EXT_LAST_INDEX
            }
            AvicMode::X2Avic => avic::X2AVIC_LAST_INDEX,
            AvicMode::XAvic | AvicMode::Off => avic::XAVIC_LAST_INDEX,
        };
        if new.max_index > last {
            return Err(Invalid::MaxIndex);
        }
        // The logical table is checked in x2AVIC mode too, although unused there (AVIC-009).
        if self.beyond(new.backing) || self.beyond(new.logical) || self.beyond(new.physical) {
            return Err(Invalid::Pointer);
        }
        if new.nested_paging { Ok(()) } else { Err(Invalid::NoNestedPaging) }
    }
}
