//! The guest runtime: what every payload is built on.
//!
//! A payload is one file in `src/bin`: a [`payload!`] block that names its parameters, and a
//! function. The runtime enters it in 64-bit mode with a stack, a GDT and an IDT of its own, and
//! gives it drivers ([`apic`], [`timer`], [`rtc`], [`pit`], [`hpet`], [`pm_timer`], [`ioapic`], [`synic`],
//! [`hypercall`], [`reference`], [`vapic`], [`kvm`], [`xen`], [`smp`], and [`ipi_choice`] for how Linux
//! sends an IPI), counters and a
//! place to meet for its vCPUs ([`count`], [`barrier`]), and calls ([`call`]). Nothing here knows hv-core: only
//! `trapline-abi`.
//!
//! A payload owns its whole machine, and what it breaks is a result. So the runtime's functions
//! are safe to call even where they reach registers: they are about the guest's machine, not about
//! the memory of its Rust code.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(feature = "image", deny(unsafe_op_in_unsafe_fn))]

// Everything below runs in a guest only; on the host the crate is checked, not executed.
pub mod acpi;
pub mod apic;
pub mod barrier;
pub mod call;
pub mod count;
pub mod cpu;
pub mod errand;
pub mod hpet;
pub mod hypercall;
pub mod interrupt;
pub mod ioapic;
pub mod ipi_choice;
pub mod kvm;
pub mod laboratory;
pub mod page;
pub mod payload;
pub mod pic;
pub mod pit;
pub mod pm_timer;
pub mod recipient;
pub mod reference;
pub mod rtc;
pub mod rule;
pub mod smp;
#[cfg(feature = "image")]
mod start;
pub mod synic;
pub mod timer;
pub mod trial;
pub mod user;
pub mod vapic;
pub mod windows;
pub mod xen;

#[cfg(feature = "image")]
#[path = "../../hv-core/src/arch/memory.rs"]
mod memory;

pub use trapline_abi::boot::BootPage;
