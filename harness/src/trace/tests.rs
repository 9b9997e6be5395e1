use super::arrows::{Arrow, arrows};
use super::timeline::{What, tracks};
use super::*;
use trapline_abi::exit::{ExitKey, MSR};
use trapline_abi::trace::Trap;

const HLT: u64 = 0x78;
const ICR: u32 = 0x830;
const EOI: u32 = 0x80b;
const VECTOR: u8 = 0xb0;

fn trap(at: u64, key: ExitKey, value: u64) -> Event {
    let info_1 = u64::from(key.code() == MSR);
    Event::Trap(Trap {
        at,
        key: key.0,
        code: key.code(),
        info_1,
        info_2: 0,
        interrupted: 0,
        rip: 0x40_0000 + at,
        value,
        rax: value,
    })
}

fn write(at: u64, msr: u32, value: u64) -> Event {
    trap(at, ExitKey::access(MSR, msr, true), value)
}

fn enter(at: u64) -> Event {
    Event::Enter { at, rip: Some(0x40_0000 + at) }
}

/// The processor did it by itself.
fn absorbed(at: u64) -> Event {
    trap(at, ExitKey::EMPTY, 0)
}

/// vCPU 0 sends itself one, halts over it, takes it in a window and ends it: the loop of the Idle HLT
/// trace. vCPU 1 is sent one by vCPU 0, which its processor delivers.
fn trace() -> Trace {
    let to = |destination, icr| Event::Ipi { at: 1000, icr, destination };
    let to_self = [
        enter(100),
        write(1000, ICR, 0x440b0),
        to(0, 0x440b0),
        Event::Accept { at: 1000, vector: VECTOR },
        enter(1500),
        trap(1600, ExitKey::plain(HLT), 0),
        enter(1700),
        trap(1710, ExitKey::plain(0x64), 0),
        Event::Inject { at: 1710, event: 0x8000_00b0 },
        enter(1800),
        write(1900, EOI, 0),
        Event::Eoi { at: 1900, vector: VECTOR },
        enter(2000),
        write(3000, ICR, 0x1_0000_40b1),
        Event::Ipi { at: 3000, icr: 0x40b1, destination: 1 },
    ];
    let other = [
        enter(200),
        Event::Accept { at: 3100, vector: 0xb1 },
        absorbed(3100),
        Event::Inject { at: 3100, event: 0x8000_04b1 },
        enter(3200),
        absorbed(3300),
        Event::Eoi { at: 3300, vector: 0xb1 },
        enter(3400),
        trap(4000, ExitKey::plain(HLT), 0),
    ];
    let all: Vec<_> =
        to_self.map(|event| (0, event)).into_iter().chain(other.map(|event| (1, event))).collect();
    Trace::new("s::one", 1_000_000, &all)
}

#[test]
fn slices_follow_each_other_and_what_was_absorbed_is_the_guests_time() {
    let tracks = tracks(&trace());
    for track in &tracks {
        assert!(track.slices.windows(2).all(|pair| pair[0].to == pair[1].from));
    }
    assert_eq!([tracks[0].exits(), tracks[1].exits()], [5, 1]);
    let guest = &tracks[1].slices[0];
    assert_eq!((guest.from, guest.to), (200, 4000));
    assert_eq!(guest.what, What::Guest { absorbed: 2 });
    // The end of the scenario cut the last exit off.
    let last = tracks[0].slices.last().unwrap();
    assert_eq!((last.from, last.to), (3000, 3000));
}

#[test]
fn arrows_go_from_the_icr_to_the_handler() {
    let trace = trace();
    assert_eq!(
        arrows(&trace, &tracks(&trace)),
        [
            Arrow {
                sender: 0,
                sent: 1000,
                target: 0,
                accepted: 1000,
                taken: Some(1800),
                vector: VECTOR
            },
            Arrow {
                sender: 0,
                sent: 3000,
                target: 1,
                accepted: 3100,
                taken: Some(3200),
                vector: 0xb1
            },
        ]
    );
}

#[test]
fn what_came_from_a_timer_or_was_sent_to_another_has_no_arrow() {
    let events = [
        (0, Event::Ipi { at: 5, icr: 0x40b1, destination: 1 }),
        (0, Event::Accept { at: 6, vector: 0xb1 }),
        (1, Event::Accept { at: 4, vector: 0xb1 }),
        (1, Event::Accept { at: 6, vector: 0xb2 }),
    ];
    let trace = Trace::new("s::none", 1_000_000, &events);
    assert_eq!(arrows(&trace, &tracks(&trace)), []);
}

#[test]
fn what_wakes_a_vcpu_goes_in_with_the_entry_before_it_is_seen() {
    let events = [
        (0, Event::Ipi { at: 10, icr: 0x40b1, destination: 1 }),
        (1, enter(20)),
        (1, Event::Accept { at: 30, vector: 0xb1 }),
        (1, write(30, EOI, 0)),
        (1, Event::Eoi { at: 30, vector: 0xb1 }),
        (1, enter(40)),
    ];
    let trace = Trace::new("s::wake", 1_000_000, &events);
    let taken: Vec<_> = arrows(&trace, &tracks(&trace)).iter().map(|a| a.taken).collect();
    assert_eq!(taken, [Some(20)]);
}

