//! Xen's guest interface, as version 4.17 has it for 64-bit HVM guests: hypercall page, shared info page,
//! event channels between the vCPUs of one domain (spec pv-and-formats.md b).
//!
//! [`Domain`] is what a VM has once; [`crate::hypercall`] reads the guest's arguments and uses it. The
//! shared info page is a page of the guest's own memory, since hv-core has none to put in its place.
//! Whoever raises an event changes it as Xen does, by single atomic steps, because the guest does so, too.
//!
//! There is one domain, and its events are its own: no other domain, no virtual or physical IRQ is bound
//! to a port, and events come in two levels, not by FIFO.

pub mod hypercall_page;
pub mod ports;
mod shared_info;
#[cfg(test)]
mod tests;
pub mod upcall;

use crate::memory::GuestMemory;
use crate::vm::MAX_VCPUS;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};
use ports::Ports;
use shared_info::SharedInfo;
use spin::{Mutex, MutexGuard};
use trapline_abi::machine::Machine;

/// 4.17, as XENVER_version and CPUID have it.
pub const VERSION: u32 = 4 << 16 | 17;
/// The domain's id: the first one after domain 0.
pub const DOMAIN_ID: u32 = 1;
/// Where the guest says where its hypercall page is.
pub const HYPERCALL_MSR: u32 = 0x4000_0000;
/// The same where Hyper-V's interface has that number.
pub const HYPERCALL_MSR_BESIDE_HYPERV: u32 = 0x4000_0200;

/// Whether that is Xen's MSR on this machine.
#[inline]
pub const fn is_hypercall_msr(machine: Machine, msr: u32) -> bool {
    let hyperv = !machine.hyperv.is_empty();
    machine.xen && msr == if hyperv { HYPERCALL_MSR_BESIDE_HYPERV } else { HYPERCALL_MSR }
}

const PAGE: u64 = 4096;
/// No page has this address.
const NOWHERE: u64 = u64::MAX;

/// A VM as Xen's domain.
#[derive(Debug)]
pub struct Domain {
    /// Guest-physical address of the shared info page.
    shared_info: AtomicU64,
    /// The vector of the global callback; 0: none.
    callback: AtomicU8,
    /// Each vCPU's upcall vector; 0: none.
    vectors: [AtomicU8; MAX_VCPUS],
    ports: Mutex<Ports>,
}

impl Default for Domain {
    fn default() -> Self {
        Self::new()
    }
}

impl Domain {
    /// A domain after its creation.
    pub const fn new() -> Self {
        Self {
            shared_info: AtomicU64::new(NOWHERE),
            callback: AtomicU8::new(0),
            vectors: [const { AtomicU8::new(0) }; MAX_VCPUS],
            ports: Mutex::new(Ports::new()),
        }
    }

    /// Its ports. Held for one access only.
    pub fn ports(&self) -> MutexGuard<'_, Ports> {
        self.ports.lock()
    }

    /// The shared info page, once the guest said where it wants it.
    fn shared_info(&self) -> Option<SharedInfo> {
        let address = self.shared_info.load(SeqCst);
        (address != NOWHERE).then_some(SharedInfo(address))
    }

    /// Puts the shared info page at a page of RAM; `false` if there is none. What it held moves along. A new
    /// one is zero: nothing pends, nothing is masked.
    pub fn map_shared_info<M: GuestMemory>(&self, memory: &M, page: u64) -> bool {
        let Some(address) = page.checked_mul(PAGE).filter(|at| at + PAGE <= memory.size()) else {
            return false;
        };
        let old = self.shared_info();
        for at in (0..PAGE).step_by(8) {
            let word = old.and_then(|old| memory.read_u64(old.0 + at)).unwrap_or(0);
            memory.update_u64(address + at, word, !word);
        }
        self.shared_info.store(address, SeqCst);
        true
    }

    /// The vector of the global callback, which comes from beside the local APIC.
    pub fn callback(&self) -> Option<u8> {
        Some(self.callback.load(SeqCst)).filter(|&vector| vector != 0)
    }

    /// The vector by which a vCPU's local APIC is told of upcalls.
    pub fn vector(&self, vcpu: u32) -> Option<u8> {
        let vector = self.vectors[vcpu as usize % MAX_VCPUS].load(SeqCst);
        Some(vector).filter(|&vector| vector != 0)
    }

    /// Whether the guest has not yet taken note of a vCPU's upcall.
    pub fn is_upcall_pending<M: GuestMemory>(&self, memory: &M, vcpu: u32) -> bool {
        self.shared_info().is_some_and(|page| page.is_upcall_pending(memory, vcpu))
    }
}
