use super::*;
use crate::model::{UnknownRule, Waiver, WaiverState};
use crate::sample;

fn waive(report: &mut Report, subject: Subject) {
    report.waivers.push(Waiver {
        subject,
        environment: "tcg-icount".into(),
        reason: "known".into(),
        owner: "me".into(),
        expires: "2027-01-31".into(),
        state: WaiverState::Applies,
    });
}

#[test]
fn a_whole_run_in_which_all_held_qualifies_and_names_its_limits() {
    let verdict = judge(&sample::report());
    assert_eq!(verdict.standing, Standing::Qualified);
    assert_eq!(
        verdict.limits,
        [
            "1 rule is exercised by nothing: AVIC-002",
            "1 of 2 scenarios ran on silicon that hv-core modeled: they say nothing of a processor"
        ]
    );
}

#[test]
fn a_failed_scenario_disqualifies_unless_it_is_waived() {
    let mut report = sample::failing();
    assert_eq!(judge(&report).standing, Standing::NotQualified);
    assert_eq!(judge(&report).reasons, ["1 scenario failed: self-ipi::idle-hlt"]);
    waive(&mut report, Subject::Scenario("self-ipi::nothing".into()));
    assert_eq!(judge(&report).standing, Standing::NotQualified, "another's waiver");
    waive(&mut report, Subject::Scenario("self-ipi::idle-hlt".into()));
    let verdict = judge(&report);
    assert_eq!(verdict.standing, Standing::QualifiedWithWaivers);
    assert_eq!(verdict.waived, ["1 scenario failed: self-ipi::idle-hlt"]);
    report.waivers[1].state = WaiverState::OtherEnvironment;
    assert_eq!(judge(&report).standing, Standing::NotQualified, "a waiver for elsewhere");
}

#[test]
fn a_rule_is_waived_with_the_scenarios_that_failed_but_not_with_its_tests() {
    let mut report = sample::failing();
    let name = "self-ipi::idle-hlt";
    report.rules[0].scenarios[0].ended = Ended::Fail;
    report.rules[0].scenarios[0].scenario = name.into();
    assert_eq!(judge(&report).reasons.last().unwrap(), "1 rule failed: AVIC-001");
    waive(&mut report, Subject::Scenario(name.into()));
    assert_eq!(judge(&report).standing, Standing::QualifiedWithWaivers);
    report.rules[0].tests[0].ended = Ended::Fail;
    assert_eq!(judge(&report).standing, Standing::NotQualified);
    waive(&mut report, Subject::Rule("AVIC-001".into()));
    assert_eq!(judge(&report).standing, Standing::QualifiedWithWaivers);
}

#[test]
fn a_claim_is_waived_with_its_scenarios_only_while_its_numbers_hold() {
    let mut report = sample::failing();
    report.claims[0].standing = ClaimStanding::Fails;
    waive(&mut report, Subject::Scenario("self-ipi::idle-hlt".into()));
    assert_eq!(judge(&report).standing, Standing::QualifiedWithWaivers);
    report.scenarios[1].ended = Ended::Pass;
    assert_eq!(judge(&report).reasons, ["1 claim failed: CLM-29"], "nothing waived explains it");
    report.scenarios[1].ended = Ended::Fail;
    report.claims[0].comparisons[0].holds = false;
    assert_eq!(judge(&report).reasons, ["1 claim failed: CLM-29"]);
    waive(&mut report, Subject::Claim("CLM-29".into()));
    assert_eq!(judge(&report).standing, Standing::QualifiedWithWaivers);
}

#[test]
fn a_part_of_the_suite_never_qualifies() {
    let mut report = sample::report();
    report.run.total = 3;
    report.run.filters = vec!["self".into()];
    let reasons = judge(&report).reasons;
    assert_eq!(reasons, ["only 2 of 3 scenarios were chosen, by the filter `self`"]);
    report.run.chosen = 3;
    assert_eq!(judge(&report).reasons, ["of 3 chosen scenarios 2 have a result"]);
}

#[test]
fn what_was_left_out_disqualifies_a_whole_run() {
    let mut report = sample::report();
    report.rules[0].tests[0].ended = Ended::NotRun;
    report.rules[0].scenarios.clear();
    let reasons = judge(&report).reasons;
    assert_eq!(reasons, ["1 rule has evidence, but none of it ran: AVIC-001"]);
    let mut report = sample::report();
    report.claims[0].standing = ClaimStanding::NotRun;
    assert_eq!(judge(&report).reasons, ["1 claim did not run: CLM-29"]);
    report.claims[0].standing = ClaimStanding::Open;
    assert_eq!(judge(&report).standing, Standing::Qualified);
}

#[test]
fn problems_of_the_target_and_misspelt_rules_disqualify() {
    let mut report = sample::report();
    report.problems = vec!["it hung".into()];
    report.unknown_rules = vec![UnknownRule { id: "AVIC-999".into(), by: "test a".into() }];
    assert_eq!(
        judge(&report).reasons,
        ["the target: it hung", "AVIC-999 is no rule, but test a names it"]
    );
}

#[test]
fn long_lists_are_cut_and_counted() {
    let names: Vec<_> = (0..9).map(|n| n.to_string()).collect();
    let mut list = Vec::new();
    say(&mut list, "rule", "are exercised by nothing", &names);
    assert_eq!(list, ["9 rules are exercised by nothing: 0, 1, 2, 3, 4, 5 and 3 more"]);
}
