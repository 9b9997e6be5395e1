//! `trapline bless`, and runs against goldens.

use crate::fixture::{Workspace, stream};
use std::fs;

const GOLDEN: &str = "golden/tcg-icount/self-ipi/hlt.snap";

fn blessed() -> Workspace {
    let workspace = Workspace::new();
    workspace
        .trapline(&["run"])
        .expect(1, &["there is no golden", "run `trapline bless`", "1 of them broke no rule"]);
    workspace.trapline(&["bless"]).expect(0, &["1 goldens written, 0 already said the same"]);
    workspace
}

#[test]
fn a_blessed_run_holds_and_blessing_it_again_changes_nothing() {
    let workspace = blessed();
    workspace.trapline(&["run"]).expect(0, &["PASS"]);
    let golden = workspace.read(GOLDEN);
    assert!(golden.starts_with("---\nsource: "), "insta's header: {golden}");
    workspace.trapline(&["bless"]).expect(0, &["0 goldens written, 1 already said the same"]);
    assert_eq!(workspace.read(GOLDEN), golden);
}

#[test]
fn one_tick_differs_from_the_golden_and_the_golden_stays() {
    let workspace = blessed();
    let golden = workspace.read(GOLDEN);
    workspace.stream(&stream(10, 9001));
    workspace.trapline(&["run"]).expect(
        1,
        &["FAIL", "golden: window loop, vCPU 0: length in ticks: golden 9000, seen 9001"],
    );
    assert_eq!(workspace.read(GOLDEN), golden);
    workspace.trapline(&["run", "--no-golden"]).expect(0, &["PASS"]);
    workspace.trapline(&["bless", "::hlt"]).expect(0, &["1 goldens written"]);
    workspace.trapline(&["run"]).expect(0, &["PASS"]);
}

#[test]
fn other_images_are_compared_with_tolerance_and_a_note() {
    let workspace = blessed();
    fs::write(workspace.path("images/hv-core"), "another core").unwrap();
    workspace.stream(&stream(10, 9900));
    workspace
        .trapline(&["run"])
        .expect(0, &["note: timings compared within 10 %: hv-core differs"]);
    workspace.stream(&stream(10, 9901));
    workspace.trapline(&["run"]).expect(1, &["10.0 % off, 10 % allowed"]);
}

#[test]
fn what_broke_a_rule_is_not_blessed() {
    let workspace = blessed();
    let golden = workspace.read(GOLDEN);
    workspace.stream(&stream(11, 9000));
    workspace.trapline(&["run"]).expect(1, &["expected 10 (`n`), seen 11"]);
    workspace
        .trapline(&["bless"])
        .expect(2, &["nothing was blessed", "self-ipi::hlt: hlt in window"]);
    workspace.trapline(&["bless", "zzz"]).expect(2, &["no scenario that matches"]);
    assert_eq!(workspace.read(GOLDEN), golden);
}

#[test]
fn a_damaged_golden_is_named_and_not_taken_for_an_old_one() {
    let workspace = blessed();
    let golden = workspace.read(GOLDEN);
    fs::write(workspace.path(GOLDEN), &golden[..golden.len() / 2]).unwrap();
    workspace.trapline(&["run"]).expect(1, &["hlt.snap is damaged"]);
}

#[test]
fn a_disk_that_is_full_leaves_the_old_golden_and_nothing_else() {
    let workspace = blessed();
    let golden = workspace.read(GOLDEN);
    workspace.stream(&stream(10, 9001));
    workspace.trapline(&["run"]).expect(1, &[]);
    // No file may grow beyond 0 bytes: every write fails, for root too.
    workspace
        .shell("trap '' XFSZ; ulimit -f 0; exec $TRAPLINE bless")
        .expect(2, &["error: cannot write", "hlt.snap", "nothing was changed"]);
    assert_eq!(workspace.read(GOLDEN), golden);
    assert_eq!(workspace.files("golden").len(), 1, "no temporary file may stay");
}

#[test]
fn a_golden_folder_that_cannot_be_written_is_named() {
    let workspace = Workspace::new();
    workspace.trapline(&["run"]).expect(1, &[]);
    // A file where the folder should be: unwritable for root too.
    fs::write(workspace.path("golden/tcg-icount"), "in the way").unwrap();
    workspace.trapline(&["bless"]).expect(2, &["cannot write", "nothing was changed"]);
    assert_eq!(workspace.read("golden/tcg-icount"), "in the way");
}
