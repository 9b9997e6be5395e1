//! Into the guest and out of it: which fields of the VMCB differ meanwhile.

use super::{Kept, Model, nmi};
use trapline_defs::event::{Event, EventKind};
use trapline_defs::intercept::Word3;
use trapline_defs::vmcb::{CleanBits, Vmcb};
use trapline_silicon::{AvicMode, Invalid, Memory};

/// CR8 writes in the CR intercept word.
pub(super) const CR8_WRITE: u32 = 1 << (16 + 8);

impl Model {
    /// VMRUN as the described processor does it. Afterwards the VMCB, which lies at physical address
    /// `address`, is ready for the processor underneath.
    ///
    /// # Errors
    /// Why the exit code is VMEXIT_INVALID; the VMCB is as it was.
    pub fn enter(
        &mut self,
        address: u64,
        vmcb: &mut Vmcb,
        memory: &impl Memory,
    ) -> Result<(), Invalid> {
        self.processor.vmrun(address, &vmcb.control, memory)?;
        let control = &mut vmcb.control;
        self.kept = Kept {
            v_intr: control.v_intr,
            intercept_cr: control.intercept_cr,
            intercept_exceptions: control.intercept_exceptions,
            intercept_3: control.intercept_3,
            msrpm_base: control.msrpm_base,
        };
        control.intercept_3 |= Word3::HLT;
        control.msrpm_base = self.underneath.closed_map;
        // What was kept back is nobody's promise.
        control.clean = CleanBits::empty();
        let mut v_intr = control
            .v_intr
            .with_avic_enable(false)
            .with_x2avic_enable(false)
            .with_v_nmi_enable(false)
            .with_v_nmi(false)
            .with_v_nmi_mask(false);
        if self.processor.avic() != AvicMode::Off {
            // V_IRQ means nothing under AVIC, and CR8 has a copy in the backing page.
            v_intr = v_intr.with_v_irq(false).with_v_intr_prio(0).with_v_ign_tpr(false);
            control.intercept_3.remove(Word3::VINTR);
            control.intercept_cr |= CR8_WRITE;
            // CR8 is V_TPR whatever the hypervisor says (AVIC-080), but underneath only with this bit.
            v_intr.set_v_intr_masking(true);
        }
        control.v_intr = v_intr;
        self.window = false;
        self.injected = None;
        self.iret = nmi::Iret::Idle;
        self.arrange(vmcb, memory);
        Ok(())
    }

    /// #VMEXIT as the described processor does it: the VMCB becomes the architectural one.
    pub fn leave(&mut self, vmcb: &mut Vmcb) {
        self.forget_step(vmcb);
        let control = &mut vmcb.control;
        control.v_intr = self.kept.v_intr;
        control.intercept_cr = self.kept.intercept_cr;
        control.intercept_exceptions = self.kept.intercept_exceptions;
        control.intercept_3 = self.kept.intercept_3;
        control.msrpm_base = self.kept.msrpm_base;
        self.cut_short(vmcb);
        self.processor.vmexit(&mut vmcb.control);
    }

    /// EXITINTINFO of an event that the model injected: as what the described processor delivered it.
    fn cut_short(&mut self, vmcb: &mut Vmcb) {
        let info = vmcb.control.exit_int_info;
        let Some((event, rip)) = self.injected else { return };
        if !info.valid() || info.vector() != event.vector() || vmcb.save.rip != rip {
            return;
        }
        if event.kind() == EventKind::Nmi {
            let taken = trapline_silicon::Taken::Nmi;
            vmcb.control.exit_int_info = self.processor.cut_short(taken);
        } else {
            vmcb.control.exit_int_info = Event::interrupt(event.vector());
        }
    }
}
