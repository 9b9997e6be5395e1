//! What a hypervisor does with an exit.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod avic;
pub mod control_register;
pub mod cpuid;
pub mod decode;
pub mod events;
pub mod fault;
pub mod gprs;
pub mod handle;
pub mod hpet;
pub mod hypercall;
pub mod hyperv;
pub mod inhibit;
pub mod ioapic;
pub mod kvm;
pub mod laboratory;
pub mod lapic;
pub mod mailbox;
pub mod memory;
pub mod mmio;
pub mod msr;
pub mod pic;
pub mod pit;
pub mod pm_timer;
pub mod policies;
pub mod port;
pub mod pv_eoi;
pub mod rtc;
pub mod schedule;
pub mod time;
pub mod vcpu;
pub mod vm;
pub mod xen;
pub mod xen_rfc;
