//! hv-core: boots, takes its plan, runs each scenario's guest under SVM, says what happened.
//!
//! The binary holds all of the project's privileged code. Reading order: `boot` (how it starts),
//! `suite` (what it does with a plan), `scenario` (one guest from loading to report), `svm` (the
//! world switch), `run` (one exit), `records` (how it speaks).
#![no_std]
#![no_main]
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(target_feature = "avx")]
compile_error!("the image must not use AVX: nothing saves its state; clear RUSTFLAGS");

mod apic;
mod arch;
mod boot;
mod calls;
mod clock;
mod core_block;
mod cores;
mod debug_exit;
mod guest;
mod guest_memory;
mod host_memory;
mod laboratory;
mod modeled;
mod outbox;
mod panic;
mod phase;
mod records;
mod report;
mod run;
mod scenario;
mod serial;
mod suite;
mod svm;
mod switch;
mod traced;
mod turns;
mod vcpu_block;
mod vcpus;
