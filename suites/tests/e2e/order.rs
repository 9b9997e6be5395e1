//! The order of exits: of one self-IPI with STI;HLT as in the trace of seeds/003 (ICR write, HLT,
//! interrupt window, EOI), and of every window as QEMU logged it.

use crate::laboratory::Laboratory;
use std::collections::BTreeMap;
use trapline::oracle::{LoggedExit, Marks, read};
use trapline::suite::{Budget, Scenario};
use trapline::target::Start;
use trapline_abi::exit::{self, ExitKey};
use trapline_abi::record::Outcome;

const NAME: &str = "self-ipi::x2apic-icr-hlt";

fn icr() -> ExitKey {
    ExitKey::access(exit::MSR, 0x830, true)
}

fn eoi() -> ExitKey {
    ExitKey::access(exit::MSR, 0x80b, true)
}

fn one_ipi() -> [ExitKey; 4] {
    let plain = |name| ExitKey::plain(exit::code(name).unwrap());
    [icr(), plain("hlt"), plain("vintr"), eoi()]
}

/// The exits of each window, payload calls left out.
fn windows(exits: &[LoggedExit], marks: &Marks) -> Vec<Vec<LoggedExit>> {
    let called = |exit: &LoggedExit| exit.code == exit::VMMCALL && marks.calls.contains(&exit.rip);
    let mut windows = Vec::new();
    let mut open = None;
    for exit in exits {
        if !called(exit) {
            open.iter_mut().for_each(|window: &mut Vec<_>| window.push(*exit));
        } else if Some(exit.rip) == marks.begin {
            open = Some(Vec::new());
        } else if Some(exit.rip) == marks.end {
            windows.extend(open.take());
        }
    }
    windows
}

/// hv-core's ring of last exits, from a scenario that is ended in the middle of its window: which
/// exit each guest instruction makes. QEMU's log has no MSR numbers.
fn ring(laboratory: &Laboratory, scenario: &Scenario) -> Vec<(u64, ExitKey)> {
    let budget = Budget { exits: 250, ..scenario.budget };
    let cut = Scenario { budget, ..scenario.clone() };
    let run = laboratory.run("cut", &[cut]).transcript.scenarios.remove(0);
    assert_eq!(run.end.unwrap().outcome, Outcome::ExitBudget);
    run.postmortem[0].last.iter().map(|last| (last.rip, last.key)).collect()
}

#[test]
fn each_ipi_is_icr_write_hlt_window_and_eoi_in_qemus_log() {
    let laboratory = Laboratory::new();
    let scenario = laboratory.scenario(NAME);
    let n = scenario.params.get("n").unwrap().value as usize;
    let run = laboratory.run_as("logged", std::slice::from_ref(scenario), Start::Qboot, true);
    let exits = read(&run.dir.join("oracle.log")).unwrap();
    let marks = Marks::read(&laboratory.catalogue.get(&scenario.payload).unwrap().path).unwrap();

    let made_by: BTreeMap<_, _> = ring(&laboratory, scenario).into_iter().collect();
    let named = |exit: &LoggedExit| {
        if exit.code == exit::MSR {
            assert_eq!(exit.info1, 1, "only writes: {exit:x?}");
            *made_by.get(&exit.rip).unwrap_or_else(|| panic!("not in the ring: {exit:x?}"))
        } else {
            ExitKey::plain(exit.code)
        }
    };
    let seen: Vec<_> = windows(&exits, &marks)[0].iter().map(named).collect();
    assert_eq!(seen, one_ipi().repeat(n));
}

#[test]
fn hv_cores_last_exits_are_in_the_same_order() {
    let laboratory = Laboratory::new();
    let last = ring(&laboratory, laboratory.scenario(NAME));
    assert_eq!(last.len(), 64);
    let first = last.iter().position(|(_, key)| *key == icr()).unwrap();
    for (at, (_, key)) in last[first..].iter().enumerate() {
        assert_eq!(*key, one_ipi()[at % 4], "exit {at} of {last:x?}");
    }
}

#[test]
fn the_order_that_hv_core_reports_is_qemus_in_every_window() {
    let laboratory = Laboratory::new();
    let mut scenarios = laboratory.tame().concat();
    // The log names no core.
    scenarios.retain(|scenario| scenario.vcpus == 1);
    let run = laboratory.run_as("logged", &scenarios, Start::Qboot, true);
    let exits = read(&run.dir.join("oracle.log")).unwrap();
    let mut rest = &exits[..];
    let mut compared = 0;
    for (scenario, run) in scenarios.iter().zip(&run.transcript.scenarios) {
        let traps: u64 = run.traps.iter().map(|trap| trap.count).sum();
        let (mine, later) = rest.split_at(traps as usize);
        rest = later;
        let path = &laboratory.catalogue.get(&scenario.payload).unwrap().path;
        let logged = windows(mine, &Marks::read(path).unwrap());
        assert_eq!(logged.len(), run.windows.len(), "{}", run.name);
        for (logged, window) in logged.iter().zip(&run.windows) {
            let logged: Vec<_> = logged.iter().map(|exit| exit.code).collect();
            let reported: Vec<_> = window.order.iter().map(|key| key.code()).collect();
            if run.silicon.is_modeled() {
                let (name, label) = (&run.name, &window.label);
                assert!(
                    come_from(&reported, &logged),
                    "{name} {label}: {reported:x?} of {logged:x?}"
                );
                compared += reported.len();
                continue;
            }
            // The ring holds 64, the end mark among them.
            assert_eq!(reported.len(), logged.len().min(63), "{} {}", run.name, window.label);
            assert!(logged.ends_with(&reported), "{} {}", run.name, window.label);
            compared += reported.len();
        }
    }
    assert!(compared > 1000, "{compared} exits compared");
}

/// Whether exits of modeled silicon come from traps in this order: each is one of the traps, or made of
/// one, and the traps in between were absorbed.
fn come_from(exits: &[u64], traps: &[u64]) -> bool {
    let mut traps = traps.iter();
    exits.iter().all(|&exit| match exit {
        // What ends a halt in the processor, and a VMRUN that is refused, is no trap.
        0x60 | u64::MAX => true,
        0x401 | 0x402 => traps.any(|&trap| matches!(trap, 0x400 | 0x7c)),
        0xa6 => traps.any(|&trap| trap == 0x78),
        same => traps.any(|&trap| trap == same),
    })
}
