//! What a hypervisor does with an exit.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod fault;
pub mod ioapic;
pub mod lapic;
pub mod pic;
pub mod time;
pub mod cpuid;
pub mod hyperv;
pub mod inhibit;
pub mod pv_eoi;
pub mod rtc;
pub mod gprs;
pub mod memory;
pub mod decode;
pub mod events;
pub mod vcpu;
pub mod vm;
pub mod handle;
pub mod hypercall;
pub mod port;
pub mod mmio;
pub mod control_register;
pub mod msr;
