use super::*;
use crate::snapshot::tests::{row, snapshot};

fn differences(change: impl FnOnce(&mut Snapshot)) -> Vec<String> {
    let mut seen = snapshot();
    change(&mut seen);
    compare(&snapshot(), &seen).differences.iter().map(ToString::to_string).collect()
}

fn rebuilt(change: impl FnOnce(&mut Snapshot)) -> Vec<String> {
    differences(|s| {
        s.built.core = "c2".into();
        change(s);
    })
}

#[test]
fn the_same_run_holds_without_notes() {
    assert_eq!(compare(&snapshot(), &snapshot()), Comparison::default());
}

#[test]
fn one_exit_more_differs_whatever_was_built() {
    let more = |s: &mut Snapshot| s.windows[0].exits[0] = row("hlt", 101, 300);
    let expected = ["window loop, vCPU 0: count of hlt: golden 100, seen 101"];
    assert_eq!(differences(more), expected);
    assert_eq!(rebuilt(more), expected);
}

#[test]
fn a_new_and_a_vanished_kind_of_exit_are_both_named() {
    let swap = |s: &mut Snapshot| s.windows[0].exits[0] = row("vintr", 100, 300);
    assert_eq!(
        rebuilt(swap),
        [
            "window loop, vCPU 0: count of vintr: golden 0, seen 100",
            "window loop, vCPU 0: count of hlt: golden 100, seen 0",
        ]
    );
}

#[test]
fn one_tick_differs_when_the_same_code_was_measured() {
    assert_eq!(
        differences(|s| s.windows[0].ticks += 1),
        ["window loop, vCPU 0: length in ticks: golden 100000, seen 100001"]
    );
    assert_eq!(differences(|s| s.windows[0].exits[1].figures.max += 1).len(), 1);
    assert_eq!(differences(|s| s.windows[0].exits[1].figures.sum_squares += 1).len(), 1);
    assert_eq!(differences(|s| s.windows[0].exits[1].figures.histogram[0] += 1).len(), 1);
    assert_eq!(differences(|s| s.values[1].value += 1).len(), 1);
}

#[test]
fn ten_percent_are_allowed_when_other_code_was_measured_and_not_a_tick_more() {
    assert!(rebuilt(|s| s.windows[0].ticks = 110_000).is_empty());
    assert!(rebuilt(|s| s.windows[0].ticks = 90_000).is_empty());
    assert_eq!(rebuilt(|s| s.windows[0].ticks = 110_001).len(), 1);
    assert_eq!(rebuilt(|s| s.windows[0].ticks = 89_999).len(), 1);
    assert!(rebuilt(|s| s.windows[0].exits[0] = row("hlt", 100, 330)).is_empty());
    assert_eq!(rebuilt(|s| s.windows[0].exits[0] = row("hlt", 100, 331)).len(), 1);
    assert!(rebuilt(|s| s.values[1].value = 550).is_empty());
    assert_eq!(rebuilt(|s| s.values[1].value = 551).len(), 1);
}

#[test]
fn values_that_are_no_ticks_are_exact_whatever_was_built() {
    assert_eq!(rebuilt(|s| s.values[0].value = 101), ["value ipis, vCPU 0: golden 100, seen 101"]);
}

#[test]
fn the_note_says_what_was_built_differently() {
    let mut seen = snapshot();
    seen.built.core = "c2".into();
    seen.built.qemu = "10.1.0".into();
    let note = compare(&snapshot(), &seen).notes.concat();
    assert!(
        note.contains("within 10 %: hv-core differs, QEMU 10.1.0 differs from 10.0.2"),
        "{note}"
    );
}

#[test]
fn outcome_windows_and_value_names_are_compared() {
    assert_eq!(rebuilt(|s| s.outcome = "stuck".into()), ["outcome: golden done, seen stuck"]);
    assert_eq!(rebuilt(|s| s.windows.clear()), ["windows: golden [window loop, vCPU 0], seen []"]);
    assert_eq!(rebuilt(|s| drop(s.values.pop())).len(), 1);
}
