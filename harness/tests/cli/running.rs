//! `trapline run`.

use crate::fixture::{SUITE, Workspace, stream};

#[test]
fn a_run_that_holds_prints_its_table_and_ends_with_0() {
    let workspace = Workspace::new();
    let ended = workspace.trapline(&["run", "--no-golden"]).expect(
        0,
        &[
            "PASS self-ipi::hlt  msr 20, hlt 10; 9000 ticks",
            "Analyze events for self-ipi::hlt, window loop, VCPU 0:",
            "VM-EXIT",
            "0x830:W",
            "1 scenario: 1 passed in ",
            "(tcg-icount, QEMU 10.0.2)",
        ],
    );
    assert_eq!(ended.err, "", "progress is for terminals only");
    let last = workspace.read(".trapline/last.json");
    for fact in [
        "\"tsc_khz\": 1000000",
        "\"accelerator\": \"tcg\"",
        "\"qemu\": \"10.0.2\"",
        "\"brand\": \"fake\"",
        "\"n\": \"10\"",
        "\"silicon\": \"none\"",
        "\"kvm-6.12\"",
    ] {
        assert!(last.contains(fact), "{fact}\n{last}");
    }
    let left = workspace.files(".trapline");
    assert_eq!(left, [workspace.path(".trapline/last.json")], "boots' files must go away");
}

#[test]
fn a_broken_rule_ends_with_1_and_is_explained() {
    let workspace = Workspace::new();
    workspace.stream(&stream(11, 9000));
    workspace.trapline(&["run", "--no-golden"]).expect(
        1,
        &[
            "FAIL self-ipi::hlt",
            "hlt in window `loop` on vCPU 0: expected 10 (`n`), seen 11 [row 1]",
            "1 scenario: 0 passed, 1 failed",
        ],
    );
}

#[test]
fn json_is_the_same_on_standard_output_in_the_file_and_as_the_last_result() {
    let workspace = Workspace::new();
    let output = workspace.path("out.json");
    let arguments =
        ["run", "--no-golden", "--format", "json", "--output", output.to_str().unwrap()];
    let first = workspace.trapline(&arguments).expect(0, &[]);
    assert_eq!(first.out, workspace.read("out.json"));
    assert_eq!(first.out, workspace.read(".trapline/last.json"));
    let again = workspace.trapline(&arguments).expect(0, &[]);
    assert_eq!(again.out, first.out, "the same run gives the same bytes");
}

#[test]
fn repeats_must_give_the_same() {
    let workspace = Workspace::new();
    workspace
        .trapline(&["run", "--no-golden", "--repeat", "3"])
        .expect(0, &["1 passed, 3 times each"]);
    let other = workspace.path("other");
    std::fs::write(&other, stream(10, 9001)).unwrap();
    let other = other.display();
    workspace.qemu(&format!("case $PWD in */repeat-1/*) cat '{other}' > serial;; esac; exit 33"));
    workspace.trapline(&["run", "--no-golden", "--repeat", "3"]).expect(
        1,
        &["run 2 of 3 differs from run 1: window loop, vCPU 0: length in ticks: run 1 9000, now 9001"],
    );
    workspace.trapline(&["bless"]).expect(2, &["nothing was blessed", "run 2 of 3 differs"]);
}

#[test]
fn a_filter_and_a_suite_file_choose_what_runs() {
    let workspace = Workspace::new();
    let two = SUITE.replace(
        "[[scenario]]\nname = \"hlt\"",
        "[[scenario]]\nname = \"other\"\npayload = \"self-ipi\"\n[[scenario]]\nname = \"hlt\"",
    );
    std::fs::write(workspace.path("suites/self-ipi.toml"), two).unwrap();
    workspace.trapline(&["run", "--no-golden", "::hlt"]).expect(0, &["1 scenario: 1 passed"]);
    std::fs::write(
        workspace.path("mine.toml"),
        SUITE.replace("self-ipi\"\nabout", "mine\"\nabout"),
    )
    .unwrap();
    let stream = crate::fixture::stream(10, 1);
    workspace.stream(&stream);
    // The records are of another scenario: what did not come must not pass.
    workspace.trapline(&["run", "--no-golden", "--suite", "mine.toml"]).expect(2, &["mine::hlt"]);
}

#[test]
fn the_trace_log_is_qemus_own() {
    let workspace = Workspace::new();
    workspace
        .qemu("case \"$*\" in *oracle.log*) echo 'vmexit(00000078' > oracle.log;; esac; exit 33");
    let log = workspace.path("trace.log");
    let log = log.to_str().unwrap();
    workspace.trapline(&["run", "--no-golden", "--trace-log", log, "--repeat", "2"]).expect(0, &[]);
    assert_eq!(workspace.read("trace.log"), "vmexit(00000078\n".repeat(2));
    workspace
        .trapline(&["run", "--trace-log", log, "--accel", "kvm"])
        .expect(2, &["--trace-log needs --accel tcg"]);
}
