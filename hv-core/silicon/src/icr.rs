//! The interrupt command register: what the processor sends by itself (APM vol. 2 §15.29.6).

use crate::exit::{Exit, Outcome};
use crate::memory::Memory;
use crate::page::Bank;
use crate::processor::{AvicMode, Processor};
use trapline_defs::apic::{DeliveryMode, Icr, Shorthand, offset};
use trapline_defs::avic::FailureId;

/// The vector of a command that the processor can send, or why it cannot.
///
/// Only fixed, edge-triggered interrupts are sent; the level bit (14) is not looked at. The type is
/// looked at before the vector, because an INIT has vector 0 and must not be reported as a bad
/// vector.
#[inline]
pub(crate) const fn vector(icr: Icr) -> Result<u8, FailureId> {
    if !matches!(icr.delivery_mode(), DeliveryMode::Fixed) || icr.level_triggered() {
        return Err(FailureId::INVALID_TYPE);
    }
    if icr.vector() < 16 { Err(FailureId::INVALID_VECTOR) } else { Ok(icr.vector()) }
}

impl Processor {
    /// A write of the ICR, `high` being 310h in xAPIC mode.
    #[inline]
    pub(crate) fn write_icr(
        &mut self,
        low: u32,
        high: u32,
        memory: &impl Memory,
        ring: impl FnMut(u16),
    ) -> Outcome {
        let x2apic = self.loaded.mode == AvicMode::X2Avic;
        self.page().store(memory, offset::ICR, low & !(Icr::BUSY as u32));
        if x2apic {
            self.page().store(memory, offset::ICR_HIGH, high);
        }
        let icr = if x2apic {
            Icr::from_bits(u64::from(high) << 32 | u64::from(low))
        } else {
            Icr::from_xapic(low, high)
        };
        let sent = match vector(icr) {
            Err(id) => Err((id, 0)),
            Ok(vector) if matches!(icr.shorthand(), Shorthand::Itself) => {
                self.post_to_self(vector, memory);
                Ok(())
            }
            Ok(vector) => self.send(vector, icr, memory, ring),
        };
        match sent {
            Ok(()) => Outcome::Absorbed(()),
            Err((id, index)) => self.incomplete(low, high, id, index, memory),
        }
    }

    /// A write of the self-IPI MSR (83Fh): a command with shorthand self that leaves the ICR alone.
    #[inline]
    pub(crate) fn self_ipi(&mut self, value: u32, memory: &impl Memory) -> Outcome {
        let icr = Icr::to_self(value as u8);
        match vector(icr) {
            Ok(vector) => {
                self.post_to_self(vector, memory);
                Outcome::Absorbed(())
            }
            Err(id) => Outcome::Exit(Exit::incomplete_ipi(icr.into_bits() as u32, 0, id, 0)),
        }
    }

    /// The sender is the target: no table is read, so neither its own entry nor erratum 1235
    /// matters.
    #[inline]
    fn post_to_self(&mut self, vector: u8, memory: &impl Memory) {
        let page = self.page();
        // A locked operation for a bit that is nearly always clear already would cost more than
        // looking first.
        if page.test(memory, Bank::TMR, vector) {
            page.clear_shared(memory, Bank::TMR, vector);
        }
        page.set_shared(memory, Bank::IRR, vector);
        match (self.latched, page.top(memory, Bank::IRR)) {
            // What is latched outranks V_TPR and everything in service, and neither has changed since: so
            // does whatever is not below it.
            (Some(latched), Some(top)) if top >= latched => self.latched = Some(top),
            _ => self.evaluate(memory),
        }
    }

    #[cold]
    fn incomplete(
        &mut self,
        low: u32,
        high: u32,
        id: FailureId,
        index: u16,
        memory: &impl Memory,
    ) -> Outcome {
        if self.dice.happens(self.knobs.busy_left) {
            self.page().store(memory, offset::ICR, low | Icr::BUSY as u32);
        }
        Outcome::Exit(Exit::incomplete_ipi(low, high, id, index))
    }
}
