//! `trapline compare` with a budget, as JSON, and as `git bisect run` wants it.

use crate::fixture::{Ended, Workspace, stream};
use std::fs;

/// A workspace with `old.json`, and `new.json` of a run with that many HLT exits and ticks.
fn workspace(hlts: u64, ticks: u64) -> Workspace {
    let workspace = Workspace::new();
    workspace.trapline(&["run", "--no-golden", "--output", "old.json"]).expect(0, &[]);
    workspace.stream(&stream(hlts, ticks));
    let code = i32::from(hlts != 10);
    workspace.trapline(&["run", "--no-golden", "--output", "new.json"]).expect(code, &[]);
    workspace
}

fn compare(workspace: &Workspace, more: &[&str]) -> Ended {
    workspace.trapline(&[&["compare", "old.json", "new.json"], more].concat())
}

#[test]
fn a_budget_decides_what_is_worse() {
    let workspace = workspace(11, 9300);
    compare(&workspace, &["--budget", "exits=0%,ticks=5%"]).expect(
        1,
        &[
            "significance: exact",
            "WORSE self-ipi::hlt  exits 30 -> 31 (1.033), ticks 9000 -> 9300 (1.033)",
            "exits: 30 -> 31, +3.33 %, exits=0% allowed",
            "hlt                                       10 -> 11        (1.100)",
            "1 of 1 scenarios worse than the budget",
        ],
    );
    compare(&workspace, &["--budget", "exits=1,ticks=5%"])
        .expect(0, &["OK    self-ipi::hlt", "0 of 1 scenarios worse"]);
    compare(&workspace, &["--budget", "exitz=1"]).expect(2, &["did you mean `exits`"]);
    let back = ["compare", "new.json", "old.json", "--budget", "exits=0%,ticks=0%"];
    workspace.trapline(&back).expect(0, &["0 of 1 scenarios worse"]);
}

#[test]
fn json_has_the_figures_and_the_verdict() {
    let workspace = workspace(11, 9000);
    let json = compare(&workspace, &["--format", "json"]).expect(1, &[]).out;
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let scenario = &value["scenarios"][0];
    assert_eq!(scenario["name"], "self-ipi::hlt");
    assert_eq!(scenario["exits"]["new"], 31.0);
    assert_eq!(scenario["rows"][0]["exit"], "hlt");
    assert_eq!(scenario["worse"].as_array().unwrap().len(), 1);
    assert_eq!(value["budget"][0], "exits=0%");
}

#[test]
fn a_bisection_gets_good_bad_and_untestable() {
    let same = workspace(10, 9000);
    compare(&same, &["--bisect"]).expect(0, &["0 of 1"]);
    let worse = workspace(11, 9000);
    compare(&worse, &["--bisect"]).expect(1, &["1 of 1"]);
    compare(&worse, &["--bisect", "--budget", "exits=1"]).expect(0, &[]);
    for new in ["", "{\"format\": 99}", "{}"] {
        fs::write(worse.path("new.json"), new).unwrap();
        compare(&worse, &["--bisect"]).expect(125, &["error: "]);
    }
    fs::remove_file(worse.path("new.json")).unwrap();
    compare(&worse, &["--bisect"]).expect(125, &["there is no result at new.json"]);
    compare(&worse, &["--bisect", "--budget", "exits=much"]).expect(125, &["is no limit"]);
    compare(&worse, &["--bisect", "--no-such"]).expect(125, &["--no-such"]);
    // A run whose records are damaged is no bad commit.
    let lost = Workspace::new();
    lost.trapline(&["run", "--no-golden", "--output", "old.json"]).expect(0, &[]);
    let good = stream(10, 9000);
    lost.stream(&good[..good.len() / 2]);
    lost.trapline(&["run", "--no-golden", "--output", "new.json"]).expect(2, &[]);
    compare(&lost, &["--bisect"]).expect(125, &["new.json has no result of self-ipi::hlt"]);
    compare(&lost, &["--budget", "exits=0%"]).expect(2, &["new.json has no result of"]);
}

#[test]
fn git_bisect_run_finds_the_commit_and_skips_what_cannot_be_tested() {
    let workspace = workspace(11, 9000);
    // Eight commits with a result each: the sixth made it worse, and the fourth has none.
    workspace
        .shell(
            "set -e; mkdir repo; cd repo; git init -q; git config user.email a@b; git config user.name n
            for i in 1 2 3 4 5 6 7 8; do
                echo $i > number
                case $i in [1-3]|5) cp ../old.json r.json;; 4) echo {} > r.json;; *) cp ../new.json r.json;; esac
                git add -A; git commit -qm \"commit $i\"
            done
            git bisect start HEAD HEAD~7
            git bisect run $TRAPLINE compare ../old.json r.json --bisect",
        )
        .expect(0, &["is the first bad commit", "commit 6"]);
}
