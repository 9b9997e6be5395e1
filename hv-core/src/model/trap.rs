//! A physical #VMEXIT: what it is to the described processor.

use super::Model;
use super::enter::CR8_WRITE;
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::Word4;
use trapline_defs::msr::{X2APIC_FIRST, X2APIC_LAST};
use trapline_defs::vmcb::Vmcb;
use trapline_policy::memory::GuestMemory;
use trapline_policy::vcpu::Vcpu;
use trapline_silicon::{AvicMode, Exit, Halt, Leaf, Memory, Outcome, Rip};

/// RFLAGS.IF.
pub(super) const RFLAGS_IF: u64 = 1 << 9;

/// What a trap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Seen {
    /// Nothing: the described processor did it by itself. The guest goes on.
    Absorbed,
    /// An exit, which the VMCB describes; [`Model::leave`] has to follow.
    Exit,
    /// A physical interrupt, or the doorbell of another core: the caller knows.
    Interrupt,
    /// The guest halted in the processor.
    Halted,
    /// Nothing was done: the instruction names a register that is not up to date.
    Registers,
    /// The guest did what the manual does not define, or what is not decoded.
    Undefined,
}

/// What surrounds the processor.
pub struct Around<'a, G: GuestMemory, M: Memory, L: Fn() -> Option<Leaf>> {
    /// Guest RAM.
    pub guest: &'a G,
    /// Host memory.
    pub memory: &'a M,
    /// The leaf of the APIC page in the nested page tables, as the policy set it up.
    pub leaf: L,
    /// All registers are up to date.
    pub saved: bool,
}

impl Model {
    /// The shortest way: an x2APIC MSR under x2AVIC, where nothing else changes V_TPR. `None` if the
    /// trap is anything else.
    #[inline(always)]
    pub fn quick(
        &mut self,
        vcpu: &mut Vcpu,
        vmcb: &mut Vmcb,
        memory: &impl Memory,
        ring: impl FnMut(u16),
    ) -> Option<Seen> {
        let is_quick = vmcb.control.exit_code == ExitCode::MSR
            && is_x2apic(vcpu)
            && self.processor.avic() == AvicMode::X2Avic;
        is_quick.then(|| self.msr(vcpu, vmcb, memory, ring))
    }

    /// What the trap that the VMCB describes is, if it is not a [`Model::quick`] one. `ring` is called for each host APIC that gets a
    /// doorbell.
    #[inline(never)]
    pub fn trap<G: GuestMemory, M: Memory, L: Fn() -> Option<Leaf>>(
        &mut self,
        vcpu: &mut Vcpu,
        vmcb: &mut Vmcb,
        around: &Around<'_, G, M, L>,
        ring: impl FnMut(u16),
    ) -> Seen {
        self.processor.underneath(vmcb.control.v_intr);
        match vmcb.control.exit_code {
            // In xAPIC mode nothing virtualizes them: one that the map lets through would reach the
            // physical APIC, which is not the guest's (AVIC-076).
            ExitCode::MSR if is_x2apic(vcpu) && self.processor.avic() == AvicMode::XAvic => {
                self.msr(vcpu, vmcb, around.memory, ring)
            }
            ExitCode::NPF if self.processor.avic() == AvicMode::XAvic => {
                self.page(vcpu, vmcb, around, ring)
            }
            ExitCode::HLT => self.halt(vmcb),
            ExitCode::INTR => Seen::Interrupt,
            code => self.rare(vcpu, vmcb, around, code),
        }
    }

    #[cold]
    fn rare<G: GuestMemory, M: Memory, L: Fn() -> Option<Leaf>>(
        &mut self,
        vcpu: &mut Vcpu,
        vmcb: &mut Vmcb,
        around: &Around<'_, G, M, L>,
        code: ExitCode,
    ) -> Seen {
        match code {
            ExitCode::VINTR if self.window => {
                self.close_window(vmcb);
                self.arrange(vmcb, around.memory);
            }
            ExitCode::WRITE_CR8 if self.kept.intercept_cr & CR8_WRITE == 0 => {
                return self.cr8(vcpu, vmcb, around);
            }
            ExitCode::STGI if !self.kept.intercept_4.contains(Word4::STGI) => {
                return self.set_gif(true, vmcb, around.memory);
            }
            ExitCode::CLGI if !self.kept.intercept_4.contains(Word4::CLGI) => {
                return self.set_gif(false, vmcb, around.memory);
            }
            ExitCode::IRET if self.is_watching() => self.iret_intercepted(vmcb),
            ExitCode::EXCEPTION_DB if self.is_stepping() => self.stepped(vmcb, around.memory),
            _ => return Seen::Exit,
        }
        Seen::Absorbed
    }

