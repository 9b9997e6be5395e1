//! What each vCPU has: the synthetic interrupt controller.

use super::message::{Delivery, Message, Posted, SLOT_SIZE};
use super::view::View;
use super::{EOM, Effect, Partition, SCONTROL, SIEFP, SIMP, SINT0, SINT15, SVERSION};
use crate::fault::Gp;
use crate::inhibit::Inhibits;

const ENABLE: u64 = 1;
const VERSION: u64 = 1;

/// SINT: interrupts are lost.
const MASKED: u64 = 1 << 16;
/// SINT: interrupts with its vector need no EOI.
const AUTO_EOI: u64 = 1 << 17;
/// Interrupt sources of a vCPU.
pub const SINTS: usize = 16;

/// A set of vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Vectors([u64; 4]);

impl Vectors {
    const fn has(&self, vector: u8) -> bool {
        self.0[vector as usize >> 6] >> (vector & 63) & 1 != 0
    }

    const fn put(&mut self, vector: u8, present: bool) {
        let word = &mut self.0[vector as usize >> 6];
        let bit = 1 << (vector & 63);
        *word = if present { *word | bit } else { *word & !bit };
    }

    const fn is_empty(&self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }
}

/// One vCPU's SynIC.
#[derive(Clone, Debug)]
pub struct Synic {
    vp_index: u32,
    control: u64,
    event_page: u64,
    message_page: u64,
    sints: [u64; SINTS],
    /// Vectors of unmasked SINTs.
    vectors: Vectors,
    /// Vectors of unmasked SINTs with AutoEOI.
    auto_eoi: Vectors,
}

impl Synic {
    /// A SynIC as after reset. SCONTROL comes up enabled, as on real hosts and in KVM, against the
    /// TLFS: Windows relies on it (HV-034).
    pub const fn new(vp_index: u32) -> Self {
        Self {
            vp_index,
            control: ENABLE,
            event_page: 0,
            message_page: 0,
            sints: [MASKED; SINTS],
            vectors: Vectors([0; 4]),
            auto_eoi: Vectors([0; 4]),
        }
    }

    /// VM reset, which KVM's companions do by writing reset values: the count goes down with it
    /// (HV-118). INIT does not come here (HV-120).
    pub fn reset(&mut self, partition: &mut Partition, inhibits: &mut Inhibits) {
        for sint in 0..SINTS {
            self.set_sint(partition, inhibits, sint, MASKED);
        }
        *self = Self::new(self.vp_index);
        *partition.view_mut(self.vp_index) = View::RESET;
    }

    /// SCONTROL's enable bit. Timers do not ask for it, as under KVM; ports do, as under QEMU (HV-064).
    pub const fn is_enabled(&self) -> bool {
        self.control & ENABLE != 0
    }

    /// The vCPU's number.
    pub const fn vp_index(&self) -> u32 {
        self.vp_index
    }

    /// Whether interrupts with that vector leave service by themselves: true for **any** interrupt
    /// with it, whoever sent it, while an unmasked SINT has that vector and AutoEOI
    /// (HV-087, HV-088).
    #[inline]
    pub const fn is_auto_eoi(&self, vector: u8) -> bool {
        self.auto_eoi.has(vector)
    }

    /// Whether an unmasked SINT has that vector: its EOI is a reason for senders to try again.
    #[inline]
    pub const fn has_vector(&self, vector: u8) -> bool {
        self.vectors.has(vector)
    }

    /// The vector of a SINT, if it is unmasked. KVM raises a polling SINT as any other (HV-054).
    pub const fn vector(&self, sint: usize) -> Option<u8> {
        let value = self.sints[sint];
        if value & MASKED == 0 { Some(value as u8) } else { None }
    }

    /// The guest-physical address of a SINT's message slot, if there is a message page. KVM does
    /// not ask SCONTROL.
    pub const fn message_slot(&self, sint: usize) -> Option<u64> {
        if self.message_page & ENABLE == 0 {
            return None;
        }
        Some((self.message_page & !0xfff) + (sint * SLOT_SIZE) as u64)
    }

    /// Sends a message to a SINT. `slot` is the memory at [`Self::message_slot`], `None` if there
    /// is none.
    pub fn deliver(
        &self,
        sint: usize,
        slot: Option<&mut [u8; SLOT_SIZE]>,
        message: &Message<'_>,
    ) -> Delivery {
        let Some(slot) = slot else { return Delivery::NoPage };
        match message.post(slot) {
            Posted::Busy => Delivery::Busy,
            Posted::Stored => match self.vector(sint) {
                Some(vector) => Delivery::Interrupt { vector },
                None => Delivery::Masked,
            },
        }
    }

