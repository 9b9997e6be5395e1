//! What the processor does by itself.
//!
//! Each virtualization feature of the described processor is real, modeled or off. This version
//! models none: profile `none` is the processor that KVM sees under QEMU's TCG, and any other
//! profile is refused by name, so that no result can claim silicon that was not there.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod profile;

pub use profile::{Feature, Mode, PROFILES, Silicon, UnknownProfile};
