//! `trapline run --partition` and `trapline merge`, with the real QEMU where results must be equal.

use crate::fixture::Workspace;
use std::fs;

/// Runs every part, and gives the names of their files.
fn parts(workspace: &Workspace, of: u32) -> Vec<String> {
    let part = |number: u32| {
        let file = format!("part-{number}.json");
        let partition = format!("{number}/{of}");
        let arguments = ["run", "--no-golden", "--partition", &partition, "--output", &file];
        workspace.trapline(&arguments).expect(0, &[]);
        file
    };
    (1..=of).map(part).collect()
}

fn merge(files: &[String], more: &[&str]) -> Vec<String> {
    let mut arguments = vec!["merge".to_owned()];
    arguments.extend_from_slice(files);
    arguments.extend(more.iter().map(ToString::to_string));
    arguments
}

fn trapline(workspace: &Workspace, arguments: &[String]) -> crate::fixture::Ended {
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    workspace.trapline(&arguments)
}

#[test]
fn four_parts_merged_are_byte_for_byte_the_undivided_run() {
    let workspace = Workspace::real();
    workspace.trapline(&["run", "--no-golden", "--output", "whole.json"]).expect(0, &[]);
    // Three scenarios: one of four parts is empty.
    let files = parts(&workspace, 4);
    workspace
        .trapline(&["run", "--no-golden", "--partition", "4/4"])
        .expect(0, &["of 3 scenarios part 4/4 has none"]);
    let count = |file: &String| workspace.read(file).matches("\"judgement\"").count();
    assert_eq!(files.iter().map(count).collect::<Vec<_>>(), [1, 1, 1, 0]);
    let mut reversed = files;
    reversed.reverse();
    trapline(&workspace, &merge(&reversed, &["-o", "merged.json", "--last"]))
        .expect(0, &["3 scenarios: 3 passed"]);
    assert_eq!(workspace.read("merged.json"), workspace.read("whole.json"));
    assert_eq!(workspace.read(".trapline/last.json"), workspace.read("whole.json"));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_overwritten() {
    let workspace = Workspace::new();
    let files = parts(&workspace, 2);
    let last = workspace.read(".trapline/last.json");
    fs::write(workspace.path("out.json"), "old").unwrap();
    let refused = |arguments: &[String], text: &str| {
        trapline(&workspace, arguments).expect(2, &["error: ", text]);
        assert_eq!(workspace.read("out.json"), "old");
        assert_eq!(workspace.read(".trapline/last.json"), last);
    };
    let out = ["-o", "out.json", "--last"];
    refused(&merge(&files[..1], &out), "of 2 parts one is missing: 2/2");
    refused(&merge(&["none.json".into()], &out), "there is no result at none.json");
    refused(&merge(&files, &["-o", "part-1.json"]), "part-1.json is one of the results to merge");
    let part = workspace.read("part-1.json");
    let with = |from: &str, to: &str| {
        assert!(part.contains(from), "{from}");
        fs::write(workspace.path("other.json"), part.replacen(from, to, 1)).unwrap();
        merge(&["other.json".into(), files[1].clone()], &out)
    };
    refused(&with("\"qemu\": \"10.0.2\"", "\"qemu\": \"9.2.0\""), "QEMU \"9.2.0\" and \"10.0.2\"");
    refused(&with("\"of\": 2", "\"of\": 3"), "one of 3 parts, one of 2");
    refused(&with("\"scenarios\": 1", "\"scenarios\": 9"), "different selections");
    refused(&with("\"format\": 2", "\"format\": 9"), "2 is the newest known here");
    refused(&with("\"format\": 2", "\"sparrow\": 2"), "is no result of this version");
    fs::write(workspace.path("other.json"), &part[..part.len() / 2]).unwrap();
    refused(&merge(&["other.json".into(), files[1].clone()], &out), "is no result of this version");
    let again = merge(&[files[0].clone(), files[1].clone(), "other.json".into()], &out);
    fs::write(workspace.path("other.json"), part.replacen("9000", "9001", 1)).unwrap();
    refused(&again, "both are part 1/2, with different content");
}

#[test]
fn a_merge_ends_as_the_run_would_have() {
    let workspace = Workspace::new();
    workspace.stream(&crate::fixture::stream(11, 9000));
    let arguments = ["run", "--no-golden", "--partition", "1/1", "--output", "part.json"];
    workspace.trapline(&arguments).expect(1, &[]);
    workspace
        .trapline(&["merge", "part.json", "-o", "out.json"])
        .expect(1, &["FAIL self-ipi::hlt"]);
}

#[test]
fn a_partition_that_is_none_is_a_wrong_command_line() {
    let workspace = Workspace::new();
    for wrong in ["0/2", "3/2", "hash:1/2", "2"] {
        workspace.trapline(&["run", "--partition", wrong]).expect(2, &["--partition <N/M>"]);
    }
}
