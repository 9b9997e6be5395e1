//! A trace as the text of ftrace, in the names and fields of KVM's tracepoints (spec pv-and-formats d.7).
//!
//! Times have nine decimals, as `trace-cmd report -t` prints them. What hv-core does not know is left out
//! with its whole line, not made up: KVM's arguments of a hypercall, say.

use super::{Trace, apic};
use std::fmt::Write;
use trapline_abi::exit::{self, Detail, Direction, ExitKey, IOIO, MSR};
use trapline_abi::trace::{Event, Trap};

/// Exit codes of AVIC.
const INCOMPLETE_IPI: u64 = 0x401;
const NOACCEL: u64 = 0x402;

/// All vCPUs' lines by time.
pub fn text(trace: &Trace) -> String {
    let mut lines: Vec<(u64, usize, String)> = Vec::new();
    for (vcpu, events) in trace.vcpus.iter().enumerate() {
        of_vcpu(vcpu, events, &mut |at, line| lines.push((at, vcpu, line)));
    }
    // Stable: lines of one vCPU at one time keep their order.
    lines.sort_by_key(|(at, vcpu, _)| (*at, *vcpu));
    let mut text = String::from("# tracer: nop\n#\n");
    let (name, khz) = (&trace.name, trace.tsc_khz);
    let _ = writeln!(text, "# {name}: TSC since the scenario's start in seconds, at {khz} kHz");
    for (at, vcpu, line) in lines {
        let nanos = trace.nanos(at);
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let task = format!("vcpu{vcpu}-{}", vcpu + 1);
        let _ = writeln!(text, "{task:>12} [{vcpu:03}] d....  {seconds:>4}.{rest:09}: {line}");
    }
    text
}

/// One vCPU's lines, in the order in which KVM says them.
fn of_vcpu(vcpu: usize, events: &[Event], say: &mut dyn FnMut(u64, String)) {
    let mut rest = events;
    let mut was_absorbed = false;
    while let Some((event, after)) = rest.split_first() {
        rest = after;
        let at = event.at();
        match *event {
            // To KVM a guest whose trap the processor did by itself was never out.
            Event::Enter { .. } if was_absorbed => {}
            Event::Enter { rip, .. } => {
                let rip = rip.unwrap_or_else(|| next_rip(rest));
                say(at, format!("kvm_entry: vcpu {vcpu}, rip {rip:#x}"));
            }
            Event::Trap(trap) => {
                was_absorbed = trap.key == 0;
                let until = |event: &Event| matches!(event, Event::Enter { .. } | Event::Trap(_));
                let (of_it, after) =
                    rest.split_at(rest.iter().position(until).unwrap_or(rest.len()));
                rest = after;
                handled(vcpu, &trap, of_it, &mut |line| say(at, line));
            }
            event => {
                if let Some(line) = interrupt(vcpu, event) {
                    say(at, line);
                }
            }
        }
    }
}

/// An exit, with what was done about it.
fn handled(vcpu: usize, trap: &Trap, events: &[Event], say: &mut dyn FnMut(String)) {
    let key = ExitKey(trap.key);
    let (before, after): (Vec<Event>, Vec<Event>) =
        events.iter().partition(|event| matches!(event, Event::Ipi { .. } | Event::Accept { .. }));
    let (ends, injections): (Vec<Event>, Vec<Event>) =
        after.iter().partition(|event| matches!(event, Event::Eoi { .. }));
    let all = |events: &[Event], say: &mut dyn FnMut(String)| {
        events.iter().filter_map(|event| interrupt(vcpu, *event)).for_each(say);
    };
    if trap.key != 0 {
        say(exit_line(vcpu, trap));
    }
    all(&before, say);
    if let (MSR, Some((offset, direction))) = (key.code(), apic::register(key)) {
        let (word, value) = (word(direction), trap.value);
        say(format!("kvm_apic: apic_{word} {} = {value:#x}", apic::name(offset)));
    }
    all(&ends, say);
    access(vcpu, trap, say);
    all(&injections, say);
}

