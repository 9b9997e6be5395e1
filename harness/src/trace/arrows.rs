//! Arrows: from the ICR of a sender to the handler of a target.
//!
//! Who sent what arrived is concluded: the last IPI with that vector that can have meant the target. What
//! came from a timer, a device or a hypercall has no arrow.

use super::timeline::Track;
use super::{Trace, apic};
use trapline_abi::trace::Event;

/// One interrupt on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Who wrote its ICR.
    pub sender: usize,
    /// When, in ticks.
    pub sent: u64,
    /// Who took it.
    pub target: usize,
    /// When it was seen in its IRR, in ticks.
    pub accepted: u64,
    /// When it went in; `None` if it did not before the trace ended.
    pub taken: Option<u64>,
    /// The vector.
    pub vector: u8,
}

/// An ICR that was written.
#[derive(Clone, Copy)]
struct Sent {
    sender: usize,
    at: u64,
    icr: u32,
    destination: u32,
}

impl Sent {
    /// Whether it can have meant that vCPU. A logical destination can mean anybody.
    fn can_mean(&self, vcpu: usize) -> bool {
        match apic::shorthand(self.icr) {
            1 => vcpu == self.sender,
            2 => true,
            3 => vcpu != self.sender,
            _ => {
                let all = [0xff, u32::MAX].contains(&self.destination);
                all || !apic::is_physical(self.icr) || self.destination == vcpu as u32
            }
        }
    }
}

/// All arrows of a trace, by the time they were sent.
pub fn arrows(trace: &Trace, tracks: &[Track]) -> Vec<Arrow> {
    let mut sent: Vec<Sent> = Vec::new();
    for (sender, track) in tracks.iter().enumerate() {
        for mark in &track.marks {
            if let Event::Ipi { at, icr, destination } = mark.event {
                sent.push(Sent { sender, at, icr, destination });
            }
        }
    }
    sent.sort_by_key(|sent| sent.at);
    let mut arrows = Vec::new();
    for (target, events) in trace.vcpus.iter().enumerate() {
        let meant: Vec<_> = sent.iter().filter(|sent| sent.can_mean(target)).collect();
        // By vector, up to where its IPIs are accounted for.
        let mut done = [0usize; 256];
        for (place, event) in events.iter().enumerate() {
            let Event::Accept { at, vector } = *event else { continue };
            let from = done[usize::from(vector)];
            let last =
                meant.iter().enumerate().skip(from).rfind(|(_, sent)| {
                    sent.at <= at && sent.icr as u8 == vector && is_fixed(sent.icr)
                });
            let Some((index, sent)) = last else { continue };
            done[usize::from(vector)] = index + 1;
            let (sender, sent) = (sent.sender, sent.at);
            let taken = taken(events, place, vector);
            arrows.push(Arrow { sender, sent, target, accepted: at, taken, vector });
        }
    }
    arrows.sort_by_key(|arrow| (arrow.sent, arrow.target));
    arrows
}

fn is_fixed(icr: u32) -> bool {
    icr >> 8 & 7 <= 1
}

/// When the vector that was accepted at that place went in: the VMRUN behind its injection. What wakes a vCPU
/// is injected outside of any trap's handler, and seen in ISR at the next trap: then it was the VMRUN
/// before.
fn taken(events: &[Event], place: usize, vector: u8) -> Option<u64> {
    let entered = |event: &Event| match event {
        Event::Enter { at, .. } => Some(*at),
        _ => None,
    };
    let rest = &events[place + 1..];
    let again = |event: &Event| matches!(event, Event::Accept { vector: v, .. } if *v == vector);
    let own = &rest[..rest.iter().position(again).unwrap_or(rest.len())];
    let injected =
        |event: &Event| matches!(event, Event::Inject { event, .. } if *event as u8 == vector);
    let ended = |event: &Event| matches!(event, Event::Eoi { vector: v, .. } if *v == vector);
    match own.iter().position(injected) {
        Some(at) => rest[at..].iter().find_map(entered),
        None if own.iter().any(ended) => events[..place].iter().rev().find_map(entered),
        None => None,
    }
}
