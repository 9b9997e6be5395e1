//! Bad input: a clear message, exit code 2, and nothing lost or overwritten.

use crate::fixture::{SUITE, Workspace, frames, payload, stream};
use std::fs;
use trapline_abi::record::{Outcome, Record};

/// A workspace with a last result, which no failing command may touch.
fn workspace() -> (Workspace, String) {
    let workspace = Workspace::new();
    workspace.trapline(&["run", "--no-golden"]).expect(0, &[]);
    let last = workspace.read(".trapline/last.json");
    (workspace, last)
}

#[test]
fn mistakes_in_suites_are_named_with_their_place() {
    let (workspace, last) = workspace();
    for (from, to, message) in [
        (
            "payload =",
            "paylaod =",
            "self-ipi.toml:7:1: unknown key `paylaod` in a scenario (did you mean `payload`?)",
        ),
        (
            "payload = \"self-ipi\"",
            "payload = \"self-pi\"",
            "self-ipi.toml:7:11: unknown payload `self-pi` (did you mean `self-ipi`?)",
        ),
        ("params = { n", "params = { m", "payload `self-ipi` has no parameter `m`"),
        (
            "msr = \"2*n\"",
            "msr = \"2*\"",
            "self-ipi.toml:11:7: a number, a parameter or `(` is missing",
        ),
        ("[suite]", "[suite", "self-ipi.toml:2:"),
    ] {
        fs::write(workspace.path("suites/self-ipi.toml"), SUITE.replacen(from, to, 1)).unwrap();
        for command in ["run", "list"] {
            workspace.trapline(&[command]).expect(2, &["error: ", message]);
        }
    }
    workspace
        .trapline(&["run", "--suite", "none.toml"])
        .expect(2, &["cannot read suite none.toml"]);
    assert_eq!(workspace.read(".trapline/last.json"), last);
}

#[test]
fn wrong_command_lines_end_with_2() {
    let workspace = Workspace::new();
    for (arguments, message) in [
        (&["run", "--acel", "tcg"][..], "--accel"),
        (&["run", "--accel", "xen"], "tcg, kvm"),
        (&["run", "--repeat", "0"], "--repeat"),
        (
            &["run", "nothing-like-it"],
            "none of 1 scenarios matches `nothing-like-it`: see `trapline list`",
        ),
        (&["--root", "/nowhere", "run"], "the workspace /nowhere is no folder: correct --root"),
        (&["--images", "/nowhere", "run"], "cannot read image /nowhere/hv-core"),
        (&["compare", "last"], "Usage"),
        (&[], "Usage"),
    ] {
        workspace.trapline(arguments).expect(2, &[message]);
    }
    workspace.trapline(&["--help"]).expect(0, &["Exit codes: 0 all held"]);
}

#[test]
fn without_a_usable_qemu_nothing_runs() {
    let (workspace, last) = workspace();
    fs::remove_file(workspace.path("qemu")).unwrap();
    workspace.trapline(&["run"]).expect(2, &["TRAPLINE_QEMU names"]);
    workspace.script("echo 'QEMU emulator version 7.2.22 (Debian)'");
    workspace.trapline(&["run"]).expect(2, &["is QEMU 7.2.22, but 9.0.0 or newer is needed"]);
    workspace
        .shell("unset TRAPLINE_QEMU; PATH=/nowhere; exec $TRAPLINE run")
        .expect(2, &["qemu-system-x86_64 is not installed: run ci/setup"]);
    assert_eq!(workspace.read(".trapline/last.json"), last);
}

#[test]
fn images_that_are_none_are_named() {
    let (workspace, _) = workspace();
    fs::write(workspace.path("images/payloads/self-ipi"), "no elf").unwrap();
    workspace.trapline(&["run"]).expect(2, &["payloads/self-ipi is no payload: it is no ELF file"]);
    let bad = payload("param n number 1\nwhat is this");
    fs::write(workspace.path("images/payloads/self-ipi"), bad).unwrap();
    workspace.trapline(&["run"]).expect(2, &["has the bad line `what is this`"]);
}

