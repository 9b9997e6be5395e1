//! A trace as Chrome's trace events, in JSON: for chrome://tracing and Perfetto.

use super::arrows::Arrow;
use super::timeline::{Mark, Slice, Track, What, exit_name};
use super::{Trace, apic};
use serde_json::{Value, json};
use trapline_abi::trace::Event;

/// The one process: the VM.
const PID: u32 = 1;

/// The JSON text.
pub fn json(trace: &Trace, tracks: &[Track], arrows: &[Arrow]) -> String {
    let mut events = vec![json!({
        "name": "process_name", "ph": "M", "pid": PID, "args": { "name": trace.name }
    })];
    for (vcpu, track) in tracks.iter().enumerate() {
        let tid = vcpu + 1;
        events.push(json!({
            "name": "thread_name", "ph": "M", "pid": PID, "tid": tid,
            "args": { "name": format!("vCPU {vcpu}") }
        }));
        events.push(json!({
            "name": "thread_sort_index", "ph": "M", "pid": PID, "tid": tid,
            "args": { "sort_index": vcpu }
        }));
        events.extend(track.slices.iter().map(|s| slice(trace, tid, s)));
        events.extend(track.marks.iter().map(|m| mark(trace, tid, m)));
    }
    for (id, arrow) in arrows.iter().enumerate() {
        let name = format!("vector {:#x}", arrow.vector);
        let end = |ph, tid: usize, at| {
            let mut end = json!({
                "name": name, "cat": "interrupt", "ph": ph, "id": id, "pid": PID, "tid": tid + 1,
                "ts": micros(trace, at)
            });
            if ph == "f" {
                end["bp"] = "e".into();
            }
            end
        };
        events.push(end("s", arrow.sender, arrow.sent));
        events.push(end("f", arrow.target, arrow.taken.unwrap_or(arrow.accepted)));
    }
    let text = json!({ "traceEvents": events, "displayTimeUnit": "ns" });
    format!("{text}\n")
}

/// Microseconds, with all three decimals that there are.
fn micros(trace: &Trace, ticks: u64) -> f64 {
    trace.nanos(ticks) as f64 / 1000.0
}

fn slice(trace: &Trace, tid: usize, slice: &Slice) -> Value {
    let from = micros(trace, slice.from);
    let duration = (trace.nanos(slice.to) - trace.nanos(slice.from)) as f64 / 1000.0;
    let (name, category, args) = match &slice.what {
        What::Guest { absorbed } => {
            ("guest".into(), "guest", json!({ "absorbed traps": absorbed }))
        }
        What::Exit(trap) => (
            exit_name(trap),
            "exit",
            json!({
                "code": format!("{:#x}", trap.code), "info1": format!("{:#x}", trap.info_1),
                "info2": format!("{:#x}", trap.info_2), "rip": format!("{:#x}", trap.rip)
            }),
        ),
    };
    json!({
        "name": name, "cat": category, "ph": "X", "pid": PID, "tid": tid, "ts": from,
        "dur": duration, "args": args
    })
}

fn mark(trace: &Trace, tid: usize, mark: &Mark) -> Value {
    json!({
        "name": mark_name(mark), "cat": "interrupt", "ph": "i", "s": "t", "pid": PID, "tid": tid,
        "ts": micros(trace, mark.at)
    })
}

/// `ICR vector 0xb0 to 1`, `accepts 0xb0`, `injects 0xb0`, `EOI 0xb0`.
pub(super) fn mark_name(mark: &Mark) -> String {
    match mark.event {
        Event::Ipi { icr, destination, .. } => match apic::shorthand(icr) {
            0 => format!("ICR {} {:#x} to {destination:#x}", apic::mode(icr), icr as u8),
            1 => format!("ICR {} {:#x} to itself", apic::mode(icr), icr as u8),
            2 => format!("ICR {} {:#x} to all", apic::mode(icr), icr as u8),
            _ => format!("ICR {} {:#x} to all others", apic::mode(icr), icr as u8),
        },
        Event::Accept { vector, .. } => format!("accepts {vector:#x}"),
        Event::Inject { event, .. } => format!("injects {:#x}", event as u8),
        Event::Eoi { vector, .. } => format!("EOI {vector:#x}"),
        Event::Enter { .. } | Event::Trap(_) => String::new(),
    }
}
