//! Between two guest instructions: which event is taken first (APM vol. 2 §15.21).

use crate::exit::Exit;
use crate::memory::Memory;
use crate::processor::{AvicMode, Processor};
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::Word3;

/// What the model does not hold itself: the guest's interruptibility and the physical lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// The guest's RFLAGS.IF.
    pub interrupts: bool,
    /// The guest is in an interrupt shadow (STI, MOV SS, or VMCB 068h).
    pub shadow: bool,
    /// RFLAGS.IF of the host at VMRUN.
    pub host_interrupts: bool,
    /// A physical INTR is pending.
    pub physical_interrupt: bool,
    /// A physical NMI is pending.
    pub physical_nmi: bool,
}

/// What is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Taken {
    /// Nothing: the next instruction runs, or the processor stays halted.
    Nothing,
    /// An exit; whatever caused it stays pending.
    Exit(Exit),
    /// A physical NMI, by the guest: it is not intercepted.
    PhysicalNmi,
    /// A physical interrupt, by the guest: it is not intercepted.
    PhysicalInterrupt,
    /// The virtual NMI, through vector 2.
    Nmi,
    /// A virtual interrupt with this vector.
    Interrupt(u8),
}

impl Processor {
    /// Takes what is first at an instruction boundary. Physical events win over virtual ones, NMIs
    /// over interrupts. State has moved when this returns (IRR to ISR, V_IRQ or V_NMI cleared):
    /// the caller goes through the IDT, and calls [`Processor::cut_short`] if that exits.
    #[inline]
    pub fn boundary(&mut self, at: Boundary, memory: &impl Memory) -> Taken {
        if at.physical_nmi {
            let exits = self.loaded.word_3.contains(Word3::NMI);
            let exit = Taken::Exit(Exit::intercept(ExitCode::NMI));
            return if exits { exit } else { Taken::PhysicalNmi };
        }
        if at.physical_interrupt && self.physical_permitted(at) {
            let exits = self.loaded.word_3.contains(Word3::INTR);
            let exit = Taken::Exit(Exit::intercept(ExitCode::INTR));
            return if exits { exit } else { Taken::PhysicalInterrupt };
        }
        if self.take_nmi(at.shadow) {
            return Taken::Nmi;
        }
        if !at.interrupts || at.shadow || !self.gif() {
            return Taken::Nothing;
        }
        if self.loaded.mode == AvicMode::Off {
            self.take_v_irq()
        } else {
            self.take_interrupt(memory).map_or(Taken::Nothing, Taken::Interrupt)
        }
    }

    /// A #VMEXIT came between what was taken and its handler's first instruction (a nested page
    /// fault on IDT or stack): returns EXITINTINFO. The interrupt has left the IRR for good, so the
    /// hypervisor injects it again; a virtual NMI is unmasked again (APM §15.21.10).
    pub fn cut_short(&mut self, taken: Taken) -> Event {
        match taken {
            Taken::Interrupt(vector) => Event::interrupt(vector),
            Taken::Nmi => {
                self.loaded.v_intr.set_v_nmi_mask(false);
                Event::nmi()
            }
            Taken::Nothing | Taken::Exit(_) | Taken::PhysicalNmi | Taken::PhysicalInterrupt => {
                Event::new()
            }
        }
    }

    /// V_INTR_MASKING leaves physical interrupts to the host's IF alone; otherwise the guest's IF
    /// and shadow gate them.
    #[inline]
    fn physical_permitted(&self, at: Boundary) -> bool {
        if self.loaded.v_intr.v_intr_masking() {
            at.host_interrupts
        } else {
            at.interrupts && !at.shadow
        }
    }

    /// V_IRQ, of a guest without AVIC. The VINTR intercept fires instead of the interrupt.
    fn take_v_irq(&mut self) -> Taken {
        if !self.v_irq_pending() {
            return Taken::Nothing;
        }
        if self.loaded.word_3.contains(Word3::VINTR) {
            return Taken::Exit(Exit::intercept(ExitCode::VINTR));
        }
        self.loaded.v_intr.set_v_irq(false);
        Taken::Interrupt(self.loaded.v_intr.v_intr_vector())
    }

    /// Whether V_IRQ outranks V_TPR: strictly, unless it ignores it.
    #[inline]
    pub(crate) fn v_irq_pending(&self) -> bool {
        let v_intr = self.loaded.v_intr;
        v_intr.v_irq() && (v_intr.v_ign_tpr() || v_intr.v_intr_prio() > v_intr.v_tpr())
    }
}
