//! `trapline list`, `show` and `compare`.

use crate::fixture::{Workspace, stream};

#[test]
fn list_names_scenarios_and_payloads_without_running_anything() {
    let workspace = Workspace::new();
    workspace.script("echo this must not run; exit 1");
    let ended = workspace.trapline(&["list"]).expect(0, &["self-ipi::hlt", "IPIs."]);
    assert_eq!(ended.out.lines().count(), 1);
    workspace.trapline(&["list", "--payloads"]).expect(
        0,
        &[
            "self-ipi         Sends IPIs.",
            "How many. (number, 1000 by default)",
            "How it waits. (hlt | nop, hlt by default)",
        ],
    );
    assert_eq!(workspace.trapline(&["list", "zzz"]).expect(0, &[]).out, "");
}

#[test]
fn show_prints_the_last_result_again() {
    let workspace = Workspace::new();
    let run = workspace.trapline(&["run", "--no-golden"]).expect(0, &[]);
    let shown = workspace.trapline(&["show"]).expect(0, &[]);
    let without_time = |text: &str| text.rsplit_once(" passed").map(|(front, _)| front.to_owned());
    assert_eq!(without_time(&shown.out), without_time(&run.out));
    let json = workspace.trapline(&["show", "--format", "json"]).expect(0, &[]);
    assert_eq!(json.out, workspace.read(".trapline/last.json"));
    workspace.trapline(&["show", "zzz"]).expect(2, &["none of the result's 1 scenarios matches"]);
}

#[test]
fn a_reader_that_stops_early_is_no_accident() {
    let workspace = Workspace::new();
    workspace.trapline(&["run", "--no-golden"]).expect(0, &[]);
    let ended = workspace.shell("$TRAPLINE show --format json | true").expect(0, &[]);
    assert_eq!(ended.err, "");
}

#[test]
fn compare_ends_with_1_when_something_differs() {
    let workspace = Workspace::new();
    workspace.trapline(&["run", "--no-golden", "--output", "a.json"]).expect(0, &[]);
    workspace.trapline(&["bless"]).expect(0, &[]);
    workspace
        .trapline(&["compare", "golden", "last"])
        .expect(0, &["SAME self-ipi::hlt", "no differences"]);
    workspace.stream(&stream(10, 18_000));
    workspace.trapline(&["run", "--no-golden"]).expect(0, &[]);
    for a in ["golden", "a.json"] {
        workspace
            .trapline(&["compare", a, "last"])
            .expect(1, &["length in ticks: A 9000, B 18000", "2.000", "1 scenario differs"]);
    }
    workspace.trapline(&["compare", "a.json", "none.json"]).expect(2, &["none.json"]);
}
