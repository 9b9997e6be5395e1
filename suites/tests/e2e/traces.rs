//! Traces: a traced vCPU does what it does untraced, and its trace holds every trap that QEMU saw.

use crate::laboratory::Laboratory;
use std::collections::BTreeMap;
use trapline::suite::Scenario;
use trapline::transcript::ScenarioRun;
use trapline_abi::trace::Event;

/// Scenarios of one vCPU and of several that take turns, with and without modeled silicon.
const NAMES: [&str; 6] = [
    "self-ipi::x2apic-icr-hlt",
    "self-ipi::x2apic-icr-nop",
    "avic::self-ipi-x2avic",
    "avic::self-ipi-xavic-hlt",
    "avic::ipi-x2apic-hlt",
    "ipi::xapic-hlt",
];

/// The counts of each window, times aside. A physical interrupt is the host's own business.
fn counts(run: &ScenarioRun) -> BTreeMap<(u16, String), u64> {
    let rows = run.windows.iter().flat_map(|window| {
        window.rows.iter().filter(|row| row.key.code() != 0x60).map(|row| {
            let name = trapline_abi::exit::name(row.key.code());
            ((window.vcpu, format!("{} {name} {}", window.label, row.key)), row.stats.count)
        })
    });
    rows.collect()
}

#[test]
fn a_traced_scenario_counts_the_same_and_tells_every_trap() {
    let laboratory = Laboratory::new();
    let plain: Vec<Scenario> = NAMES.map(|name| laboratory.scenario(name).clone()).to_vec();
    let traced: Vec<_> = plain.iter().map(|s| Scenario { trace: true, ..s.clone() }).collect();
    let plain = laboratory.run("plain", &plain).transcript.scenarios;
    let traced = laboratory.run("traced", &traced).transcript.scenarios;
    for (plain, traced) in plain.iter().zip(&traced) {
        let name = &plain.name;
        assert!(plain.events.is_empty(), "{name}");
        assert_eq!(counts(plain), counts(traced), "{name}");
        assert_eq!(plain.checks, traced.checks, "{name}");
        // Traps of each vCPU by code are what QEMU's log is held against elsewhere.
        let mut told = BTreeMap::<u16, u64>::new();
        for (vcpu, event) in &traced.events {
            if let Event::Trap(_) = event {
                *told.entry(*vcpu).or_default() += 1;
            }
        }
        let mut counted = BTreeMap::<u16, u64>::new();
        for trap in &traced.traps {
            *counted.entry(trap.vcpu).or_default() += trap.count;
        }
        counted.retain(|_, count| *count > 0);
        assert_eq!(told, counted, "{name}");
    }
}

#[test]
fn the_time_of_a_trace_never_runs_backwards() {
    let laboratory = Laboratory::new();
    let scenario = Scenario { trace: true, ..laboratory.scenario("ipi::xapic-hlt").clone() };
    let run = laboratory.run("traced", &[scenario]).transcript.scenarios.remove(0);
    let mut last = BTreeMap::<u16, u64>::new();
    for (vcpu, event) in &run.events {
        let last = last.entry(*vcpu).or_default();
        assert!(event.at() >= *last, "vCPU {vcpu}: {event:x?} after {last:#x}");
        *last = event.at();
    }
    assert_eq!(last.len(), 2);
}