    pub(super) const fn read(&self, msr: u32) -> Result<u64, Gp> {
        match msr {
            SCONTROL => Ok(self.control),
            SVERSION => Ok(VERSION),
            SIEFP => Ok(self.event_page),
            SIMP => Ok(self.message_page),
            EOM => Ok(0),
            SINT0..=SINT15 => Ok(self.sints[(msr - SINT0) as usize]),
            _ => Err(Gp),
        }
    }

    pub(super) fn write(
        &mut self,
        partition: &mut Partition,
        inhibits: &mut Inhibits,
        msr: u32,
        value: u64,
    ) -> Result<Effect, Gp> {
        match msr {
            SCONTROL => {
                self.control = value;
                partition.view_mut(self.vp_index).enabled = self.is_enabled();
                Ok(Effect::None)
            }
            SIEFP => {
                let effect = Self::set_page(&mut self.event_page, partition, value)?;
                partition.view_mut(self.vp_index).event_page = page(value);
                Ok(effect)
            }
            SIMP => Self::set_page(&mut self.message_page, partition, value),
            EOM => Ok(Effect::EndOfMessage),
            SINT0..=SINT15 => {
                // A masked SINT may carry any vector, or the reset value could not be written
                // back (HV-050, HV-051).
                if value & MASKED == 0 && value as u8 <= 15 {
                    return Err(Gp);
                }
                let sint = (msr - SINT0) as usize;
                let transitions = self.set_sint(partition, inhibits, sint, value);
                Ok(Effect::SintChanged { transitions })
            }
            _ => Err(Gp),
        }
    }

    /// The host restores a register: no page becomes zero, and a SINT is taken with any vector, as by KVM.
    /// Returns the inhibit transitions.
    pub(super) fn restore(
        &mut self,
        partition: &mut Partition,
        inhibits: &mut Inhibits,
        msr: u32,
        value: u64,
    ) -> u8 {
        match msr {
            SCONTROL => {
                self.control = value;
                partition.view_mut(self.vp_index).enabled = self.is_enabled();
            }
            SIEFP => {
                self.event_page = value;
                partition.view_mut(self.vp_index).event_page = page(value);
            }
            SIMP => self.message_page = value,
            _ => return self.set_sint(partition, inhibits, (msr - SINT0) as usize % SINTS, value),
        }
        0
    }

    fn set_page(register: &mut u64, partition: &Partition, value: u64) -> Result<Effect, Gp> {
        let mut effect = Effect::None;
        // KVM looks at the page only to zero it, and does so at every write that enables it.
        if value & ENABLE != 0 && partition.zero_pages {
            effect = Effect::ZeroPage { address: partition.page(value)? };
        }
        *register = value;
        Ok(effect)
    }

    /// Stores a SINT and brings sets, count and inhibit up to date; returns the inhibit
    /// transitions. KVM's order: the old vector first, so a move is two transitions (HV-111).
    fn set_sint(
        &mut self,
        partition: &mut Partition,
        inhibits: &mut Inhibits,
        sint: usize,
        value: u64,
    ) -> u8 {
        let before = core::mem::replace(&mut self.sints[sint], value);
        partition.view_mut(self.vp_index).vectors[sint] = self.vector(sint);
        self.update(partition, inhibits, before as u8)
            + self.update(partition, inhibits, value as u8)
    }

    fn update(&mut self, partition: &mut Partition, inhibits: &mut Inhibits, vector: u8) -> u8 {
        if vector <= 15 {
            return 0;
        }
        let mut connected = false;
        let mut auto_eoi = false;
        for &sint in &self.sints {
            if sint & MASKED == 0 && sint as u8 == vector {
                connected = true;
                auto_eoi |= sint & AUTO_EOI != 0;
            }
        }
        self.vectors.put(vector, connected);
        let before = !self.auto_eoi.is_empty();
        self.auto_eoi.put(vector, auto_eoi);
        partition.count_auto_eoi(inhibits, before, !self.auto_eoi.is_empty())
    }
}

/// The page that SIEFP or SIMP names, if it enables one.
fn page(register: u64) -> Option<u64> {
    (register & ENABLE != 0).then_some(register & !0xfff)
}
