//! What a test runner sees: every scenario as a test of its own, by name.

use crate::laboratory::Laboratory;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The test target `scenarios`, beside this one; the newest, if older builds are left.
fn scenarios() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let builds = std::fs::read_dir(here.parent().unwrap()).unwrap().flatten();
    let ours = builds.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("scenarios-") && !name.contains('.')
    });
    let newest = ours.max_by_key(|entry| entry.metadata().unwrap().modified().unwrap());
    newest.expect("the target `scenarios` is built with this one").path()
}

/// What nextest asks for: one `name: test` a line.
fn listed(arguments: &[&str]) -> BTreeSet<String> {
    let mut command = Command::new(scenarios());
    let output = command.args(arguments).args(["--list", "--format", "terse"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.strip_suffix(": test").unwrap().to_owned()).collect()
}

#[test]
fn every_scenario_is_a_test_named_suite_and_name() {
    let all = Laboratory::new().scenarios;
    let names: BTreeSet<_> = all.iter().map(|scenario| scenario.full_name()).collect();
    assert_eq!(names.len(), all.len(), "names are unique");
    assert_eq!(listed(&[]), names);
}

#[test]
fn a_filter_chooses_scenarios_by_part_of_their_name_or_exactly_one() {
    let names = listed(&[]);
    let part: BTreeSet<_> = names.iter().filter(|name| name.contains("self-ipi::")).collect();
    assert!(part.len() > 5);
    assert_eq!(listed(&["self-ipi::"]).iter().collect::<BTreeSet<_>>(), part);
    let one = "self-ipi::x2apic-icr-hlt";
    assert_eq!(listed(&["--exact", one]), BTreeSet::from([one.to_owned()]));
}
