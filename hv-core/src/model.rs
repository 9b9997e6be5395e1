//! The silicon model between the processor underneath and the policy.
//!
//! There is one VMCB. While the guest runs it is the *physical* one: what the described processor does
//! by itself is switched off in it, and what has to be noticed is intercepted. Between an exit that the
//! policy sees and the next entry it is the *architectural* one, as the described processor would have
//! left it. [`Model::enter`] and [`Model::leave`] change the few fields that differ; [`Model::trap`]
//! looks at a physical #VMEXIT and says what it is to the described processor: nothing, or an exit.
//!
//! How a feature shows itself to a processor that lacks it: accesses to the APIC page by nested page
//! faults (the physical tables never have a leaf there), MSRs by a permission map that is all ones, CR8
//! and GIF
//! by their intercepts, HLT by its intercept, a deliverable vector by EVENTINJ, one that waits for IF by a
//! V_IRQ window.

mod access;
mod deliver;
mod enter;
mod nmi;
#[cfg(test)]
mod tests;
mod trap;

use trapline_defs::event::Event;
use trapline_defs::intercept::{Word3, Word4};
use trapline_defs::vintr::VIntr;
use trapline_silicon::{Knobs, Processor, Silicon};

pub use trap::{Around, Seen};

/// What the model needs to know of the processor underneath.
#[derive(Clone, Copy, Debug)]
pub struct Underneath {
    /// APIC id of the core.
    pub host_id: u16,
    /// Width of physical addresses.
    pub physical_bits: u8,
    /// Physical address of an MSR permission map that lets nothing through that AVIC answers.
    pub closed_map: u64,
    /// Interrupts go in as software events (docs/tcg.md T24).
    pub soft_injection: bool,
}

/// The model of one core, and what it hides from the policy.
#[derive(Debug)]
pub struct Model {
    processor: Processor,
    underneath: Underneath,
    kept: Kept,
    /// The V_IRQ window in the VMCB is the model's own.
    window: bool,
    /// The event that went in last, and RIP then: should its delivery be cut short, it is reported as
    /// what it is.
    injected: Option<(Event, u64)>,
    /// How far the model is with unmasking virtual NMIs.
    iret: nmi::Iret,
    /// A physical interrupt is known to wait at the next VMRUN: it goes before virtual ones.
    pub interrupt_waits: bool,
}

/// Architectural values of the fields that differ while the guest runs.
#[derive(Clone, Copy, Debug)]
struct Kept {
    v_intr: VIntr,
    intercept_cr: u32,
    intercept_exceptions: u32,
    intercept_3: Word3,
    intercept_4: Word4,
    msrpm_base: u64,
}

impl Kept {
    const NOTHING: Self = Self {
        v_intr: VIntr::new(),
        intercept_cr: 0,
        intercept_exceptions: 0,
        intercept_3: Word3::empty(),
        intercept_4: Word4::empty(),
        msrpm_base: 0,
    };
}

impl Model {
    /// A core of the described processor, in host mode.
    pub fn new(silicon: Silicon, knobs: Knobs, underneath: Underneath) -> Self {
        let Underneath { host_id, physical_bits, .. } = underneath;
        Self {
            processor: Processor::new(silicon, knobs, host_id, physical_bits),
            underneath,
            kept: Kept::NOTHING,
            window: false,
            injected: None,
            iret: nmi::Iret::Idle,
            interrupt_waits: false,
        }
    }

    /// Whether the guest runs on it.
    pub fn in_guest(&self) -> bool {
        self.processor.in_guest()
    }

    /// Goes on as the core that another vCPU ran on.
    pub fn go_on(&mut self, processor: Processor) {
        self.processor = processor;
    }

    /// The core.
    pub fn processor(&mut self) -> &mut Processor {
        &mut self.processor
    }
}
