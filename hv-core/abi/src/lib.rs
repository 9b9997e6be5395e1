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
pub mod plan;
pub mod record;

/// Version of everything in this crate. Both sides refuse any other.
pub const PROTOCOL: u32 = 1;
