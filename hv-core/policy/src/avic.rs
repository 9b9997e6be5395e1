//! AVIC, as KVM uses it: the tables it gives the processor, and what it does at AVIC's exits.
//!
//! The backing page is the truth while AVIC is on for a vCPU: the processor moves its vectors, other
//! processors post into it. The software APIC ([`crate::lapic`]) then holds the other registers and
//! takes the vectors over when it needs them ([`registers`]). [`activation`] turns AVIC on and off,
//! [`running`] keeps IsRunning, [`post`] is how an interrupt reaches a vCPU, and [`ipi`] and
//! [`access`] answer exits 401h and 402h.
//!
//! Nothing here knows whether the silicon is real or modeled.

use crate::xen_rfc::Crash;

pub mod access;
pub mod activation;
pub mod features;
pub mod inhibits;
pub mod ipi;
pub mod logical;
pub mod post;
pub mod registers;
pub mod running;
pub mod tables;
#[cfg(test)]
pub(crate) mod tests;

/// What a vCPU keeps for AVIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct VcpuAvic {
    /// AVIC is on.
    pub active: bool,
    /// Whether it should be is to be looked at before the next entry (KVM_REQ_APICV_UPDATE).
    pub update: bool,
    /// Every vCPU has to, because the reasons changed: nobody may begin before all have left the guest.
    pub together: bool,
    /// Its entry says that it runs: between load and put.
    pub loaded: bool,
    /// APIC id of the core that it runs on.
    pub host_id: u16,
    /// The LDR and DFR that its logical table entry was made from.
    pub logical: logical::Made,
    /// Why the hypervisor crashed its guest, once it did.
    pub crash: Option<Crash>,
}
