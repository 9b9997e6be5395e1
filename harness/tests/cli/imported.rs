//! `trapline compare` with what perf printed.

use crate::fixture::Workspace;
use crate::importing::{REPORT, data};
use std::fs;

#[test]
fn compare_sets_an_import_beside_a_scenario() {
    let workspace = Workspace::new();
    workspace.trapline(&["run", "--no-golden"]).expect(0, &[]);
    fs::write(workspace.path("report.txt"), REPORT).unwrap();
    let same = workspace.trapline(&["compare", "report.txt", "last"]);
    let same = same.expect(0, &["B: last#self-ipi::hlt", "no counts differ"]);
    let row = same.out.lines().find(|line| line.trim_start().starts_with("hlt ")).unwrap();
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!(cells[..7], ["hlt", "10", "10", "1.000", "33.33%", "33.33%", "0.40us"]);
    workspace
        .trapline(&["compare", "last#self-ipi::hlt", &format!("{}#1", data("backing-page.txt"))])
        .expect(1, &["interrupt", "10042", "8 counts differ"]);
    workspace.trapline(&["compare", "last#self-ipi::hlt", "last"]).expect(0, &["no counts differ"]);
    workspace.trapline(&["bless"]).expect(0, &[]);
    workspace
        .trapline(&["compare", "report.txt", "golden#self-ipi::hlt"])
        .expect(0, &["B: golden#self-ipi::hlt", "no counts differ", "hlt A ███"]);
    workspace
        .trapline(&["compare", "report.txt", "golden#self-ipi::hlr"])
        .expect(2, &["golden has no `self-ipi::hlr` among its scenarios", "golden#self-ipi::hlt"]);
    // A result may still come through a pipe.
    workspace
        .shell("cat .trapline/last.json | $TRAPLINE compare last /dev/stdin")
        .expect(0, &["SAME self-ipi::hlt"]);
}

#[test]
fn compare_sets_two_imports_beside_each_other() {
    let workspace = Workspace::new();
    let (text, json) = (data("backing-page.txt"), workspace.path("seed.json"));
    let json = json.to_str().unwrap();
    workspace.trapline(&["import", "perf", &text, "-o", json]).expect(0, &[]);
    let of = |file: &str, table: u32| format!("{file}#{table}");
    workspace
        .trapline(&["compare", &of(&text, 1), &of(json, 1)])
        .expect(0, &["no counts differ", "15147"]);
    let ended = workspace.trapline(&["compare", &of(json, 1), &of(json, 2)]);
    ended.expect(1, &["54220.286", "avic_incomplete_ipi", "126.134"]);
    let idle = data("idle-hlt.txt");
    workspace
        .trapline(&["compare", &of(&idle, 1), &of(&idle, 2)])
        .expect(1, &["1048373", "0.59us", "?", "note: A is not whole"]);
}

#[test]
fn compare_says_what_could_be_named() {
    let workspace = Workspace::new();
    workspace.trapline(&["run", "--no-golden"]).expect(0, &[]);
    let seed = data("rtc-clock.txt");
    let (ports, exits) = (format!("{seed}#2"), format!("{seed}#1"));
    for (a, b, texts) in [
        (seed.as_str(), "last", &["has 5 tables of perf: name one", "#5 (line "][..]),
        (&format!("{seed}#6"), "last", &["has no `6` among its tables of perf"]),
        (&exits, "last#self-ipi::no", &["has no `self-ipi::no`", "last#self-ipi::hlt"]),
        (&exits, &ports, &["A counts VM-EXIT, B counts IO Port Access"]),
        (&exits, "golden", &["cannot list goldens"]),
        (&data("hackbench.txt"), "last", &["has no tables of perf"]),
    ] {
        workspace.trapline(&["compare", a, b]).expect(2, texts);
    }
    fs::write(workspace.path("old.json"), "{\"kind\": \"perf-import\", \"format\": 0}").unwrap();
    workspace
        .trapline(&["compare", "old.json", "last"])
        .expect(2, &["old.json is no import of this version"]);
}
