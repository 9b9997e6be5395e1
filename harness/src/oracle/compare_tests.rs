use super::*;
use crate::transcript::{Row, Stats, Trap, Window};
use trapline_abi::exit::{CPUID, ExitKey, MSR, VMMCALL};

const BEGIN: u64 = 0x10_0010;
const END: u64 = 0x10_0020;
const CALL: u64 = 0x10_0030;
const HLT: u64 = 0x78;

fn marks() -> Marks {
    Marks { begin: Some(BEGIN), end: Some(END), calls: vec![BEGIN, END, CALL] }
}

fn logged(exits: &[(u64, u64)]) -> Vec<LoggedExit> {
    exits.iter().map(|&(code, rip)| LoggedExit { code, info1: 0, info2: 0, rip }).collect()
}

fn run(name: &str, traps: &[(u64, u64)], windows: &[&[(ExitKey, u64)]]) -> ScenarioRun {
    let row =
        |&(key, count): &(ExitKey, u64)| Row { key, stats: Stats { count, ..Stats::default() } };
    let window = |rows: &&[(ExitKey, u64)]| Window {
        vcpu: 0,
        label: "w".into(),
        ticks: 0,
        rows: rows.iter().map(row).collect(),
        order: Vec::new(),
    };
    ScenarioRun {
        name: name.into(),
        traps: traps.iter().map(|&(code, count)| Trap { vcpu: 0, code, count }).collect(),
        windows: windows.iter().map(window).collect(),
        ..ScenarioRun::default()
    }
}

fn of(exits: &[LoggedExit], runs: Vec<ScenarioRun>) -> Vec<String> {
    let transcript = Transcript { scenarios: runs, ..Transcript::default() };
    let marks = marks();
    compare(exits, &transcript, |_| Some(&marks)).iter().map(ToString::to_string).collect()
}

/// Two scenarios; the second has an ordinary VMMCALL in its window, and a call that is no mark.
fn log() -> Vec<LoggedExit> {
    logged(&[
        (CPUID, 1),
        (VMMCALL, BEGIN),
        (MSR, 2),
        (HLT, 3),
        (MSR, 2),
        (VMMCALL, END),
        (VMMCALL, CALL),
        (VMMCALL, BEGIN),
        (VMMCALL, 5),
        (VMMCALL, CALL),
        (VMMCALL, END),
    ])
}

fn runs() -> Vec<ScenarioRun> {
    let write = ExitKey::access(MSR, 0x830, true);
    let read = ExitKey::access(MSR, 0x830, false);
    vec![
        run(
            "s::a",
            &[(CPUID, 1), (VMMCALL, 3), (MSR, 2), (HLT, 1)],
            &[&[(write, 1), (read, 1), (ExitKey::plain(HLT), 1)]],
        ),
        run("s::b", &[(VMMCALL, 4)], &[&[(ExitKey::number(VMMCALL, 7), 1)]]),
    ]
}

#[test]
fn agreement_is_silence() {
    assert_eq!(of(&log(), runs()), [""; 0]);
}

#[test]
fn a_wrong_row_is_found_in_its_window() {
    let mut runs = runs();
    runs[0].windows[0].rows[2].stats.count = 2;
    assert_eq!(
        of(&log(), runs),
        ["in `s::a`, window `w`: QEMU logged 1 hlt (0x78), hv-core counted 2"]
    );
}

#[test]
fn an_exit_on_the_wrong_side_of_a_mark_is_found() {
    let mut exits = log();
    exits.swap(0, 1);
    assert_eq!(
        of(&exits, runs()),
        ["in `s::a`, window `w`: QEMU logged 1 cpuid (0x72), hv-core counted 0"]
    );
}

#[test]
fn a_lost_trap_is_found_in_the_total() {
    let mut runs = runs();
    runs[0].traps[2].count = 1;
    assert_eq!(
        of(&log(), runs),
        [
            "in all: QEMU logged 2 msr (0x7c), hv-core counted 1",
            "in all: QEMU logged 11 exits, hv-core counted 10",
        ]
    );
}

#[test]
fn traps_booked_to_another_scenario_are_found() {
    let mut runs = runs();
    runs[0].traps[3].count = 0;
    runs[1].traps.push(Trap { vcpu: 0, code: HLT, count: 1 });
    assert!(!of(&log(), runs).is_empty());
}

#[test]
fn a_missing_window_and_an_unpaired_mark_are_found() {
    let mut fewer = runs();
    fewer[1].windows.clear();
    assert_eq!(of(&log(), fewer), ["in `s::b`: QEMU logged 1 windows, hv-core 0"]);
    let mut exits = log();
    exits[5].rip = CALL;
    let differences = of(&exits, runs());
    assert!(
        differences.contains(&"in `s::a`: QEMU logged 0 windows, hv-core 1".into()),
        "{differences:?}"
    );
    exits[5].rip = BEGIN;
    let differences = of(&exits, runs());
    assert!(differences.contains(&"in `s::a`: the window mark at 0x100010 has no partner".into()));
}

#[test]
fn unknown_marks_are_said() {
    let transcript = Transcript { scenarios: runs(), ..Transcript::default() };
    let differences = compare(&log(), &transcript, |_| None);
    assert_eq!(differences.len(), 2);
}
