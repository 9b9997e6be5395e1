//! Arrival, delivery and end of interrupts: IRR, ISR, TPR and PPR (APM §16.6).

use trapline_defs::apic::error::RECEIVE_ILLEGAL_VECTOR;

use super::{Eoi, Lapic, Mode, Vectors};

impl Lapic {
    /// Task priority.
    #[inline]
    pub fn tpr(&self) -> u8 {
        self.tpr
    }

    /// Sets the task priority. An MOV to CR8 passes `cr8 << 4`, which is also what KVM writes back
    /// from V_TPR after an exit (corrections, TPR-1).
    #[inline]
    pub fn set_tpr(&mut self, tpr: u8) {
        self.tpr = tpr;
        self.request_if_lowered();
    }

    /// Processor priority.
    #[inline]
    pub fn ppr(&self) -> u8 {
        self.ppr
    }

    /// Vectors that wait.
    #[inline]
    pub fn irr(&self) -> &[u32; 8] {
        &self.irr.0
    }

    /// Vectors in service.
    #[inline]
    pub fn isr(&self) -> &[u32; 8] {
        &self.isr.0
    }

    /// Vectors that arrived level-triggered.
    #[inline]
    pub fn tmr(&self) -> &[u32; 8] {
        &self.tmr.0
    }

    /// KVM's hint: false means that nothing waits.
    #[inline]
    pub fn irr_pending(&self) -> bool {
        self.irr_pending
    }

    /// The highest vector that waits.
    #[inline]
    pub fn highest_irr(&self) -> Option<u8> {
        if self.irr_pending { self.irr.highest() } else { None }
    }

    /// The highest vector in service.
    #[inline]
    pub fn highest_isr(&self) -> Option<u8> {
        if self.isr_count == 0 {
            return None;
        }
        if self.highest_isr_cache.is_some() {
            return self.highest_isr_cache;
        }
        self.isr.highest()
    }

    /// A fixed interrupt arrives. False if it is lost because the APIC is off.
    #[inline]
    pub fn accept(&mut self, vector: u8, level: bool) -> bool {
        if !self.enabled() {
            return false;
        }
        if vector < 16 && self.raise_error(RECEIVE_ILLEGAL_VECTOR) {
            return false;
        }
        if self.apicv_active {
            return self.accept_for_page(vector, level);
        }
        if level {
            self.tmr.insert(vector);
        } else {
            self.tmr.remove(vector);
        }
        self.irr.insert(vector);
        self.irr_pending = true;
        self.event_request = true;
        true
    }

    /// Under AVIC the vector goes to the backing page, before the next entry.
    #[cold]
    fn accept_for_page(&mut self, vector: u8, level: bool) -> bool {
        self.posted.insert(vector);
        if level {
            self.posted_level.insert(vector);
        } else {
            self.posted_level.remove(vector);
        }
        self.event_request = true;
        true
    }

    /// Whether a vector arrived under AVIC and is not in the backing page yet.
    pub fn is_posted(&self, vector: u8) -> bool {
        self.posted.has(vector)
    }

    /// Takes out what arrived under AVIC: vectors, and which of them by level.
    pub fn take_posted(&mut self) -> (Vectors, Vectors) {
        (core::mem::take(&mut self.posted), core::mem::take(&mut self.posted_level))
    }

    /// The vector to inject now, if priorities allow one.
    ///
    /// A software-disabled APIC still delivers what it had accepted, as in KVM.
    #[inline]
    pub fn deliverable(&self) -> Option<u8> {
        if self.mode == Mode::Disabled {
            return None;
        }
        self.highest_irr().filter(|&vector| vector & 0xf0 > self.ppr)
    }

    /// The vector is being injected: it leaves IRR and enters ISR, or with `auto_eoi` (a SynIC
    /// source that needs no EOI) only leaves IRR.
    #[inline]
    pub fn acknowledge(&mut self, vector: u8, auto_eoi: bool) {
        self.irr.remove(vector);
        self.irr_pending = self.irr.highest().is_some();
        if auto_eoi {
            self.request_if_lowered();
        } else {
            if !self.isr.has(vector) {
                self.isr.insert(vector);
                self.isr_count += 1;
                self.highest_isr_cache = Some(vector);
            }
            self.update_ppr();
        }
    }

    /// The guest ends its highest interrupt. None if there is none.
    #[inline]
    pub fn eoi(&mut self) -> Option<Eoi> {
        let vector = self.highest_isr()?;
        self.isr.remove(vector);
        self.isr_count -= 1;
        self.highest_isr_cache = None;
        self.update_ppr();
        self.event_request = true;
        Some(Eoi { vector, level: self.tmr.has(vector), ioapic: self.ioapic_handled.has(vector) })
    }

    /// Whether KVM would set the paravirtual EOI bit at this entry (HV-181 and pv-and-formats a.5):
    /// nothing waits, the top of ISR is the last vector acknowledged, and no IOAPIC wants its EOI.
    ///
    /// Ask only where events are evaluated: KVM offers the bit nowhere else, but withdraws it at
    /// every exit, so an exit without an event request between injection and EOI costs a real EOI.
    #[inline]
    pub fn pv_eoi_possible(&self) -> bool {
        !self.irr_pending
            && self.highest_isr_cache.is_some_and(|vector| !self.ioapic_handled.has(vector))
    }

    /// Whether CR8 writes must be intercepted: some vector waits and TPR keeps it from delivery
    /// (corrections, CR8-1). Ask only where events are evaluated, and never under AVIC.
    #[inline]
    pub fn cr8_intercept(&self) -> bool {
        self.highest_irr().is_some_and(|vector| self.tpr >> 4 >= vector >> 4)
    }

    /// Recomputes PPR; true if it fell.
    #[inline]
    pub(super) fn update_ppr(&mut self) -> bool {
        let service = self.highest_isr().unwrap_or(0) & 0xf0;
        let ppr = if self.tpr & 0xf0 >= service { self.tpr } else { service };
        let fell = ppr < self.ppr;
        self.ppr = ppr;
        fell
    }

    /// KVM asks for an evaluation only if PPR fell below a vector that waits.
    #[inline]
    fn request_if_lowered(&mut self) {
        if self.update_ppr() && self.highest_irr().is_some_and(|vector| vector & 0xf0 > self.ppr) {
            self.event_request = true;
        }
    }
}
