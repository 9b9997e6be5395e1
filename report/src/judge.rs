//! Qualified or not: the one place where results, rules, claims and waivers meet.
//!
//! A run qualifies when all of it ran, all scenarios passed, no rule's evidence failed or was left
//! out, and no claim fails. A failure may be waived; an incomplete run may not. What was never
//! exercised cannot disqualify, but is named as a limit: a verdict says nothing beyond them.

use crate::model::{
    Claim, ClaimStanding, Ended, Report, Rule, RuleStanding, Standing, Subject, Verdict,
};

/// How many names a reason lists.
const NAMES: usize = 6;

/// What follows from the rest of a report.
pub fn judge(report: &Report) -> Verdict {
    let mut verdict = Verdict {
        standing: Standing::Qualified,
        reasons: Vec::new(),
        waived: Vec::new(),
        limits: Vec::new(),
    };
    run(report, &mut verdict);
    scenarios(report, &mut verdict);
    rules(report, &mut verdict);
    claims(report, &mut verdict);
    model(report, &mut verdict);
    verdict.standing = match (verdict.reasons.is_empty(), verdict.waived.is_empty()) {
        (false, _) => Standing::NotQualified,
        (true, false) => Standing::QualifiedWithWaivers,
        (true, true) => Standing::Qualified,
    };
    verdict
}

fn run(report: &Report, verdict: &mut Verdict) {
    let run = &report.run;
    if !run.is_whole() {
        let filters = run.filters.join("`, `");
        let (chosen, total) = (run.chosen, run.total);
        verdict.reasons.push(format!(
            "only {chosen} of {total} scenarios were chosen, by the filter `{filters}`"
        ));
    }
    if run.total == 0 {
        verdict.reasons.push("there are no scenarios".into());
    }
    let given = report.scenarios.len() as u64;
    if given != run.chosen {
        let chosen = run.chosen;
        verdict.reasons.push(format!("of {chosen} chosen scenarios {given} have a result"));
    }
    verdict.reasons.extend(report.problems.iter().map(|problem| format!("the target: {problem}")));
}

fn scenarios(report: &Report, verdict: &mut Verdict) {
    for (ended, words) in [
        (Ended::Fail, "failed"),
        (Ended::CouldNotRun, "could not run"),
        (Ended::NotRun, "did not run"),
    ] {
        let of = report.scenarios.iter().filter(|s| s.ended == ended).map(|s| s.full_name());
        let (waived, bad): (Vec<_>, Vec<_>) = of.partition(|name| is_waived(report, name));
        say(&mut verdict.reasons, "scenario", words, &bad);
        say(&mut verdict.waived, "scenario", words, &waived);
    }
}

fn rules(report: &Report, verdict: &mut Verdict) {
    let ids = |standing: RuleStanding| {
        report.rules.iter().filter(move |rule| rule.standing() == standing)
    };
    let (waived, bad): (Vec<_>, Vec<_>) =
        ids(RuleStanding::Failed).partition(|rule| is_rule_waived(report, rule));
    let names = |rules: Vec<&Rule>| rules.iter().map(|rule| rule.id.clone()).collect::<Vec<_>>();
    say(&mut verdict.reasons, "rule", "failed", &names(bad));
    say(&mut verdict.waived, "rule", "failed", &names(waived));
    let not_run = names(ids(RuleStanding::NotRun).collect());
    let whole = if report.run.is_whole() { &mut verdict.reasons } else { &mut verdict.limits };
    say(whole, "rule", "have evidence, but none of it ran", &not_run);
    let uncovered = names(ids(RuleStanding::Uncovered).collect());
    say(&mut verdict.limits, "rule", "are exercised by nothing", &uncovered);
    for unknown in &report.unknown_rules {
        let reason = format!("{} is no rule, but {} names it", unknown.id, unknown.by);
        verdict.reasons.push(reason);
    }
}

fn claims(report: &Report, verdict: &mut Verdict) {
    let of = |standing: ClaimStanding| {
        report.claims.iter().filter(move |claim| claim.standing == standing)
    };
    let names =
        |claims: Vec<&Claim>| claims.iter().map(|claim| claim.id.clone()).collect::<Vec<_>>();
    let (waived, bad): (Vec<_>, Vec<_>) =
        of(ClaimStanding::Fails).partition(|claim| is_claim_waived(report, claim));
    say(&mut verdict.reasons, "claim", "failed", &names(bad));
    say(&mut verdict.waived, "claim", "failed", &names(waived));
    let not_run = names(of(ClaimStanding::NotRun).collect());
    let whole = if report.run.is_whole() { &mut verdict.reasons } else { &mut verdict.limits };
    say(whole, "claim", "did not run", &not_run);
    let open = names(of(ClaimStanding::Open).collect());
    say(&mut verdict.limits, "claim", "are still open", &open);
    let recorded = names(of(ClaimStanding::Recorded).collect());
    say(&mut verdict.limits, "claim", "can only be recorded here, not decided", &recorded);
}

/// What hv-core played is evidence about hv-core's policy, never about a processor.
fn model(report: &Report, verdict: &mut Verdict) {
    let modeled = report.scenarios.iter().filter(|s| !s.modeled.is_empty()).count();
    if modeled > 0 {
        let total = report.scenarios.len();
        verdict.limits.push(format!(
            "{modeled} of {total} scenarios ran on silicon that hv-core modeled: they say nothing \
             of a processor"
        ));
    }
}

/// Whether a scenario's failure is accepted.
pub fn is_waived(report: &Report, scenario: &str) -> bool {
    report.waiver(&Subject::Scenario(scenario.into())).is_some()
}

/// Whether a rule's failure is accepted, itself or all that failed of it.
pub fn is_rule_waived(report: &Report, rule: &Rule) -> bool {
    let tests_hold = !rule.tests.iter().any(|test| test.ended.is_bad());
    let bad = rule.scenarios.iter().filter(|evidence| evidence.ended.is_bad());
    report.waiver(&Subject::Rule(rule.id.clone())).is_some()
        || tests_hold && are_waived(report, bad.map(|evidence| &evidence.scenario))
}

/// Whether a claim's failure is accepted, itself or because nothing but waived scenarios stands
/// against it.
pub fn is_claim_waived(report: &Report, claim: &Claim) -> bool {
    let numbers_hold = claim.comparisons.iter().all(|comparison| comparison.holds);
    let bad = |name: &&String| report.scenario(name).is_none_or(|s| s.ended != Ended::Pass);
    report.waiver(&Subject::Claim(claim.id.clone())).is_some()
        || numbers_hold && are_waived(report, claim.scenarios.values().filter(bad))
}

/// Whether there are any, and all of them are waived.
fn are_waived<'n>(report: &Report, names: impl Iterator<Item = &'n String>) -> bool {
    let mut names = names.peekable();
    names.peek().is_some() && names.all(|name| is_waived(report, name))
}

/// `3 scenarios failed: a, b, c`.
fn say(list: &mut Vec<String>, what: &str, words: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let s = if names.len() == 1 { "" } else { "s" };
    let words = match names.len() {
        1 => words.replacen("are ", "is ", 1).replacen("have ", "has ", 1),
        _ => words.into(),
    };
    let shown = names.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    list.push(format!("{} {what}{s} {words}: {shown}{more}", names.len()));
}

#[cfg(test)]
mod tests;
