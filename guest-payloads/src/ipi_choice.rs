//! How Linux sends an IPI as a guest of KVM: by APIC or by hypercall (arch/x86/kernel/kvm.c,
//! arch/x86/kernel/apic; rules PVI-1 to PVI-5).
//!
//! Only what the choice rests on is here, so that a payload sends as a certain Linux would. It is tested on
//! the host.

pub mod window;

use crate::count::Counts;
use crate::kvm::{self, Offer, feature};
use crate::smp;
use window::windows;

/// How the kernel's APIC driver names its destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// One physical id a command: xAPIC since 6.12 or with more than 8 CPUs, and x2APIC by option.
    Physical,
    /// xAPIC's flat logical ids, before 6.12: a mask of CPUs 0 to 7 is one command, and a send to one CPU is
    /// one to a mask.
    Flat,
    /// x2APIC's logical ids: one command a cluster, here one, as there are no more than 16 CPUs.
    Cluster,
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Send {
    /// Reschedule, or a function call on one CPU: to it.
    One(u32),
    /// A function call on these CPUs, one bit each.
    Call(u32),
}

/// By what it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// SEND_IPI, to these CPUs.
    Hypercall(u32),
    /// An ICR command to each.
    Commands(u32),
    /// An ICR command to all of these at once, by logical ids.
    Mask(u32),
    /// An ICR command to all but the sender.
    Shorthand,
}

/// A kernel that has booted on that many CPUs, all of them online.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its APIC driver.
    pub driver: Driver,
    /// What it was offered.
    pub offer: Option<Offer>,
    /// How many CPUs it has.
    pub cpus: u32,
}

impl Kernel {
    /// The one that has booted on this machine.
    pub fn booted(driver: Driver) -> Self {
        Self { driver, offer: Offer::find(), cpus: smp::vcpus() }
    }

    fn has(self, features: u32) -> bool {
        self.cpus > 1 && self.offer.is_some_and(|offer| offer.has(features))
    }

    /// Whether it sends by hypercall at all. It looks at nothing else; in particular not for AVIC, of which
    /// a guest knows nothing.
    pub fn uses_pv_ipi(self) -> bool {
        self.has(feature::PV_IPI)
    }

    /// Whether it yields to a preempted target. MWAIT is never there.
    pub fn yields(self) -> bool {
        self.has(feature::SCHED_YIELD | feature::STEAL_TIME) && self.is_shared()
    }

    /// Whether a waiter for a spinlock halts (rule PVI-5).
    pub fn uses_pv_locks(self) -> bool {
        self.has(feature::PV_UNHALT) && self.is_shared()
    }

    /// The hint is not there: a CPU may be kept off its core for long.
    fn is_shared(self) -> bool {
        self.offer.is_some_and(|offer| offer.hints & feature::HINT_REALTIME == 0)
    }

    /// The way of a send by CPU `from`.
    pub fn way(self, from: u32, send: Send) -> Way {
        let mask = match send {
            Send::One(to) if self.driver != Driver::Flat => return Way::Commands(1 << to),
            Send::One(to) => 1 << to,
            Send::Call(mask) if mask | 1 << from == self.all() && mask >> from & 1 == 0 => {
                return Way::Shorthand;
            }
            Send::Call(mask) => mask,
        };
        match self.driver {
            _ if self.uses_pv_ipi() => Way::Hypercall(mask),
            Driver::Physical => Way::Commands(mask),
            Driver::Flat | Driver::Cluster => Way::Mask(mask),
        }
    }

    fn all(self) -> u32 {
        u32::MAX >> (u32::BITS - self.cpus.min(u32::BITS))
    }
}

/// The numbers of the bits that are set.
pub fn cpus(mask: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).filter(move |&cpu| mask >> cpu & 1 != 0)
}

/// Physical APIC ids by CPU (Linux `x86_cpu_to_apicid`), where they are not the CPU's number: added to it.
static IDS: Counts = Counts::new();

/// The physical APIC id of a CPU.
pub fn apic_id(cpu: u32) -> u32 {
    cpu + IDS.of(cpu).get() as u32
}

/// A CPU has another, higher APIC id than its number.
pub fn rename(cpu: u32, apic_id: u32) {
    IDS.of(cpu).set((apic_id - cpu).into());
}

/// Sends a fixed interrupt that way. How many APICs accepted by hypercall, or its error.
pub fn send(way: Way, vector: u8) -> i64 {
    match way {
        Way::Hypercall(mask) => {
            return windows(cpus(mask).map(apic_id)).fold(0, |accepted, window| {
                let result = kvm::send_ipi(window.bitmap, window.first, vector.into());
                if accepted < 0 || result < 0 { accepted.min(result) } else { accepted + result }
            });
        }
        Way::Commands(mask) => cpus(mask).for_each(|cpu| smp::send(apic_id(cpu), vector)),
        Way::Mask(mask) => smp::send_to_mask(mask, vector),
        Way::Shorthand => smp::send_to_others(vector),
    }
    0
}

#[cfg(test)]
mod tests;
