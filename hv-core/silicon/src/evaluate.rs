//! Evaluation: does the backing page hold an interrupt that outranks what the guest does
//! (APM vol. 2 §15.29.8, §15.21.4)?
//!
//! The answer is latched, and changes only where the processor looks: VMRUN, doorbell, EOI, TPR or
//! CR8 write, self-IPI. A store to the IRR by somebody who rings no doorbell goes unseen.

use crate::knobs::Evaluation;
use crate::memory::Memory;
use crate::page::Bank;
use crate::processor::{AvicMode, Processor};
use trapline_defs::apic::offset;

impl Processor {
    /// A doorbell arrived at this core. In host mode it has no effect: the next VMRUN evaluates.
    ///
    /// Whose vCPU it was meant for, nobody knows: the core looks at the page it runs now.
    #[inline]
    pub fn doorbell(&mut self, memory: &impl Memory) {
        if self.in_guest {
            self.evaluate(memory);
        }
    }

    /// A point where silicon may look at the IRR, or not. Does nothing under strict evaluation.
    #[inline]
    pub fn glance(&mut self, memory: &impl Memory) {
        if let Evaluation::Relaxed(chance) = self.knobs.evaluation
            && self.in_guest
            && self.dice.happens(chance)
        {
            self.evaluate(memory);
        }
    }

    #[inline]
    pub(crate) fn evaluate(&mut self, memory: &impl Memory) {
        self.latched = self.deliverable(memory);
    }

    /// The vector that would be delivered if IF, shadow and vGIF permit. Its class must be above
    /// both V_TPR's and that of the highest in service: equal is not enough. It is V_TPR that
    /// counts, not the TPR of the backing page.
    #[inline]
    pub(crate) fn deliverable(&self, memory: &impl Memory) -> Option<u8> {
        if self.loaded.mode == AvicMode::Off {
            return None;
        }
        let vector = self.page().top(memory, Bank::IRR)?;
        self.outranks(vector, self.page().top(memory, Bank::ISR)).then_some(vector)
    }

    /// [`Processor::evaluate`] for a caller who knows the highest vector in service.
    #[inline]
    pub(crate) fn evaluate_above(&mut self, in_service: Option<u8>, memory: &impl Memory) {
        let request = self.page().top(memory, Bank::IRR);
        self.latched = request.filter(|&vector| self.outranks(vector, in_service));
    }

    #[inline]
    fn outranks(&self, vector: u8, in_service: Option<u8>) -> bool {
        let class = vector >> 4;
        class > self.loaded.v_intr.v_tpr() && class > in_service.unwrap_or(0) >> 4
    }

    /// Stores the PPR for a TPR and the highest vector in service (APM ch. 16). The TPR is the one of
    /// the backing page (model-defined), the only one with a low nibble.
    #[inline]
    pub(crate) fn store_ppr(&self, tpr: u8, in_service: Option<u8>, memory: &impl Memory) {
        let class = in_service.unwrap_or(0) & 0xf0;
        let ppr = if tpr >= class { tpr } else { class };
        self.page().store(memory, offset::PPR, u32::from(ppr));
    }
}