#[test]
fn a_torn_or_corrupt_record_condemns_its_scenario() {
    let workspace = Workspace::new();
    let good = stream(10, 9000);
    let mut corrupt = good.clone();
    let at = good.windows(4).position(|w| w == b"loop").unwrap();
    corrupt[at] ^= 1;
    workspace.stream(&corrupt);
    workspace
        .trapline(&["run", "--no-golden"])
        .expect(2, &["LOST self-ipi::hlt", "its records cannot be trusted", "1 could not run"]);
    workspace.stream(&good[..good.len() / 2]);
    workspace.trapline(&["run", "--no-golden"]).expect(2, &["LOST self-ipi::hlt"]);
}

#[test]
fn a_target_that_dies_is_reported_and_its_files_are_kept() {
    let workspace = Workspace::new();
    workspace.stream(&frames(&[Record::ScenarioBegin { index: 0, name: "self-ipi::hlt" }]));
    workspace.qemu("kill -9 $$");
    let ended = workspace
        .trapline(&["run", "--no-golden"])
        .expect(2, &["LOST self-ipi::hlt", "the target died in it: QEMU was killed by signal 9"]);
    let kept = ended.err.trim().strip_prefix("the boots' files are kept in ").unwrap();
    assert!(std::path::Path::new(kept).join("repeat-0/boot-0/serial").is_file());
    workspace.stream(b"");
    workspace.trapline(&["run", "--no-golden"]).expect(2, &["error: hv-core did not come up"]);
}

#[test]
fn what_hv_core_refuses_could_not_run() {
    let workspace = Workspace::new();
    let end = |outcome, detail| {
        frames(&[
            Record::ScenarioBegin { index: 0, name: "self-ipi::hlt" },
            Record::ScenarioEnd { index: 0, outcome, detail, ticks: 1 },
            Record::Goodbye { scenarios: 1 },
        ])
    };
    workspace.stream(&end(Outcome::Refused, "no silicon `zen9`"));
    workspace
        .trapline(&["run", "--no-golden"])
        .expect(2, &["LOST", "hv-core refused it: no silicon `zen9`"]);
    workspace.stream(&end(Outcome::Shutdown, "triple fault"));
    workspace
        .trapline(&["run", "--no-golden"])
        .expect(1, &["FAIL", "ended with `shutdown` (triple fault), expected `done`"]);
}

#[test]
fn a_full_disk_loses_neither_the_result_on_the_screen_nor_the_old_one() {
    let (workspace, last) = workspace();
    workspace.stream(&stream(10, 8000));
    workspace
        .trapline(&["run", "--no-golden", "--output", "/dev/full"])
        .expect(2, &["8000 ticks", "1 passed", "error: cannot write /dev/full: No space left"]);
    assert_eq!(workspace.read(".trapline/last.json"), last);
    workspace.shell("$TRAPLINE show > /dev/full").expect(2, &["No space left on device"]);
}

#[test]
fn a_workspace_that_cannot_be_written_is_named() {
    let workspace = Workspace::new();
    // A file where the folder should be: unwritable for root too.
    fs::write(workspace.path(".trapline"), "in the way").unwrap();
    workspace.trapline(&["run"]).expect(2, &["cannot make a folder in", ".trapline"]);
}

#[test]
fn results_that_are_none_are_refused() {
    let workspace = Workspace::new();
    for command in [&["show"][..], &["bless"], &["compare", "last", "last"]] {
        workspace.trapline(command).expect(2, &["run `trapline run` first"]);
    }
    fs::create_dir(workspace.path(".trapline")).unwrap();
    fs::write(workspace.path(".trapline/last.json"), "{\"format\": 1").unwrap();
    for command in [&["show"][..], &["bless"], &["compare", "last", "last"]] {
        workspace.trapline(command).expect(2, &["is no result of this version"]);
    }
}
