//! Delivery of an interrupt of the backing page (APM vol. 2 §15.29.8, §15.21.4).

use crate::memory::Memory;
use crate::page::Bank;
use crate::processor::Processor;
use trapline_defs::apic::offset;

impl Processor {
    /// Moves the highest deliverable vector from IRR to ISR, before any access to IDT or stack.
    /// TMR stays. IF, shadow and vGIF were asked already.
    ///
    /// Only a latched interrupt is taken, but which vector it is comes from the IRR now
    /// (model-defined): one that a sender posted since, with a doorbell still on its way, may go
    /// first.
    #[inline]
    pub(crate) fn take_interrupt(&mut self, memory: &impl Memory) -> Option<u8> {
        // Gone with it: the next one has to outrank this one, and nothing does that was not above it
        // already.
        let latched = self.latched.take()?;
        let page = self.page();
        let mut vector = page.top(memory, Bank::IRR)?;
        if vector < latched {
            // The hypervisor took the bit back; another one may be deliverable. One above the latched one
            // is.
            vector = self.deliverable(memory)?;
        }
        page.clear_shared(memory, Bank::IRR, vector);
        page.enter_service(memory, vector);
        self.store_ppr(page.load(memory, offset::TPR) as u8, Some(vector), memory);
        Some(vector)
    }
}