    #[inline(always)]
    fn msr(
        &mut self,
        vcpu: &mut Vcpu,
        vmcb: &mut Vmcb,
        memory: &impl Memory,
        ring: impl FnMut(u16),
    ) -> Seen {
        let msr = vcpu.gprs.rcx as u32;
        let write = vmcb.control.exit_info_1 & 1 != 0;
        let gate = self.gate(msr, write, memory);
        if gate.intercepted {
            return Seen::Exit;
        }
        let outcome = if write {
            let value = vcpu.gprs.rdx << 32 | vmcb.save.rax & 0xffff_ffff;
            self.processor.write_msr(msr, value, gate, memory, ring)
        } else {
            match self.processor.read_msr(msr, gate, memory) {
                Outcome::Absorbed(value) => {
                    vmcb.save.rax = value & 0xffff_ffff;
                    vcpu.gprs.rdx = value >> 32;
                    Outcome::Absorbed(())
                }
                other => other.without_value(),
            }
        };
        self.settle(vmcb, memory, outcome, 2)
    }

    /// What comes of an access by an instruction of that length.
    #[inline(always)]
    pub(super) fn settle(
        &mut self,
        vmcb: &mut Vmcb,
        memory: &impl Memory,
        outcome: Outcome,
        length: u64,
    ) -> Seen {
        match outcome {
            Outcome::Absorbed(()) => {
                vmcb.skip(length);
                self.refresh(vmcb, memory);
                Seen::Absorbed
            }
            Outcome::Exit(exit) => self.report(vmcb, exit, length),
            // The host's APIC is in xAPIC mode: it has no such MSR (AVIC-076).
            Outcome::Gp | Outcome::Physical => {
                self.inject(vmcb, Event::GP);
                Seen::Absorbed
            }
            Outcome::Undefined => Seen::Undefined,
        }
    }

    /// After an access: V_TPR may be another one, and something may be deliverable, or no longer.
    #[inline(always)]
    fn refresh(&mut self, vmcb: &mut Vmcb, memory: &impl Memory) {
        vmcb.control.v_intr.set_v_tpr(self.processor.v_intr().v_tpr());
        if self.processor.interrupt_pending() == self.window
            && (!self.window || vmcb.save.rflags & RFLAGS_IF == 0)
        {
            // Nothing waits, or it waits for IF as before.
            return;
        }
        self.arrange(vmcb, memory);
    }

    #[cold]
    pub(super) fn report(&mut self, vmcb: &mut Vmcb, exit: Exit, length: u64) -> Seen {
        if exit.rip == Rip::After {
            vmcb.skip(length);
        }
        vmcb.control.exit_code = exit.code;
        vmcb.control.exit_info_1 = exit.info_1;
        vmcb.control.exit_info_2 = exit.info_2;
        Seen::Exit
    }

    fn halt(&mut self, vmcb: &mut Vmcb) -> Seen {
        let interrupts = vmcb.save.rflags & RFLAGS_IF != 0;
        match self.processor.halt(vmcb.save.cpl, interrupts) {
            Halt::Gp => {
                self.inject(vmcb, Event::GP);
                Seen::Absorbed
            }
            Halt::Exit(exit) => self.report(vmcb, exit, 1),
            Halt::Halts => {
                // The V_IRQ of a guest without AVIC is the processor's underneath, which has not
                // halted: it takes it right behind the instruction.
                let here = self.processor.avic() == AvicMode::Off;
                vmcb.skip(1);
                if here && vmcb.control.v_intr.v_irq() && interrupts {
                    Seen::Absorbed
                } else {
                    Seen::Halted
                }
            }
        }
    }

    /// STGI or CLGI that no architectural intercept is set for. The processor underneath holds V_IRQ
    /// back by its own vGIF, so that follows.
    fn set_gif(&mut self, value: bool, vmcb: &mut Vmcb, memory: &impl Memory) -> Seen {
        let outcome = if value { self.processor.stgi() } else { self.processor.clgi() };
        let seen = self.settle(vmcb, memory, outcome, 3);
        vmcb.control.v_intr.set_v_gif(self.processor.v_intr().v_gif());
        self.arrange(vmcb, memory);
        seen
    }

    /// A doorbell arrived while the guest ran.
    pub fn rung(&mut self, vmcb: &mut Vmcb, memory: &impl Memory) {
        self.processor.doorbell(memory);
        self.arrange(vmcb, memory);
    }
}

#[inline]
fn is_x2apic(vcpu: &Vcpu) -> bool {
    (X2APIC_FIRST..=X2APIC_LAST).contains(&(vcpu.gprs.rcx as u32))
}
