//! Rules and claims, as a report has them.

use crate::claims::judge::{Compared, Judged, Standing};
use crate::rules::report::{Cited, Last, Report, RuleReport, Test, Unknown};
use trapline_report::model::{
    Claim, ClaimStanding, Comparison, Ended, Evidence, HostTest, Rule, UnknownRule,
};

/// All rules with their evidence.
pub(super) fn rules(report: &Report) -> Vec<Rule> {
    report.rules.iter().map(rule).collect()
}

/// Ids that are no rules.
pub(super) fn unknown(report: &Report) -> Vec<UnknownRule> {
    let of = |unknown: &Unknown| UnknownRule { id: unknown.id.clone(), by: unknown.by.clone() };
    report.unknown.iter().map(of).collect()
}

fn rule(report: &RuleReport) -> Rule {
    let rule = &report.rule;
    let test = |test: &Test| HostTest {
        package: test.package.clone(),
        name: test.name.clone(),
        ended: ended(test.last),
    };
    let scenario = |cited: &Cited| Evidence {
        scenario: cited.name.clone(),
        cite: cited.cite,
        check: cited.check,
        ended: ended(cited.last),
    };
    Rule {
        id: rule.id.clone(),
        area: rule.set.clone(),
        statement: rule.statement.clone(),
        exit: rule.exit.clone(),
        tags: rule.tags.clone(),
        source: rule.source.clone(),
        model_defined: rule.model_defined,
        tests: report.tests.iter().map(test).collect(),
        scenarios: report.scenarios.iter().map(scenario).collect(),
    }
}

fn ended(last: Last) -> Ended {
    match last {
        Last::NotRun => Ended::NotRun,
        Last::Pass => Ended::Pass,
        Last::Fail => Ended::Fail,
        Last::CouldNotRun => Ended::CouldNotRun,
    }
}

/// A claim with its numbers.
pub(super) fn claim(judged: &Judged<'_>) -> Claim {
    let claim = judged.claim;
    let comparison = |compared: &Compared| Comparison {
        what: compared.what.clone(),
        expected: compared.expected.clone(),
        measured: compared.measured.clone(),
        holds: compared.holds,
    };
    // What stands in the evidence and is no comparison keeps the claim from being judged.
    let is_comparison = |text: &&String| {
        judged.compared.iter().any(|compared| text.starts_with(&compared.what))
            || claim.order.keys().any(|letter| text.starts_with(&format!("{letter} in rounds")))
    };
    let obstacles = judged.evidence.iter().filter(|text| !is_comparison(text)).cloned();
    Claim {
        id: claim.id.clone(),
        statement: claim.statement.clone(),
        source: claim.source.clone(),
        figures: claim.seed.clone(),
        standing: match judged.standing {
            Standing::Holds => ClaimStanding::Holds,
            Standing::Recorded => ClaimStanding::Recorded,
            Standing::Open => ClaimStanding::Open,
            Standing::NotRun => ClaimStanding::NotRun,
            Standing::Fails => ClaimStanding::Fails,
        },
        scenarios: claim.scenarios.clone(),
        comparisons: judged.compared.iter().map(comparison).collect(),
        obstacles: obstacles.collect(),
        predicted: judged.predicted.clone(),
        note: claim.note.clone(),
        undecided: claim.recorded.clone().or_else(|| claim.open.clone()),
    }
}
