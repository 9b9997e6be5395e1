//! Hardware types of AMD SVM and its interrupt virtualization: layouts, bits and numbers.
//!
//! Types only. What the processor does with them is in `trapline-silicon`, what a hypervisor does
//! in `trapline-policy`. "APM" is the AMD64 Architecture Programmer's Manual, volume 2 (24593),
//! revision 3.44; section numbers refer to it.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod apic;
pub mod avic;
pub mod cpuid;
pub mod event;
pub mod exit_code;
pub mod intercept;
pub mod msr;
pub mod permission_map;
pub mod save_area;
pub mod segment;
pub mod vintr;
pub mod vmcb;
