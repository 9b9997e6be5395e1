//! The software local APIC, as KVM 6.12 has it.
//!
//! One value is one vCPU's APIC. It keeps registers, the three vector maps and the timer, and says
//! what has to be done beyond them: a write returns an [`Effect`] (an IPI to send, an EOI to pass
//! on), an arriving message a [`Delivery`] (an NMI, an INIT ... for the vCPU). It never injects:
//! the run loop asks [`Lapic::deliverable`], injects, and calls [`Lapic::acknowledge`].
//!
//! [`Lapic::event_request`] is KVM's request to evaluate events before the next entry. It decides
//! which exits lead to an injection or a window, so it is raised exactly where KVM raises it and
//! nowhere else: corrections HLT-2 and CR8-1 follow from the places where it is *not* raised.
//!
//! Where KVM differs from the manual KVM wins. The visible differences: the ESR reads 0 (unless
//! [`ErrorReporting::Architectural`] is chosen), reserved bits of SVR, LVT and TPR writes are
//! dropped without `#GP`, a non-zero EOI write is taken, the current count reads 0 in the very
//! nanosecond of the timer's start, and a timer that expires while its entry is masked interrupts
//! when the entry is unmasked.

mod base;
mod destination;
mod error;
mod identity;
mod lvt;
mod message;
mod mmio;
mod msr;
mod priority;
mod register;
mod timer;
mod tsc;
mod vectors;

#[cfg(test)]
mod tests;

use trapline_defs::apic::{self, Icr, Lvt, Svr, base as base_bits};

use error::Errors;
use timer::Timer;

pub use destination::Identity;
pub use error::ErrorReporting;
pub use lvt::LocalSource;
pub use message::{Delivery, Message};
pub use tsc::TscClock;
pub use vectors::Vectors;

/// Which of its interfaces the APIC offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Switched off by IA32_APIC_BASE; nothing is delivered through it.
    Disabled,
    /// Registers in a page of memory.
    XApic,
    /// Registers as MSRs 800h-8FFh.
    X2Apic,
}

/// An interrupt that the guest declared finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eoi {
    /// Its vector.
    pub vector: u8,
    /// It had arrived level-triggered.
    pub level: bool,
    /// The IOAPIC has an entry for it and must be told.
    pub ioapic: bool,
}

/// What a register write asks of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// Send this IPI. The destination is in the form of the sender's mode.
    Ipi(Icr),
    /// Pass this EOI on to IOAPIC and SynIC.
    Eoi(Eoi),
}

/// The local APIC of one vCPU.
#[derive(Clone, Debug)]
pub struct Lapic {
    id: u32,
    bootstrap: bool,
    base: u64,
    mode: Mode,
    id_register: u32,
    ldr: u32,
    dfr: u32,
    svr: Svr,
    icr_low: u32,
    icr_high: u32,
    tpr: u8,
    ppr: u8,
    irr: Vectors,
    isr: Vectors,
    tmr: Vectors,
    /// A hint, as in KVM: false means IRR is empty, true means look.
    irr_pending: bool,
    isr_count: u16,
    /// The top of ISR if the last change of ISR was an acknowledge.
    highest_isr_cache: Option<u8>,
    apicv_active: bool,
    /// What arrived under AVIC and is not in the backing page yet, and which of it by level.
    posted: Vectors,
    posted_level: Vectors,
    ioapic_handled: Vectors,
    lvt: [Lvt; lvt::COUNT],
    timer: Timer,
    errors: Errors,
    /// Events have to be evaluated before the next entry (KVM_REQ_EVENT). Taken by the caller.
    pub event_request: bool,
    /// An id, LDR, DFR, mode or enable changed: whoever caches destinations has to look again
    /// (the IOAPIC's handled vectors, AVIC's tables and inhibits). Taken by the caller.
    pub map_changed: bool,
    /// Width of physical addresses in bits; higher bits of IA32_APIC_BASE are reserved.
    pub physical_address_bits: u8,
}

impl Lapic {
    /// An APIC after power-on: enabled in xAPIC mode, disabled by software.
    pub fn new(id: u32, bootstrap: bool) -> Self {
        let mut base = apic::DEFAULT_BASE | base_bits::ENABLE;
        if bootstrap {
            base |= base_bits::BOOTSTRAP;
        }
        let mut apic = Self {
            id,
            bootstrap,
            base,
            mode: Mode::XApic,
            id_register: id << 24,
            ldr: 0,
            dfr: apic::DFR_FLAT,
            svr: Svr::new(),
            icr_low: 0,
            icr_high: 0,
            tpr: 0,
            ppr: 0,
            irr: Vectors::EMPTY,
            isr: Vectors::EMPTY,
            tmr: Vectors::EMPTY,
            irr_pending: true,
            isr_count: 0,
            highest_isr_cache: None,
            apicv_active: false,
            posted: Vectors::EMPTY,
            posted_level: Vectors::EMPTY,
            ioapic_handled: Vectors::EMPTY,
            lvt: [Lvt::MASKED; lvt::COUNT],
            timer: Timer::new(),
            errors: Errors::new(),
            event_request: false,
            map_changed: false,
            physical_address_bits: 48,
        };
        apic.reset();
        apic
    }

    /// INIT: everything but base, mode and id returns to its reset value.
    ///
    /// The bootstrap APIC comes back with LINT0 open for the 8259 pair, as KVM has it by default
    /// (its LINT0_REENABLED quirk); the manual has it masked.
    pub fn reset(&mut self) {
        self.timer.reset();
        self.lvt = [Lvt::MASKED; lvt::COUNT];
        if self.bootstrap {
            self.lvt[LocalSource::Lint0 as usize] =
                Lvt::new().with_delivery_mode(apic::DeliveryMode::ExtInt);
        }
        self.dfr = apic::DFR_FLAT;
        self.svr = Svr::new().with_vector(0xff);
        if self.mode != Mode::X2Apic {
            self.ldr = 0;
        }
        self.errors.clear();
        self.icr_low = 0;
        self.icr_high = 0;
        self.tpr = 0;
        self.tmr = Vectors::EMPTY;
        self.load_vectors(Vectors::EMPTY, Vectors::EMPTY, Vectors::EMPTY);
        self.ppr = 0;
        self.map_changed = true;
    }
}
