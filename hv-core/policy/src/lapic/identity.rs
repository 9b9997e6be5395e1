//! What an APIC is and what its neighbours may ask of it.

use super::{Lapic, Mode, Vectors};

impl Lapic {
    /// The id it was made with, which is its x2APIC id.
    #[inline]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The id that physical destinations are compared with: the guest can change it in xAPIC mode.
    #[inline]
    pub fn physical_id(&self) -> u32 {
        if self.mode == Mode::X2Apic { self.id } else { self.id_register >> 24 }
    }

    /// Whether it is the bootstrap processor's.
    #[inline]
    pub fn bootstrap(&self) -> bool {
        self.bootstrap
    }

    /// The mode that IA32_APIC_BASE selects.
    #[inline]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// SVR bit 8.
    #[inline]
    pub fn software_enabled(&self) -> bool {
        self.svr.enabled()
    }

    /// Whether fixed interrupts are taken at all: on in IA32_APIC_BASE and in SVR.
    #[inline]
    pub fn enabled(&self) -> bool {
        self.mode != Mode::Disabled && self.software_enabled()
    }

    /// The logical destination register.
    #[inline]
    pub fn ldr(&self) -> u32 {
        self.ldr
    }

    /// The destination format register.
    #[inline]
    pub fn dfr(&self) -> u32 {
        self.dfr
    }

    /// Whether the vector waits for service or for its EOI. KVM asks this for the RTC's vector when
    /// AVIC hides EOIs (corrections, RTC-P).
    pub fn eoi_outstanding(&self, vector: u8) -> bool {
        self.isr.has(vector) || self.irr.has(vector)
    }

    /// Whether AVIC works on this APIC's vectors.
    #[inline]
    pub fn apicv_active(&self) -> bool {
        self.apicv_active
    }

    /// AVIC was switched on or off for this vCPU.
    ///
    /// While it is on no vector is injected from here (hardware evaluates IRR) and no cache holds. The
    /// caller carries the vectors over with [`Lapic::load_vectors`].
    pub fn set_apicv_active(&mut self, active: bool) {
        self.apicv_active = active;
        self.forget_caches();
    }

    /// Takes the vector maps of an AVIC backing page over.
    pub fn load_vectors(&mut self, irr: Vectors, isr: Vectors, tmr: Vectors) {
        self.irr = irr;
        self.isr = isr;
        self.tmr = tmr;
        self.forget_caches();
        self.update_ppr();
    }

    /// Takes over what the guest wrote to the ICR without the software's help.
    pub fn adopt_command(&mut self, low: u32, high: u32) {
        (self.icr_low, self.icr_high) = (low, high);
    }

    /// The ICR as two words, in either mode.
    pub fn command(&self) -> (u32, u32) {
        (self.icr_low, self.icr_high)
    }

    /// The vectors of which the IOAPIC wants to see the EOI, as its scan found them.
    pub fn set_ioapic_handled(&mut self, vectors: Vectors) {
        self.ioapic_handled = vectors;
    }

    /// The EOI of that vector is wanted, too, until the next [`Lapic::set_ioapic_handled`].
    pub fn want_eoi(&mut self, vector: u8) {
        self.ioapic_handled.insert(vector);
    }

    fn forget_caches(&mut self) {
        self.irr_pending = true;
        self.isr_count = self.isr.count();
        self.highest_isr_cache = None;
    }
}