fn exit_line(vcpu: usize, trap: &Trap) -> String {
    format!(
        "kvm_exit: vcpu {vcpu} reason {} rip {:#x} info1 {:#018x} info2 {:#018x} intr_info {:#010x} \
         error_code {:#010x}",
        exit::name(ExitKey(trap.key).code()),
        trap.rip,
        trap.info_1,
        trap.info_2,
        trap.interrupted as u32,
        (trap.interrupted >> 32) as u32
    )
}

/// What an exit was an access to.
fn access(vcpu: usize, trap: &Trap, say: &mut dyn FnMut(String)) {
    let key = ExitKey(trap.key);
    match (key.code(), key.detail()) {
        (MSR, Detail::Access(msr, direction)) => {
            say(format!("kvm_msr: msr_{} {msr:x} = {:#x}", word(direction), trap.value));
        }
        (IOIO, Detail::Access(port, direction)) => {
            let (word, value) = (word(direction), trap.value);
            let size = (trap.info_1 >> 4 & 7).max(1);
            say(format!("kvm_pio: pio_{word} at {port:#x} size {size} count 1 val {value:#x} "));
        }
        (INCOMPLETE_IPI, _) => say(format!(
            "kvm_avic_incomplete_ipi: vcpu={vcpu}, icrh:icrl={:#010x}:{:08x}, id={}, index={}",
            (trap.info_1 >> 32) as u32,
            trap.info_1 as u32,
            trap.info_2 >> 32,
            trap.info_2 & 0x1ff
        )),
        (NOACCEL, _) => {
            let offset = (trap.info_1 & 0xff0) as u32;
            let is_write = trap.info_1 >> 32 & 1 != 0;
            say(format!(
                "kvm_avic_unaccelerated_access: vcpu={vcpu}, offset={offset:#x}({}), {}, {}, vec={:#x}",
                apic::name(offset),
                if is_trap(offset, is_write) { "trap" } else { "fault" },
                if is_write { "write" } else { "read" },
                trap.info_2 as u32
            ));
        }
        _ => {}
    }
}

fn interrupt(vcpu: usize, event: Event) -> Option<String> {
    match event {
        Event::Ipi { icr, destination, .. } => {
            let words = apic::words(icr);
            Some(format!("kvm_apic_ipi: dst {destination:x} vec {} ({words})", icr as u8))
        }
        Event::Accept { vector, .. } => {
            Some(format!("kvm_apic_accept_irq: apicid {vcpu:x} vec {vector} (Fixed|edge)"))
        }
        Event::Eoi { vector, .. } => Some(format!("kvm_eoi: apicid {vcpu:x} vector {vector}")),
        Event::Inject { event, .. } => inject(event),
        Event::Enter { .. } | Event::Trap(_) => None,
    }
}

/// RIP at an entry of which only the exit behind it is known: the guest ran from there or before.
fn next_rip(rest: &[Event]) -> u64 {
    let trap = rest.iter().find_map(|event| match event {
        Event::Trap(trap) => Some(trap.rip),
        _ => None,
    });
    trap.unwrap_or_default()
}

/// Registers whose writes AVIC reports after they are done (APM vol. 2 §15.29.3.1).
fn is_trap(offset: u32, is_write: bool) -> bool {
    const TRAPS: [u32; 15] = [
        0x20, 0xb0, 0xd0, 0xe0, 0xf0, 0x280, 0x300, 0x320, 0x330, 0x340, 0x350, 0x360, 0x370,
        0x380, 0x3e0,
    ];
    is_write && TRAPS.contains(&offset)
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    }
}

/// An injected interrupt. QEMU's TCG gets it as a software interrupt (docs/tcg.md T24), which it is not
/// to the guest.
fn inject(event: u64) -> Option<String> {
    const EXTERNAL: u64 = 0;
    const SOFTWARE: u64 = 4;
    [EXTERNAL, SOFTWARE]
        .contains(&(event >> 8 & 7))
        .then(|| format!("kvm_inj_virq: IRQ {:#x}", event as u8))
}
