//! QEMU logs every VM exit by itself; hv-core must have counted the same.

use crate::laboratory::Laboratory;
use std::collections::{BTreeMap, BTreeSet};
use trapline::oracle::{Difference, LoggedExit, Marks, compare, read};
use trapline::suite::Scenario;
use trapline::target::Start;
use trapline::transcript::{ScenarioRun, Transcript};

/// A boot, QEMU's log of it, and where the windows of each scenario's payload are.
struct Logged {
    exits: Vec<LoggedExit>,
    transcript: Transcript,
    marks: BTreeMap<String, Marks>,
}

impl Logged {
    fn new(laboratory: &Laboratory, scenarios: &[Scenario]) -> Self {
        let run = laboratory.run_as("logged", scenarios, Start::Qboot, true);
        let marks = |scenario: &Scenario| {
            let payload = laboratory.catalogue.get(&scenario.payload).unwrap();
            (scenario.full_name(), Marks::read(&payload.path).unwrap())
        };
        Self {
            exits: read(&run.dir.join("oracle.log")).unwrap(),
            transcript: run.transcript,
            marks: scenarios.iter().map(marks).collect(),
        }
    }

    fn differences(&self, transcript: &Transcript) -> Vec<Difference> {
        compare(&self.exits, transcript, |run| self.marks.get(&run.name))
    }

    /// What is found when a false count is put into the transcript.
    fn doctored(&self, scenario: usize, falsify: impl FnOnce(&mut ScenarioRun)) -> Vec<Difference> {
        let mut transcript = self.transcript.clone();
        falsify(&mut transcript.scenarios[scenario]);
        self.differences(&transcript)
    }
}

/// Of so many parts every scenario is in one: QEMU's log of all of them takes minutes to write and read.
const PARTS: usize = 4;

#[test]
fn hv_core_counts_what_qemu_logs_in_the_first_part() {
    agrees_in_every_scenario_and_window(0);
}

#[test]
fn hv_core_counts_what_qemu_logs_in_the_second_part() {
    agrees_in_every_scenario_and_window(1);
}

#[test]
fn hv_core_counts_what_qemu_logs_in_the_third_part() {
    agrees_in_every_scenario_and_window(2);
}

#[test]
fn hv_core_counts_what_qemu_logs_in_the_fourth_part() {
    agrees_in_every_scenario_and_window(3);
}

fn agrees_in_every_scenario_and_window(part: usize) {
    let laboratory = Laboratory::new();
    let scenarios: Vec<_> =
        laboratory.scenarios.iter().skip(part).step_by(PARTS).cloned().collect();
    let logged = Logged::new(&laboratory, &scenarios);
    let found: Vec<_> =
        logged.differences(&logged.transcript).iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    // Not vacuous: exits were logged, and there are windows with rows.
    let rows =
        |run: &ScenarioRun| run.windows.iter().map(|window| window.rows.len()).sum::<usize>();
    let rows: usize = logged.transcript.scenarios.iter().map(rows).sum();
    assert_eq!(logged.transcript.scenarios.len(), scenarios.len());
    assert!(logged.exits.len() > 10_000 && rows > 50, "{} exits, {rows} rows", logged.exits.len());
}

#[test]
fn one_false_count_in_any_window_or_total_is_noticed() {
    let laboratory = Laboratory::new();
    // What notices a false count is the same code for all.
    for scenarios in laboratory.every(3) {
        // Each count is falsified in a boot of few scenarios: what is compared is the whole of it.
        for few in scenarios.chunks(12) {
            notices_one_false_count(&laboratory, few);
        }
    }
}

fn notices_one_false_count(laboratory: &Laboratory, scenarios: &[Scenario]) {
    let logged = Logged::new(laboratory, scenarios);
    assert_eq!(logged.differences(&logged.transcript), []);
    for (place, run) in logged.transcript.scenarios.iter().enumerate() {
        let mut codes = BTreeSet::new();
        for trap in 0..run.traps.len() {
            // Totals are compared by code: one vCPU's stands for those of all.
            if !codes.insert(run.traps[trap].code) {
                continue;
            }
            let found = logged.doctored(place, |run| run.traps[trap].count += 1);
            assert!(!found.is_empty(), "one more {:#x} in {}", run.traps[trap].code, run.name);
        }
        // The log names no core, so the rows of several vCPUs' windows cannot be told apart in it; and
        // where silicon is modeled, rows are not traps.
        let is_alone = !run.silicon.is_modeled() && run.traps.iter().all(|trap| trap.vcpu == 0);
        // Their windows are only numbered: one stands for all.
        let windows = if is_alone { run.windows.len() } else { run.windows.len().min(1) };
        for (at, window) in run.windows.iter().enumerate().take(windows) {
            for (row, seen) in window.rows.iter().enumerate().filter(|_| is_alone) {
                let found = logged.doctored(place, |run| {
                    run.windows[at].rows[row].stats.count -= 1;
                });
                let name = Some(&window.label);
                let named = |difference: &Difference| match difference {
                    Difference::Count { scenario, window, code, .. } => {
                        *scenario == run.name && window.as_ref() == name && *code == seen.key.code()
                    }
                    _ => false,
                };
                assert!(found.iter().all(named) && found.len() == 1, "{found:?}");
            }
            let found = logged.doctored(place, |run| drop(run.windows.remove(at)));
            assert!(!found.is_empty(), "window {} of {} left out", window.label, run.name);
        }
    }
}

#[test]
fn an_exit_moved_to_the_next_scenario_or_lost_from_the_log_is_noticed() {
    let laboratory = Laboratory::new();
    let scenarios = ["self-ipi::x2apic-icr-hlt", "self-ipi::x2apic-icr-nop"]
        .map(|name| laboratory.scenario(name).clone());
    let mut logged = Logged::new(&laboratory, &scenarios);
    assert_eq!(logged.differences(&logged.transcript), []);
    let mut moved = logged.transcript.clone();
    let count = |run: &mut ScenarioRun, by: i64| {
        let trap = run.traps.iter_mut().find(|trap| trap.code == 0x7c).unwrap();
        trap.count = trap.count.checked_add_signed(by).unwrap();
    };
    count(&mut moved.scenarios[0], -1);
    count(&mut moved.scenarios[1], 1);
    assert!(!logged.differences(&moved).is_empty());
    logged.exits.remove(logged.exits.len() / 2);
    assert!(!logged.differences(&logged.transcript).is_empty());
}
