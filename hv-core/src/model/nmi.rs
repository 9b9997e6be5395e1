//! Virtual NMIs: V_NMI_MASK ends when the handler's IRET is done, which nothing reports underneath.
//!
//! The IRET is intercepted, stepped over with TF, and the #DB behind it is the model's own. An NMI
//! that waits for an interrupt shadow is stepped to in the same way.

use super::Model;
use trapline_defs::intercept::Word3;
use trapline_defs::vmcb::Vmcb;
use trapline_silicon::Memory;

/// RFLAGS.TF.
const TF: u64 = 1 << 8;
/// #DB in the exception intercepts.
const DB: u32 = 1 << 1;

/// How far an IRET is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Iret {
    /// None is watched for.
    Idle,
    /// Its intercept is set.
    Watched,
    /// It is being stepped over.
    Stepping,
    /// An instruction in whose shadow an NMI waits is being stepped over.
    ShadowStep,
}

impl Model {
    /// Watches for what a virtual NMI waits for.
    #[inline]
    pub(super) fn watch_iret(&mut self, vmcb: &mut Vmcb) {
        let v_intr = self.processor.v_intr();
        let something = v_intr.v_nmi_mask() || v_intr.v_nmi();
        if something && self.processor.vnmi() && self.iret == Iret::Idle {
            self.watch(vmcb);
        }
    }

    #[cold]
    fn watch(&mut self, vmcb: &mut Vmcb) {
        let v_intr = self.processor.v_intr();
        if v_intr.v_nmi_mask() {
            vmcb.control.intercept_3 |= Word3::IRET;
            self.iret = Iret::Watched;
        } else if v_intr.v_nmi()
            && (!self.processor.has_vgif() || v_intr.v_gif())
            && !vmcb.control.event_injection.valid()
        {
            self.step(vmcb, Iret::ShadowStep);
        }
    }

    /// The watched IRET is about to run.
    pub(super) fn iret_intercepted(&mut self, vmcb: &mut Vmcb) {
        if !self.kept.intercept_3.contains(Word3::IRET) {
            vmcb.control.intercept_3.remove(Word3::IRET);
        }
        self.step(vmcb, Iret::Stepping);
    }

    fn step(&mut self, vmcb: &mut Vmcb, why: Iret) {
        vmcb.save.rflags |= TF;
        vmcb.control.intercept_exceptions |= DB;
        self.iret = why;
    }

    /// Whether a #DB is the model's own step.
    pub(super) fn is_stepping(&self) -> bool {
        matches!(self.iret, Iret::Stepping | Iret::ShadowStep)
    }

    /// Whether an IRET exit is the model's own.
    pub(super) fn is_watching(&self) -> bool {
        self.iret == Iret::Watched
    }

    /// The step is done.
    pub(super) fn stepped(&mut self, vmcb: &mut Vmcb, memory: &impl Memory) {
        let was = self.iret;
        self.forget_step(vmcb);
        vmcb.control.intercept_exceptions = self.kept.intercept_exceptions;
        if was == Iret::Stepping {
            self.processor.iret();
        }
        self.arrange(vmcb, memory);
    }

    /// An exit comes in between: the step is begun anew at the next entry, if it is still wanted.
    pub(super) fn forget_step(&mut self, vmcb: &mut Vmcb) {
        if self.is_stepping() {
            vmcb.save.rflags &= !TF;
        }
        self.iret = Iret::Idle;
    }
}
