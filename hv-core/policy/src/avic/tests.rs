//! The hypervisor's obligations (spec avic.md 7.9), each on this policy's own code.

pub(crate) mod bench;
mod exits;
mod inhibition;
mod posting;
mod state;
