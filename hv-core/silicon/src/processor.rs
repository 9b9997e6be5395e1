//! One physical core, as far as the model reaches: what VMRUN loaded and what the core latched.

use crate::clean::Loaded;
use crate::feature::Feature;
use crate::knobs::{Dice, Knobs};
use crate::matrix::{self, Row};
use crate::page::Page;
use crate::profile::{Quirks, Silicon};
use crate::stale::{SeenRunning, Tag};
use trapline_defs::vintr::VIntr;

/// Which AVIC the guest runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AvicMode {
    /// None.
    Off,
    /// xAPIC: registers in the page at V_APIC_BAR.
    XAvic,
    /// x2APIC: registers in MSRs.
    X2Avic,
}

/// A physical core.
///
/// It lives as long as the core and is used by that core alone. Between [`Processor::vmrun`] and
/// [`Processor::vmexit`] it is in guest mode, holds what a processor holds inside (V_TPR, the
/// latched virtual interrupt, the copies behind clean bits), and takes what the guest does.
#[derive(Clone, Debug)]
pub struct Processor {
    pub(crate) silicon: Silicon,
    pub(crate) knobs: Knobs,
    pub(crate) dice: Dice,
    pub(crate) host_id: u16,
    pub(crate) physical_bits: u8,
    pub(crate) in_guest: bool,
    pub(crate) loaded: Loaded,
    /// The vector of the backing page that is deliverable but for IF, shadow and vGIF. Changes only
    /// at evaluation points.
    pub(crate) latched: Option<u8>,
    pub(crate) seen: SeenRunning,
    pub(crate) tag: Tag,
}

impl Processor {
    /// A core in host mode. `host_id` is its APIC id, `physical_bits` the width of physical
    /// addresses (Fn8000_0008 EAX 7:0), at most 52.
    pub fn new(silicon: Silicon, knobs: Knobs, host_id: u16, physical_bits: u8) -> Self {
        Self {
            silicon,
            knobs,
            dice: Dice::new(knobs.seed),
            host_id,
            physical_bits: if physical_bits > 52 { 52 } else { physical_bits },
            in_guest: false,
            loaded: Loaded::NOTHING,
            latched: None,
            seen: SeenRunning::NONE,
            tag: Tag::NONE,
        }
    }

    /// Turns the knobs.
    pub fn set_knobs(&mut self, knobs: Knobs) {
        self.knobs = knobs;
    }

    /// How the knobs stand.
    pub fn knobs(&self) -> Knobs {
        self.knobs
    }

    /// The described processor.
    pub const fn silicon(&self) -> &Silicon {
        &self.silicon
    }

    /// Whether it is between VMRUN and #VMEXIT.
    #[inline]
    pub const fn in_guest(&self) -> bool {
        self.in_guest
    }

    /// V_APIC_BAR as VMRUN loaded it.
    #[inline]
    pub const fn apic_bar(&self) -> u64 {
        self.loaded.bar
    }

    /// Which AVIC VMRUN loaded.
    #[inline]
    pub const fn avic(&self) -> AvicMode {
        self.loaded.mode
    }

    /// VMCB 060h as it stands inside the processor; [`Processor::vmexit`] writes it back.
    #[inline]
    pub const fn v_intr(&self) -> VIntr {
        self.loaded.v_intr
    }

    /// Takes over what the guest did to its V_TPR and V_IRQ without the model's help: by MOV CR8 that
    /// nothing intercepts, and by taking a V_IRQ that the processor underneath delivered. Under AVIC both
    /// are the model's alone, and without V_INTR_MASKING CR8 is not V_TPR.
    #[inline]
    pub const fn underneath(&mut self, v_intr: VIntr) {
        if matches!(self.loaded.mode, AvicMode::Off) {
            if self.loaded.v_intr.v_intr_masking() {
                self.loaded.v_intr.set_v_tpr(v_intr.v_tpr());
            }
            self.loaded.v_intr.set_v_irq(v_intr.v_irq());
        }
    }

    /// Whether an interrupt of the backing page is latched as pending ("V_INTR" of AVIC).
    #[inline]
    pub const fn interrupt_pending(&self) -> bool {
        self.latched.is_some()
    }

    #[inline]
    pub(crate) fn page(&self) -> Page {
        Page(self.loaded.backing)
    }

    #[inline]
    pub(crate) fn row(&self, slot: u8) -> Row {
        matrix::row(slot, self.silicon.quirks().contains(Quirks::EXTENDED_LVT))
    }

    /// Whether an address lies outside the physical range.
    #[inline]
    pub(crate) const fn beyond(&self, address: u64) -> bool {
        address >> self.physical_bits != 0
    }

    /// Whether the guest has virtual NMIs: the feature, and its enable.
    #[inline]
    pub const fn vnmi(&self) -> bool {
        self.silicon.has(Feature::Vnmi) && self.loaded.v_intr.v_nmi_enable()
    }
}