#[test]
fn ipis_that_collapsed_into_one_have_one_arrow() {
    let ipi = |at| Event::Ipi { at, icr: 0xc40b1, destination: 0 };
    let events = [
        (0, ipi(1)),
        (0, ipi(2)),
        (1, Event::Accept { at: 3, vector: 0xb1 }),
        (0, ipi(4)),
        (1, Event::Accept { at: 5, vector: 0xb1 }),
    ];
    let trace = Trace::new("s::some", 1_000_000, &events);
    let sent: Vec<_> = arrows(&trace, &tracks(&trace)).iter().map(|a| a.sent).collect();
    assert_eq!(sent, [2, 4]);
}

/// seeds/003 has these lines for the loop without Idle HLT, task and flags aside.
#[test]
fn the_text_has_kvms_lines_in_kvms_order() {
    let text = ftrace::text(&trace());
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("vcpu0-1"))
        .filter_map(|line| line.split_once(": ").map(|(_, line)| line))
        .collect();
    let zero = "info2 0x0000000000000000 intr_info 0x00000000 error_code 0x00000000";
    let exit = |reason: &str, rip: &str, info_1: u32| {
        format!("kvm_exit: vcpu 0 reason {reason} rip {rip} info1 {info_1:#018x} {zero}")
    };
    assert_eq!(
        lines[..18],
        [
            "kvm_entry: vcpu 0, rip 0x400064",
            &exit("msr", "0x4003e8", 1),
            "kvm_apic_ipi: dst 0 vec 176 (Fixed|physical|assert|edge|self)",
            "kvm_apic_accept_irq: apicid 0 vec 176 (Fixed|edge)",
            "kvm_apic: apic_write APIC_ICR = 0x440b0",
            "kvm_msr: msr_write 830 = 0x440b0",
            "kvm_entry: vcpu 0, rip 0x4005dc",
            &exit("hlt", "0x400640", 0),
            "kvm_entry: vcpu 0, rip 0x4006a4",
            &exit("vintr", "0x4006ae", 0),
            "kvm_inj_virq: IRQ 0xb0",
            "kvm_entry: vcpu 0, rip 0x400708",
            &exit("msr", "0x40076c", 1),
            "kvm_apic: apic_write APIC_EOI = 0x0",
            "kvm_eoi: apicid 0 vector 176",
            "kvm_msr: msr_write 80b = 0x0",
            "kvm_entry: vcpu 0, rip 0x4007d0",
            &exit("msr", "0x400bb8", 1),
        ]
    );
    assert!(text.contains("vcpu0-1 [000] d....     0.000001000: kvm_exit"));
    // What the processor did by itself is no exit, and no entry.
    let other: Vec<_> = text.lines().filter(|line| line.contains("vcpu1-2")).collect();
    let entries = other.iter().filter(|line| line.contains("kvm_entry")).count();
    assert_eq!((entries, other.iter().filter(|line| line.contains("kvm_exit")).count()), (1, 1));
}

#[test]
fn the_json_has_a_slice_an_exit_and_both_ends_of_each_arrow() {
    let trace = trace();
    let tracks = tracks(&trace);
    let text = chrome::json(&trace, &tracks, &arrows(&trace, &tracks));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let count = |ph: &str, cat: &str| {
        events.iter().filter(|e| e["ph"] == ph && (cat.is_empty() || e["cat"] == cat)).count()
    };
    assert_eq!(count("X", "exit"), 6);
    assert_eq!(count("X", "guest"), 6);
    assert_eq!((count("s", ""), count("f", "")), (2, 2));
    let exit = events.iter().find(|e| e["name"] == "msr 0x830:W").unwrap();
    assert_eq!((exit["ts"].as_f64(), exit["dur"].as_f64()), (Some(1.0), Some(0.5)));
    let ends: Vec<_> = events.iter().filter(|e| e["ph"] == "f").map(|e| &e["ts"]).collect();
    assert_eq!(ends, [1.8, 3.2]);
}

/// Reads the top level of the file: packets, and which of their fields are there.
#[test]
fn the_protobuf_is_packets_of_one_sequence_by_time() {
    let trace = trace();
    let tracks = tracks(&trace);
    let bytes = perfetto::bytes(&trace, &tracks, &arrows(&trace, &tracks));
    let mut rest = &bytes[..];
    let varint = |rest: &mut &[u8]| {
        let mut value = 0u64;
        for shift in (0..).step_by(7) {
            let byte = rest[0];
            *rest = &rest[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
        }
        value
    };
    let (mut packets, mut last) = (0, 0);
    while !rest.is_empty() {
        assert_eq!(varint(&mut rest), 1 << 3 | 2);
        let length = varint(&mut rest) as usize;
        let mut packet = &rest[..length];
        rest = &rest[length..];
        packets += 1;
        if packet[0] == 8 << 3 {
            packet = &packet[1..];
            let at = varint(&mut packet);
            assert!(at >= last);
            last = at;
        }
    }
    // Process and two tracks; two ends of 12 slices; 4 + 3 marks and an ICR; two ends of two arrows.
    assert_eq!(packets, 3 + 24 + 8 + 4);
}
