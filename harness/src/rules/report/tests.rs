use super::super::book::Rule;
use super::super::junit::TestVerdicts;
use super::super::sources::HostTest;
use super::super::table::{line, summary};
use super::*;
use crate::payload::tests::catalogue;
use crate::result::tests::result;
use crate::suite::tests::scenarios;

const SUITE: &str = r#"
[suite]
name = "self-ipi"
[[scenario]]
name = "hlt"
payload = "self-ipi"
cite = "docs, HV-101; CLM-30"
[[scenario]]
name = "nop"
payload = "self-ipi"
[[scenario.when]]
is = { wait = "hlt" }
cite = "HV-101, HV-109"
expect = { hlt = "n" }
"#;

fn rule(id: &str, set: &str) -> Rule {
    Rule {
        id: id.into(),
        statement: format!("{id} must hold"),
        exit: None,
        tags: vec!["D".into()],
        source: "D".into(),
        model_defined: id == "HV-103",
        set: set.into(),
    }
}

/// HV-101 has a test and a scenario, HV-102 a scenario by its check, HV-103 nothing, RTC-P a test.
fn report() -> Report {
    let rules = ["HV-101", "HV-102", "HV-103"].map(|id| rule(id, "hyperv"));
    let rules = rules.into_iter().chain([rule("RTC-P", "kvm")]).collect();
    let test = |name: &str| HostTest {
        package: "policy".into(),
        name: name.into(),
        file: "hv-core/policy/src/a.rs".into(),
    };
    let tests = ["hv_101_counts", "rtc_p_hv_999_waits", "something_else"].map(test);
    let mut result = result();
    let ran = &mut result.scenarios[0];
    ran.measured.as_mut().unwrap().checks[0].label = "HV-102: users".into();
    ran.judgement.verdict = Verdict::Fail;
    let scenarios = scenarios(SUITE, &catalogue());
    Report::new(rules, &tests, &TestVerdicts::default(), &scenarios, Some(&result))
}

#[test]
fn rules_are_exercised_by_tests_cites_and_checks() {
    let report = report();
    let [hv101, hv102, hv103, rtc] = &report.rules[..] else { panic!("{report:?}") };
    let test =
        |name: &str| Test { package: "policy".into(), name: name.into(), last: Last::NotRun };
    let cited = |name: &str, cite, check, last| Cited { name: name.into(), cite, check, last };
    assert_eq!(hv101.tests, [test("hv_101_counts")]);
    let wanted = [
        cited("self-ipi::hlt", true, false, Last::Fail),
        cited("self-ipi::nop", true, false, Last::NotRun),
    ];
    assert_eq!(hv101.scenarios, wanted);
    assert_eq!((hv102.tests.len(), hv103.is_covered()), (0, false));
    assert_eq!(hv102.scenarios, [cited("self-ipi::hlt", false, true, Last::Fail)]);
    assert_eq!((&rtc.tests[..], rtc.scenarios.len()), (&[test("rtc_p_hv_999_waits")][..], 0));
    assert_eq!(
        [hv101.worst(), hv103.worst(), rtc.worst()],
        [Last::Fail, Last::NotRun, Last::NotRun]
    );
    assert_eq!(report.worst(), Last::Fail);
}

#[test]
fn ids_that_are_no_rules_are_named_with_who_names_them() {
    let unknown = |id: &str, by: &str| Unknown { id: id.into(), by: by.into() };
    assert_eq!(
        report().unknown,
        [
            unknown("HV-999", "test rtc_p_hv_999_waits in hv-core/policy/src/a.rs"),
            unknown("HV-109", "scenario self-ipi::nop"),
        ]
    );
}

#[test]
fn families_and_sets_are_counted() {
    let family = |set: &str, family: &str, counts: [usize; 4]| {
        let [rules, covered, by_test, by_payload] = counts;
        Family { set: set.into(), family: family.into(), rules, covered, by_test, by_payload }
    };
    assert_eq!(
        report().families(),
        [
            family("hyperv", "HV", [3, 2, 1, 2]),
            family("hyperv", "", [3, 2, 1, 2]),
            family("kvm", "RTC", [1, 1, 1, 0]),
            family("kvm", "", [1, 1, 1, 0]),
        ]
    );
}

#[test]
fn a_rule_is_one_line() {
    let report = report();
    let lines: Vec<_> = report.rules.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "HV-101     hv_101_counts not run, self-ipi::nop not run, self-ipi::hlt FAIL\n",
            "HV-102     self-ipi::hlt FAIL\n",
            "HV-103   D uncovered: HV-103 must hold\n",
            "RTC-P      rtc_p_hv_999_waits not run\n",
        ]
    );
    let mut many = report.rules[0].clone();
    many.tests.clear();
    many.scenarios = ["a::1", "a::2", "a::3", "b::1"]
        .map(|name| Cited { name: name.into(), cite: true, check: false, last: Last::Pass })
        .into();
    assert_eq!(line(&many), "HV-101     a:: (3 scenarios) pass, b::1 pass\n");
}

#[test]
fn the_summary_adds_sets_up() {
    let text = summary(&report());
    let all = text.lines().find(|line| line.starts_with("all")).unwrap();
    assert_eq!(all.split_whitespace().collect::<Vec<_>>(), ["all", "-", "3", "4", "2", "2"]);
    assert!(text.ends_with("HV-109 is no rule, but scenario self-ipi::nop names it\n"), "{text}");
}
