//! `trapline qualify` and `trapline render`: verdicts, files, and what bad input must leave alone.

use crate::fixture::{Ended, SUITE, Workspace, stream};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const RULES: &str = r#"
[[rule]]
id = "TST-1"
statement = "An IPI to oneself costs two MSR exits"
tags = ["K"]
source = "K612"
[[rule]]
id = "TST-2"
statement = "Nothing exercises this"
tags = []
source = "K612"
"#;

const CLAIMS: &str = r#"
[sources]
000 = "A letter"
[[claim]]
id = "CLM-01"
statement = "A loop of IPIs halts once each"
source = "000"
scenarios = { a = "self-ipi::hlt" }
holds = ["a.hlt == a.n"]
"#;

const WAIVER: &str = r#"
[[waiver]]
scenario = "self-ipi::hlt"
environment = "tcg-icount"
reason = "the halt is lost on purpose"
owner = "R. Cohen"
expires = 2999-12-31
"#;

/// A workspace in which all holds, goldens too.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    for folder in ["rules", "claims", "hv-core"] {
        fs::create_dir_all(workspace.path(folder)).unwrap();
    }
    let suite = SUITE.replace("row 1", "row 1, TST-1");
    fs::write(workspace.path("suites/self-ipi.toml"), suite).unwrap();
    fs::write(workspace.path("rules/test.toml"), RULES).unwrap();
    fs::write(workspace.path("claims/test.toml"), CLAIMS).unwrap();
    workspace.trapline(&["run"]).expect(1, &[]);
    workspace.trapline(&["bless"]).expect(0, &[]);
    workspace
}

fn qualify(workspace: &Workspace, more: &[&str]) -> Ended {
    let mut arguments = vec!["qualify", "--out", "out", "--host-tests", "last"];
    arguments.extend(more);
    workspace.trapline(&arguments)
}

/// The bytes of every file of the report.
fn written(workspace: &Workspace) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = workspace.files("out");
    files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn what_holds_qualifies_and_gives_every_file() {
    let workspace = workspace();
    qualify(&workspace, &[]).expect(
        0,
        &["qualified\n", "limit: 1 rule is exercised by nothing: TST-2", "out/report.html"],
    );
    let names: Vec<_> = workspace.files("out").iter().map(|path| name(&workspace, path)).collect();
    assert_eq!(
        names,
        [
            "junit.xml",
            "kcidb.json",
            "records/boot-0.records",
            "records/result.json",
            "report.html",
            "report.json",
            "results.ktap"
        ]
    );
    assert_eq!(fs::read(workspace.path("out/records/boot-0.records")).unwrap(), stream(10, 9000));
    let decoded = ["show", "--result", "out/records/result.json"];
    workspace.trapline(&decoded).expect(0, &["PASS self-ipi::hlt"]);
    let page = workspace.read("out/report.html");
    for text in
        ["Qualified", "TST-1", "CLM-01", "A letter", "self-ipi::hlt", "records/boot-0.records"]
    {
        assert!(page.contains(text), "{text}");
    }
    // Once more, over the former one.
    qualify(&workspace, &[]).expect(0, &["qualified\n"]);
}

