//! Delivery: what the described processor takes at an instruction boundary goes in by EVENTINJ; what
//! it cannot take yet waits in a window.

use super::Model;
use super::trap::RFLAGS_IF;
use trapline_defs::event::{Event, EventKind};
use trapline_defs::intercept::Word3;
use trapline_defs::vmcb::Vmcb;
use trapline_silicon::{AvicMode, Boundary, Memory, Taken};

impl Model {
    /// Gets the VMCB ready for the next instruction: injects, or opens a window.
    #[inline]
    pub(super) fn arrange(&mut self, vmcb: &mut Vmcb, memory: &impl Memory) {
        if vmcb.control.event_injection.valid() {
            // The hypervisor's event goes first; what AVIC holds waits for IF behind it.
            self.wait(vmcb);
            return;
        }
        if !self.take(vmcb, memory) {
            self.wait(vmcb);
        }
    }

    /// Takes what the described processor takes at this boundary; whether there was something.
    #[inline]
    pub(super) fn take(&mut self, vmcb: &mut Vmcb, memory: &impl Memory) -> bool {
        let avic = self.processor.avic() != AvicMode::Off;
        if !avic && !self.processor.v_intr().v_nmi() {
            return false;
        }
        let at = Boundary {
            // Without AVIC a V_IRQ is left to the processor underneath.
            interrupts: avic && vmcb.save.rflags & RFLAGS_IF != 0,
            shadow: vmcb.control.interrupt_shadow & 1 != 0,
            host_interrupts: true,
            physical_interrupt: self.interrupt_waits,
            ..Boundary::default()
        };
        match self.processor.boundary(at, memory) {
            Taken::Interrupt(vector) => self.inject(vmcb, Event::interrupt(vector)),
            Taken::Nmi => self.inject(vmcb, Event::nmi()),
            _ => return false,
        }
        true
    }

    /// Delivers an event before the next instruction.
    #[inline]
    pub(super) fn inject(&mut self, vmcb: &mut Vmcb, event: Event) {
        self.injected = Some((event, vmcb.save.rip));
        let soft = self.underneath.soft_injection
            && vmcb.save.cpl == 0
            && event.kind() == EventKind::Interrupt;
        vmcb.control.event_injection =
            if soft { event.with_kind(EventKind::Software) } else { event };
        self.watch_iret(vmcb);
    }

    /// Waits for the boundary at which what is pending can be taken.
    fn wait(&mut self, vmcb: &mut Vmcb) {
        if self.processor.avic() != AvicMode::Off && self.processor.interrupt_pending() {
            let control = &mut vmcb.control;
            control.v_intr =
                control.v_intr.with_v_irq(true).with_v_intr_prio(15).with_v_ign_tpr(true);
            control.intercept_3 |= Word3::VINTR;
            self.window = true;
        } else if self.window {
            self.close_window(vmcb);
        }
        self.watch_iret(vmcb);
    }

    /// The guest can take an interrupt: the window has done its work.
    pub(super) fn close_window(&mut self, vmcb: &mut Vmcb) {
        let control = &mut vmcb.control;
        control.v_intr = control.v_intr.with_v_irq(false).with_v_intr_prio(0).with_v_ign_tpr(false);
        control.intercept_3.remove(Word3::VINTR);
        self.window = false;
    }

    /// The guest is halted in the processor: whether it wakes, with what it takes injected.
    pub fn wakes(&mut self, vmcb: &mut Vmcb, memory: &impl Memory) -> bool {
        self.take(vmcb, memory)
    }
}
