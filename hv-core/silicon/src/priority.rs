//! TPR and CR8: two copies of one thing (APM vol. 2 §15.29.3.1).
//!
//! The backing page has one, VMCB 060h the other (V_TPR). Guest writes keep them equal, VMRUN does
//! not, and V_TPR is the one that gates delivery.

use crate::exit::{Exit, Outcome};
use crate::memory::Memory;
use crate::page::Bank;
use crate::processor::{AvicMode, Processor};
use trapline_defs::apic::offset;
use trapline_defs::exit_code::ExitCode;

/// Bit of CR8 writes in VMCB 000h.
const CR8_WRITE: u32 = 1 << 24;
/// Bit of CR8 reads in VMCB 000h.
const CR8_READ: u32 = 1 << 8;

impl Processor {
    /// A store to the TPR, in the page or by MSR.
    #[inline]
    pub(crate) fn write_tpr(&mut self, value: u32, memory: &impl Memory) {
        self.loaded.v_intr.set_v_tpr((value >> 4 & 0xf) as u8);
        self.page().store(memory, offset::TPR, value);
        let in_service = self.page().top(memory, Bank::ISR);
        self.store_ppr(value as u8, in_service, memory);
        self.evaluate_above(in_service, memory);
    }

    /// MOV CR8, for a guest whose CR8 is V_TPR (AVIC or V_INTR_MASKING). An intercept wins; one
    /// left set by mistake made Windows guests fail.
    pub fn write_cr8(&mut self, value: u64, memory: &impl Memory) -> Outcome {
        if self.loaded.intercept_cr & CR8_WRITE != 0 {
            return Outcome::Exit(Exit::intercept(ExitCode::WRITE_CR8));
        }
        if value > 0xf {
            return Outcome::Gp;
        }
        let value = value as u8;
        if self.loaded.mode != AvicMode::Off {
            self.write_tpr(u32::from(value) << 4, memory);
        } else if self.loaded.v_intr.v_intr_masking() {
            self.loaded.v_intr.set_v_tpr(value);
        } else {
            return Outcome::Physical;
        }
        Outcome::Absorbed(())
    }

    /// MOV from CR8: V_TPR, whatever the backing page says and whether or not V_INTR_MASKING is
    /// set.
    pub fn read_cr8(&self) -> Outcome<u64> {
        if self.loaded.intercept_cr & CR8_READ != 0 {
            Outcome::Exit(Exit::intercept(ExitCode::READ_CR8))
        } else if self.loaded.mode != AvicMode::Off || self.loaded.v_intr.v_intr_masking() {
            Outcome::Absorbed(u64::from(self.loaded.v_intr.v_tpr()))
        } else {
            Outcome::Physical
        }
    }
}
