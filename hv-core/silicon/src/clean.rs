//! What VMRUN takes from the VMCB, and what it may take from the core's own copy instead
//! (APM vol. 2 §15.15).
//!
//! The copy is what the last VMRUN of the same VMCB on this core left. Silicon may keep more than
//! one; a hypervisor cannot rely on either.

use crate::feature::Feature;
use crate::processor::{AvicMode, Processor};
use trapline_defs::avic;
use trapline_defs::intercept::{Word3, Word4, Word5};
use trapline_defs::vintr::VIntr;
use trapline_defs::vmcb::{CleanBits, ControlArea, NestedControl};

/// The fields of a VMCB that the model uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    /// Physical address of the VMCB; `!0` is none.
    pub(crate) vmcb: u64,
    pub(crate) mode: AvicMode,
    pub(crate) v_intr: VIntr,
    pub(crate) intercept_cr: u32,
    pub(crate) word_3: Word3,
    pub(crate) word_4: Word4,
    pub(crate) word_5: Word5,
    pub(crate) nested_paging: bool,
    pub(crate) bar: u64,
    pub(crate) backing: u64,
    pub(crate) logical: u64,
    pub(crate) physical: u64,
    pub(crate) max_index: u16,
}

impl Loaded {
    pub(crate) const NOTHING: Self = Self {
        vmcb: !0,
        mode: AvicMode::Off,
        v_intr: VIntr::new(),
        intercept_cr: 0,
        word_3: Word3::empty(),
        word_4: Word4::empty(),
        word_5: Word5::empty(),
        nested_paging: false,
        bar: 0,
        backing: 0,
        logical: 0,
        physical: 0,
        max_index: 0,
    };

    /// The fields as they are in memory. Low bits of pointers are dropped, the upper ones stay for
    /// the range check.
    #[inline]
    fn of(vmcb: u64, control: &ControlArea) -> Self {
        Self {
            vmcb,
            mode: AvicMode::Off,
            v_intr: control.v_intr,
            intercept_cr: control.intercept_cr,
            word_3: control.intercept_3,
            word_4: control.intercept_4,
            word_5: control.intercept_5,
            nested_paging: control.nested_control.contains(NestedControl::NP_ENABLE),
            bar: control.avic_apic_bar & avic::ADDRESS,
            backing: control.avic_backing_page & !0xfff,
            logical: control.avic_logical_table & !0xfff,
            physical: control.avic_physical_table & !0xfff,
            max_index: (control.avic_physical_table & avic::MAX_INDEX) as u16,
        }
    }
}

impl Processor {
    /// What VMRUN of the VMCB at `vmcb` works with.
    #[inline]
    pub(crate) fn load(&mut self, vmcb: u64, control: &ControlArea) -> Loaded {
        let mut new = Loaded::of(vmcb, control);
        if !control.clean.is_empty() && self.loaded.vmcb == vmcb {
            self.keep(&mut new, control.clean);
        }
        new.mode = self.mode_of(new.v_intr);
        new
    }

    #[cold]
    fn keep(&mut self, new: &mut Loaded, clean: CleanBits) {
        let chance = self.knobs.keep_clean;
        let old = self.loaded;
        let mut keeps = |bit| clean.contains(bit) && self.dice.happens(chance);
        let avic = keeps(CleanBits::AVIC);
        if avic {
            (new.bar, new.backing) = (old.bar, old.backing);
            (new.logical, new.physical) = (old.logical, old.physical);
            new.max_index = old.max_index;
        }
        if keeps(CleanBits::TPR) {
            new.v_intr = old.v_intr;
        } else if avic {
            // Which clean bit covers 060h[31:30] is not documented (P16): either one keeps them.
            new.v_intr = new
                .v_intr
                .with_avic_enable(old.v_intr.avic_enable())
                .with_x2avic_enable(old.v_intr.x2avic_enable());
        }
        if keeps(CleanBits::INTERCEPTS) {
            new.intercept_cr = old.intercept_cr;
            (new.word_3, new.word_4, new.word_5) = (old.word_3, old.word_4, old.word_5);
        }
        if keeps(CleanBits::NESTED_PAGING) {
            new.nested_paging = old.nested_paging;
        }
    }

    /// The mode of 060h. Without AVIC in the silicon both bits are ignored (AVIC-001).
    #[inline]
    fn mode_of(&self, v_intr: VIntr) -> AvicMode {
        if !self.silicon.has(Feature::Avic) || !v_intr.avic_enable() {
            AvicMode::Off
        } else if v_intr.x2avic_enable() {
            AvicMode::X2Avic
        } else {
            AvicMode::XAvic
        }
    }
}
