//! Virtual NMI (APM vol. 2 §15.21.10).

use crate::processor::Processor;

impl Processor {
    /// IRET completed: virtual NMIs are unmasked.
    #[inline]
    pub fn iret(&mut self) {
        if self.vnmi() {
            self.loaded.v_intr.set_v_nmi_mask(false);
        }
    }

    /// Takes the pending virtual NMI, if there is one and mask, shadow and vGIF permit; IF does
    /// not matter. It is masked before the IDT is touched.
    #[inline]
    pub(crate) fn take_nmi(&mut self, shadow: bool) -> bool {
        let v_intr = self.loaded.v_intr;
        let taken = self.vnmi() && v_intr.v_nmi() && !v_intr.v_nmi_mask() && !shadow && self.gif();
        if taken {
            self.loaded.v_intr = v_intr.with_v_nmi(false).with_v_nmi_mask(true);
        }
        taken
    }
}
