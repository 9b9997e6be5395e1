//! `trapline rules` on this workspace, and on made-up ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use trapline::rules::names::{Ids, Named};
use trapline::rules::{book, sources};

const SUITE: &str = r#"
[suite]
name = "made-up"
[[scenario]]
name = "one"
payload = "self-ipi"
cite = "HV-002"
"#;

const RULES: &str = r#"
[[rule]]
id = "HV-001"
statement = "One holds"
tags = []
source = "K"
[[rule]]
id = "HV-002"
statement = "Two holds"
tags = ["=C"]
source = "K"
model_defined = true
[[rule]]
id = "HV-003"
statement = "Three holds"
tags = []
source = "K"
"#;

const TESTS: &str = "#[test]\nfn hv_001_one_holds() {}\n";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A workspace with three rules, of which a test exercises the first and a scenario the second.
fn made_up() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("suites/made-up.toml", SUITE),
        ("rules/hyperv.toml", RULES),
        ("hv-core/Cargo.toml", "[package]\nname = \"core\""),
        ("hv-core/src/lib.rs", TESTS),
        ("golden/README", ""),
    ] {
        write(&root, path, text);
    }
    root
}

fn write(root: &TempDir, path: &str, text: &str) {
    let path = root.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[track_caller]
fn rules(root: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_trapline"))
        .arg("rules")
        .args(arguments)
        .env("TRAPLINE_ROOT", root)
        .output()
        .unwrap();
    let said = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(status.code(), Some(code), "{said:?}");
    let [out, err] = said;
    (out, err)
}

#[track_caller]
fn contains(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "no `{line}` in\n{text}");
    }
}

fn junit(ending: &str) -> String {
    let case = format!("<testcase name=\"hv_001_one_holds\">{ending}</testcase>");
    format!("<testsuites><testsuite name=\"core\">{case}</testsuite></testsuites>")
}

#[test]
fn no_host_test_names_a_rule_that_does_not_exist() {
    let ids = Ids::new(&book::load(&workspace().join("rules")).unwrap());
    let mut named = Named::default();
    let tests = ["hv-core", "guest-payloads"].map(|folder| sources::tests(&workspace(), folder));
    for test in tests.into_iter().flat_map(Result::unwrap) {
        let Named { rules, unknown } = ids.in_test_name(&test.name);
        let who = |id| format!("{id}: {} in {}", test.name, test.file.display());
        named.unknown.extend(unknown.into_iter().map(who));
        named.rules.extend(rules);
    }
    assert!(named.unknown.is_empty(), "no rules: {:#?}", named.unknown);
    assert!(named.rules.len() > 90, "only {} rules have tests: are they found?", named.rules.len());
}

#[test]
fn rules_lists_each_rule_and_counts_them() {
    let root = made_up();
    let (out, _) = rules(root.path(), &[], 0);
    contains(
        &out,
        &[
            "HV-001     hv_001_one_holds not run\n",
            "HV-002   D made-up::one not run\n",
            "HV-003     uncovered: Three holds\n",
        ],
    );
    let all: Vec<_> = out.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(all, ["all", "-", "2", "3", "1", "1"]);
    let (out, _) = rules(root.path(), &["--uncovered"], 0);
    assert!(out.starts_with("HV-003") && !out.contains("hv_001"), "{out}");
    let (out, _) = rules(root.path(), &["hv-001", "--format", "json"], 0);
    contains(&out, &["\"id\": \"HV-001\"", "\"last\": \"not-run\""]);
    assert!(!out.contains("HV-002"), "{out}");
    let (_, err) = rules(root.path(), &["HV-9"], 2);
    contains(&err, &["none of 3 rules matches `HV-9`"]);
}

#[test]
fn rules_fails_when_a_test_failed() {
    let root = made_up();
    let path = "target/nextest/ci/junit.xml";
    write(&root, path, &junit(""));
    contains(&rules(root.path(), &[], 0).0, &["hv_001_one_holds pass"]);
    write(&root, path, &junit("<failure type=\"test failure\"/>"));
    contains(&rules(root.path(), &[], 1).0, &["hv_001_one_holds FAIL"]);
    rules(root.path(), &["HV-002"], 0);
    write(&root, "other.xml", &junit(""));
    let other = root.path().join("other.xml");
    rules(root.path(), &["--junit", other.to_str().unwrap()], 0);
    write(&root, path, "no XML");
    contains(&rules(root.path(), &[], 2).1, &["junit.xml is no JUnit report"]);
}

#[test]
fn rules_refuses_what_it_cannot_count() {
    let root = made_up();
    write(&root, "hv-core/src/lib.rs", "#[test]\nfn hv_004_typo() {}\n");
    let (out, _) = rules(root.path(), &[], 2);
    contains(&out, &["HV-004 is no rule, but test hv_004_typo in hv-core/src/lib.rs names it"]);
    write(&root, "hv-core/src/lib.rs", TESTS);
    write(&root, "rules/kvm.toml", RULES);
    contains(&rules(root.path(), &[], 2).1, &["kvm.toml: HV-001 is there twice"]);
    fs::remove_dir_all(root.path().join("rules")).unwrap();
    contains(&rules(root.path(), &[], 2).1, &["cannot read", "rules"]);
}