/// What was written is what the schema says.
#[track_caller]
fn validates(workspace: &Workspace) {
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let validator = jsonschema::draft202012::new(&json(&trapline_report::schema::text())).unwrap();
    let report = json(&workspace.read("out/report.json"));
    let errors: Vec<_> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn name(workspace: &Workspace, path: &Path) -> String {
    path.strip_prefix(workspace.path("out")).unwrap().display().to_string()
}

#[test]
fn what_fails_does_not_qualify_and_says_why() {
    let workspace = workspace();
    workspace.stream(&stream(9, 9000));
    qualify(&workspace, &[]).expect(
        1,
        &[
            "not qualified\n",
            "1 scenario failed: self-ipi::hlt",
            "1 rule failed: TST-1",
            "1 claim failed: CLM-01",
        ],
    );
    validates(&workspace);
    let page = workspace.read("out/report.html");
    for text in ["expected 10", "count of hlt", "− golden", "+ seen"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(workspace.read("out/results.ktap").contains("  not ok 1 hlt\nnot ok 1 self-ipi\n"));
}

#[test]
fn a_part_of_the_suite_does_not_qualify() {
    let workspace = workspace();
    let suite = workspace.read("suites/self-ipi.toml");
    let other = suite.replace("\"self-ipi\"\nabout", "\"other\"\nabout");
    fs::write(workspace.path("suites/other.toml"), other).unwrap();
    qualify(&workspace, &["self-ipi::"]).expect(1, &["only 1 of 2 scenarios were chosen"]);
}

#[test]
fn a_waiver_excuses_the_scenario_and_what_follows_from_it() {
    let workspace = workspace();
    workspace.stream(&stream(9, 9000));
    fs::write(workspace.path("waivers.toml"), WAIVER).unwrap();
    // The claim's own numbers are wrong: the scenario's waiver does not reach them.
    qualify(&workspace, &[]).expect(1, &["1 claim failed: CLM-01", "waived: 1 rule failed: TST-1"]);
    let claim = WAIVER.replace("scenario = \"self-ipi::hlt\"", "claim = \"CLM-01\"");
    fs::write(workspace.path("waivers.toml"), WAIVER.to_owned() + &claim).unwrap();
    qualify(&workspace, &[]).expect(0, &["qualified with waivers\n", "waived: 1 claim failed"]);
    assert!(workspace.read("out/report.html").contains("R. Cohen"));
    assert!(workspace.read("out/results.ktap").contains("# XFAIL waived by R. Cohen"));
}

#[test]
fn a_waiver_that_is_none_stops_everything_and_overwrites_nothing() {
    let workspace = workspace();
    qualify(&workspace, &[]).expect(0, &[]);
    let before = written(&workspace);
    for (from, to, message) in [
        ("2999-12-31", "2020-01-01", "the waiver of scenario self-ipi::hlt expired on 2020-01-01"),
        ("self-ipi::hlt", "self-ipi::halt", "names nothing that there is"),
        ("owner = \"R. Cohen\"", "", "waivers.toml: TOML parse error"),
        ("", "", "is not used: nothing of it failed in tcg-icount"),
    ] {
        let waiver = if from.is_empty() { WAIVER.into() } else { WAIVER.replace(from, to) };
        fs::write(workspace.path("waivers.toml"), waiver).unwrap();
        qualify(&workspace, &[]).expect(2, &["error: ", message]);
        assert!(written(&workspace) == before, "{message}");
    }
    qualify(&workspace, &["--waivers", "none.toml"]).expect(2, &["cannot read none.toml"]);
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let workspace = workspace();
    fs::create_dir(workspace.path("out")).unwrap();
    fs::write(workspace.path("out/thesis.tex"), "years").unwrap();
    qualify(&workspace, &[]).expect(2, &["out has files, but no report.json of trapline"]);
    assert_eq!(workspace.files("out"), [workspace.path("out/thesis.tex")]);
}

#[test]
fn a_target_that_does_not_come_up_leaves_the_former_report() {
    let workspace = workspace();
    qualify(&workspace, &[]).expect(0, &[]);
    let before = written(&workspace);
    workspace.stream(b"");
    qualify(&workspace, &[]).expect(2, &["is cut short after 0 bytes"]);
    assert!(written(&workspace) == before);
}

#[test]
fn the_page_is_made_again_from_the_data_alone() {
    let workspace = workspace();
    workspace.stream(&stream(9, 9000));
    qualify(&workspace, &[]).expect(1, &[]);
    let before = written(&workspace);
    let elsewhere = ["render", "out/report.json", "--out", "again"];
    workspace.trapline(&elsewhere).expect(0, &["again/report.html", "again/report.json"]);
    for name in ["report.html", "report.json", "junit.xml", "results.ktap", "kcidb.json"] {
        let path = workspace.path("out").join(name);
        assert!(fs::read(workspace.path("again").join(name)).unwrap() == before[&path], "{name}");
    }
    fs::remove_file(workspace.path("out/report.html")).unwrap();
    workspace.trapline(&["render", "out/report.json"]).expect(0, &[]);
    assert!(written(&workspace) == before);
}

#[test]
fn data_that_is_no_report_is_refused_and_nothing_is_overwritten() {
    let workspace = workspace();
    qualify(&workspace, &[]).expect(0, &[]);
    let good = workspace.read("out/report.json");
    let newer = good.replacen("\"version\": 1", "\"version\": 2", 1);
    let edited = good.replacen("\"qualified\"", "\"not-qualified\"", 1);
    assert!(newer != good && edited != good);
    for (text, message) in [
        (&good[..good.len() / 2], "ends in the middle of the report"),
        ("{\"traceEvents\": []}", "is no qualification report"),
        (newer.as_str(), "is a report of version 2, and this trapline reads version 1"),
        (edited.as_str(), "does not follow from the results"),
    ] {
        fs::write(workspace.path("out/report.json"), text).unwrap();
        let before = written(&workspace);
        workspace.trapline(&["render", "out/report.json"]).expect(2, &["error: ", message]);
        assert!(written(&workspace) == before, "{message}");
    }
    workspace.trapline(&["render", "none.json"]).expect(2, &["cannot read report none.json"]);
    workspace.trapline(&["render"]).expect(2, &["Usage"]);
}

#[test]
fn the_schema_is_printed() {
    let workspace = Workspace::new();
    let ended = workspace.trapline(&["render", "--schema"]).expect(0, &["\"$schema\""]);
    assert!(ended.out.contains("urn:trapline:qualification-report:1"));
}
