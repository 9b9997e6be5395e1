//! `kcidb.json`: a submission to the kernel CI database (kcidb-io, schema 5.3).
//!
//! One checkout, one build of hv-core and the payloads, and a test for each scenario: rules and claims
//! are conclusions from them, which the schema has no place for.

use crate::model::{Ended, Report, Scenario, Subject};
use serde_json::{Map, Value, json};

/// Who submits, as far as a report can know. Origins are of a-z, 0-9 and `_`.
const ORIGIN: &str = "trapline";
/// Longest excerpt of a log that the schema allows, in characters.
const EXCERPT: usize = 16_384;
/// Length of a whole commit hash.
const HASH: usize = 40;

/// The submission, with a line end.
pub fn text(report: &Report) -> String {
    let build = id(report, "build");
    let tests: Vec<_> = report.scenarios.iter().map(|s| test(report, s, &build)).collect();
    let submission = json!({
        "version": { "major": 5, "minor": 3 },
        "checkouts": [checkout(report)],
        "builds": [{
            "id": build,
            "checkout_id": id(report, "checkout"),
            "origin": ORIGIN,
            "architecture": "x86_64",
            "compiler": clean(&report.environment.build.rustc),
            "status": "PASS",
            "misc": {
                "core": report.environment.build.core,
                "payloads": report.environment.build.payloads,
            },
        }],
        "tests": tests,
    });
    format!("{submission:#}\n")
}

fn checkout(report: &Report) -> Value {
    let mut checkout = Map::new();
    checkout.insert("id".into(), id(report, "checkout").into());
    checkout.insert("origin".into(), ORIGIN.into());
    checkout.insert("tree_name".into(), ORIGIN.into());
    checkout.insert("valid".into(), true.into());
    let revision = report.environment.build.revision.as_deref().unwrap_or_default();
    // A checkout with changes is none of that commit.
    if revision.len() == HASH && revision.chars().all(|c| c.is_ascii_hexdigit()) {
        checkout.insert("git_commit_hash".into(), revision.to_ascii_lowercase().into());
        checkout.insert("patchset_hash".into(), "".into());
    } else if !revision.is_empty() {
        checkout.insert("comment".into(), clean(revision).into());
    }
    checkout.into()
}

fn test(report: &Report, scenario: &Scenario, build: &str) -> Value {
    let name = scenario.full_name();
    let environment = &report.environment;
    let waiver = report.waiver(&Subject::Scenario(name.clone()));
    let mut test = json!({
        "id": id(report, &name),
        "build_id": build,
        "origin": ORIGIN,
        "path": format!("{ORIGIN}.{}.{}", part(&scenario.suite), part(&scenario.name)),
        "comment": clean(&name),
        "status": status(scenario.ended),
        "start_time": report.run.started,
        "environment": {
            "comment": clean(&format!(
                "{}, QEMU {}, silicon {}", environment.class, environment.qemu.version, scenario.silicon
            )),
            "misc": { "modeled": scenario.modeled, "real": scenario.real },
        },
        "misc": {
            "payload": scenario.payload,
            "policy": scenario.policy,
            "params": scenario.params,
            "exits": scenario.exits(),
            "ticks": scenario.ticks(),
        },
    });
    // No property of a submission is null.
    if let Some(waiver) = waiver {
        test["misc"]["waived"] = clean(&waiver.reason).into();
    }
    let differences = scenario.differences.iter().map(ToString::to_string);
    let log: Vec<_> = scenario.broken.iter().cloned().chain(differences).collect();
    if !log.is_empty() {
        let log: String = clean(&log.join("\n")).chars().take(EXCERPT).collect();
        test["log_excerpt"] = log.into();
    }
    test
}

fn status(ended: Ended) -> &'static str {
    match ended {
        Ended::Pass => "PASS",
        Ended::Fail => "FAIL",
        Ended::CouldNotRun => "ERROR",
        Ended::NotRun => "MISS",
    }
}

/// Unique among all runs of this origin: the same run has the same ids however often it is rendered.
fn id(report: &Report, what: &str) -> String {
    let core = &report.environment.build.core;
    clean(&format!("{ORIGIN}:{}-{core}-{what}", report.run.started))
}

/// A part of a path: letters, digits, `_` and `-`.
fn part(name: &str) -> String {
    name.replace(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)), "_")
}

/// The schema's texts hold no NUL.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn submission(report: &Report) -> Value {
        serde_json::from_str(&text(report)).unwrap()
    }

    #[test]
    fn a_failure_is_a_test_with_an_excerpt() {
        let submission = submission(&sample::failing());
        let test = &submission["tests"][1];
        assert_eq!(test["path"], "trapline.self-ipi.idle-hlt");
        assert_eq!(test["status"], "FAIL");
        assert!(test["log_excerpt"].as_str().unwrap().contains("golden 0, seen 3"));
        assert_eq!(test["build_id"], submission["builds"][0]["id"]);
        assert_eq!(submission["builds"][0]["checkout_id"], submission["checkouts"][0]["id"]);
        assert_eq!(submission["tests"][0].get("log_excerpt"), None);
    }

    #[test]
    fn only_a_clean_checkout_has_a_commit() {
        let mut report = sample::report();
        let hash = report.environment.build.revision.clone().unwrap();
        assert_eq!(submission(&report)["checkouts"][0]["git_commit_hash"], hash.as_str());
        report.environment.build.revision = Some(format!("{hash}-dirty"));
        let checkout = &submission(&report)["checkouts"][0];
        assert_eq!(checkout.get("git_commit_hash"), None);
        assert_eq!(checkout["comment"], format!("{hash}-dirty"));
    }

    #[test]
    fn long_logs_are_cut_between_characters() {
        let mut report = sample::failing();
        report.scenarios[1].broken = vec!["§".repeat(20_000)];
        let submission = submission(&report);
        let log = submission["tests"][1]["log_excerpt"].as_str().unwrap();
        assert_eq!(log.chars().count(), EXCERPT);
    }
}
