//! Traces: what the vCPUs of a scenario did, event by event, for people and their tools.
//!
//! - [`timeline`]: guest time and exits as slices, interrupts as arrows.
//! - [`iteration`]: one of the rounds that a guest makes.
//! - [`ftrace`]: as text, in the words of KVM's tracepoints.
//! - [`chrome`]: as Chrome's trace events; [`perfetto`]: as Perfetto's protobuf. Both open in Perfetto.
//!
//! A traced run counts what an untraced one counts, but takes longer about it: its times are its own.

pub mod apic;
pub mod arrows;
pub mod chrome;
pub mod ftrace;
pub mod iteration;
pub mod perfetto;
pub mod timeline;

use trapline_abi::trace::Event;

/// The events of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The scenario.
    pub name: String,
    /// TSC frequency in kHz.
    pub tsc_khz: u32,
    /// By vCPU, in order.
    pub vcpus: Vec<Vec<Event>>,
}

impl Trace {
    /// Sorts events by vCPU.
    pub fn new(name: &str, tsc_khz: u32, events: &[(u16, Event)]) -> Self {
        let count = events.iter().map(|(vcpu, _)| usize::from(*vcpu) + 1).max().unwrap_or_default();
        let mut vcpus = vec![Vec::new(); count];
        for &(vcpu, event) in events {
            vcpus[usize::from(vcpu)].push(event);
        }
        Self { name: name.into(), tsc_khz: tsc_khz.max(1), vcpus }
    }

    /// Ticks in nanoseconds.
    pub fn nanos(&self, ticks: u64) -> u64 {
        (u128::from(ticks) * 1_000_000 / u128::from(self.tsc_khz)) as u64
    }
}

#[cfg(test)]
mod tests;
