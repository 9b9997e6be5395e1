//! What the processor does by itself: AVIC, x2AVIC, Idle HLT, VNMI and vGIF.
//!
//! A [`Silicon`] describes a processor: each [`Feature`] of it is real, modeled or off. A
//! [`Processor`] plays one core of it. The caller feeds it what the guest does, and gets back what
//! the described silicon would have reported: nothing ([`Outcome::Absorbed`]), an [`Exit`], or a
//! `#GP` for the guest. [`PROFILES`] are descriptions with a name.
//!
//! | the guest, or the core | the model |
//! |---|---|
//! | VMRUN, #VMEXIT | [`Processor::vmrun`], [`Processor::vmexit`] |
//! | touches the APIC page | [`Processor::apic_page`], then [`Processor::read_mmio`], [`Processor::write_mmio`], [`Processor::modify_mmio`] |
//! | RDMSR, WRMSR 800h to 8FFh | [`Processor::read_msr`], [`Processor::write_msr`] |
//! | MOV CR8 | [`Processor::read_cr8`], [`Processor::write_cr8`] |
//! | is between two instructions | [`Processor::boundary`], [`Processor::cut_short`] |
//! | HLT, IRET, STGI, CLGI | [`Processor::halt`], [`Processor::iret`], [`Processor::stgi`], [`Processor::clgi`] |
//! | is rung, or rings | [`Processor::doorbell`], [`doorbell`] |
//!
//! The model reaches memory through [`Memory`] and rings doorbells through a closure. It holds no
//! lock and allocates nothing; what keeps several cores apart is written in the docs of [`Memory`]'s
//! module. Where the manual leaves something open the model picks one behaviour and says
//! "model-defined"; tests of such rules end in `_model_defined` and never count against real
//! silicon. [`Knobs`] turn the permitted variations.
//!
//! Not modeled: Secure AVIC, and SEV-SNP's checks of page ownership.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod boundary;
mod clean;
mod deliver;
mod destination;
pub mod doorbell;
mod enumeration;
mod eoi;
mod evaluate;
mod exit;
mod feature;
mod gif;
mod icr;
mod idle;
mod ipi;
mod knobs;
pub mod matrix;
pub mod memory;
mod mmio;
mod nested_page;
mod nmi;
mod page;
mod priority;
mod processor;
mod profile;
mod stale;
mod tables;
#[cfg(test)]
mod tests;
mod vmrun;
mod x2apic;

pub use boundary::{Boundary, Taken};
pub use enumeration::{Enumeration, Impossible};
pub use exit::{Exit, Outcome, Rip};
pub use feature::{Feature, Mode};
pub use idle::Halt;
pub use knobs::{Chance, Evaluation, Knobs};
pub use memory::Memory;
pub use mmio::Access;
pub use nested_page::{Cause, Goes, Leaf};
pub use processor::{AvicMode, Processor};
pub use profile::{PROFILES, Quirks, Silicon, Unreadable};
pub use vmrun::Invalid;
pub use x2apic::Gate;
