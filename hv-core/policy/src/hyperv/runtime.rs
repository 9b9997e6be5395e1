//! VP_RUNTIME: how long a vCPU has had a core to itself, halts excluded, in units of 100 ns.
//!
//! KVM takes the CPU time of the vCPU's thread, which is the same but for the host's own work.

use crate::time::Ns;

/// Nanoseconds in a unit.
const UNIT: u64 = 100;

/// The run time of a vCPU. Kept only where CPUID offers it, at the moments that
/// [`crate::avic::running`] is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// What it ran before it was stopped last, in nanoseconds.
    before: u64,
    since: Option<Ns>,
}

impl Runtime {
    /// It runs from `now` on.
    pub fn start(&mut self, now: Ns) {
        self.since.get_or_insert(now);
    }

    /// It runs no longer, from `now` on.
    pub fn stop(&mut self, now: Ns) {
        self.before = self.nanoseconds(now);
        self.since = None;
    }

    /// The MSR's value at `now`.
    pub fn at(&self, now: Ns) -> u64 {
        self.nanoseconds(now) / UNIT
    }

    /// The host restores the MSR at `now`.
    pub fn restore(&mut self, value: u64, now: Ns) {
        self.before = value.saturating_mul(UNIT);
        if self.since.is_some() {
            self.since = Some(now);
        }
    }

    fn nanoseconds(&self, now: Ns) -> u64 {
        self.before + self.since.map_or(0, |since| now.0.saturating_sub(since.0))
    }
}
