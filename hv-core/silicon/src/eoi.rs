//! End of interrupt (APM vol. 2 §15.29.3.1).

use crate::exit::{Exit, Outcome, Rip};
use crate::memory::Memory;
use crate::page::Bank;
use crate::processor::Processor;
use trapline_defs::apic::offset;

impl Processor {
    /// A write of the EOI register. Edge-triggered: the highest vector leaves service, unseen.
    /// Level-triggered, as the TMR says: exit, so that the hypervisor tells the IOAPIC.
    ///
    /// Model-defined: at that exit the vector is still in service (P11: the manual calls the
    /// access a fault in one place and a trap in another; Linux completes the EOI itself).
    #[inline]
    pub(crate) fn end_of_interrupt(&mut self, value: u32, memory: &impl Memory) -> Outcome {
        let page = self.page();
        page.store(memory, offset::EOI, value);
        let Some((vector, alone)) = page.top_alone(memory, Bank::ISR) else {
            return Outcome::Absorbed(());
        };
        if page.test(memory, Bank::TMR, vector) {
            let exit = Exit::no_accel(offset::EOI, true, Rip::After);
            return Outcome::Exit(Exit { info_2: u64::from(vector), ..exit });
        }
        page.leave_service(memory, vector);
        let in_service = if alone { None } else { page.top(memory, Bank::ISR) };
        self.store_ppr(page.load(memory, offset::TPR) as u8, in_service, memory);
        self.evaluate_above(in_service, memory);
        Outcome::Absorbed(())
    }
}
