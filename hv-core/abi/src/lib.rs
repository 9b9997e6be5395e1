//! What crosses a boundary in Trapline.
//!
//! Three borders meet here. The harness hands hv-core a [`plan`]; hv-core answers with a stream of
//! [`record`]s, each in a checked [`frame`]; and a payload talks to whatever runs it through the
//! handful of [`call`]s, starting from the [`boot`] page it finds in its memory. [`exit`] names
//! what is counted.
//!
//! Nothing in this crate executes: it is data, its encoding and its names, so both sides of each
//! border can be tested on the host.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod boot;
pub mod call;
pub mod descriptor;
pub mod exit;
pub mod frame;
pub mod laboratory;
pub mod machine;
pub mod plan;
pub mod record;
pub mod trace;

/// Version of everything in this crate. Both sides refuse any other.
pub const PROTOCOL: u32 = 5;

/// What hv-core writes to QEMU's isa-debug-exit device; QEMU ends with `value << 1 | 1`.
///
/// No other way to end is a good one: a triple fault under `-no-reboot` ends QEMU with 0.
pub mod debug_exit {
    /// The device's I/O port.
    pub const PORT: u16 = 0xf4;
    /// Every scenario of the plan was run, however it ended; QEMU status 33.
    pub const DONE: u32 = 0x10;
    /// hv-core panicked; QEMU status 35.
    pub const PANIC: u32 = 0x11;
    /// There is no usable plan; QEMU status 37.
    pub const NO_PLAN: u32 = 0x12;
    /// The machine cannot run hv-core: no SVM, no nested paging, not enough memory; QEMU status 39.
    pub const UNUSABLE: u32 = 0x13;
}
