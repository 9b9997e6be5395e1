//! The parts of hv-core that need no machine: what is counted, and what a payload ELF asks for.
//!
//! The binary (`main.rs`) holds everything that touches hardware; what can be tested on the host
//! lives here.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod account;
pub mod acpi;
pub mod last_exits;
pub mod madt;
pub mod model;
pub mod payload;
pub mod trace;
pub mod traps;
