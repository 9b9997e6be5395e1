//! How many rules of each family are held, as bars.

use super::mark;
use crate::figures::{count, percent};
use crate::judge;
use crate::model::{Ended, Evidence, Report, Rule, RuleStanding};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Rules of a family by what is known of them.
#[derive(Default)]
struct Family {
    rules: usize,
    by_test: usize,
    by_scenario: usize,
    held: usize,
    failed: usize,
    waived: usize,
    not_run: usize,
    uncovered: usize,
}

impl Family {
    fn add(&mut self, rule: &Rule, is_waived: bool) {
        self.rules += 1;
        self.by_test += usize::from(!rule.tests.is_empty());
        self.by_scenario += usize::from(!rule.scenarios.is_empty());
        match rule.standing() {
            RuleStanding::Held => self.held += 1,
            RuleStanding::Failed if is_waived => self.waived += 1,
            RuleStanding::Failed => self.failed += 1,
            RuleStanding::NotRun => self.not_run += 1,
            RuleStanding::Uncovered => self.uncovered += 1,
        }
    }

    /// Parts of the bar, in order: class, word, rules.
    fn parts(&self) -> [(&'static str, &'static str, usize); 5] {
        [
            ("held", "held", self.held),
            ("waived", "waived", self.waived),
            ("failed", "failed", self.failed),
            ("idle", "not run", self.not_run),
            ("none", "uncovered", self.uncovered),
        ]
    }
}

pub(super) fn chart(report: &Report) -> Markup {
    let mut families: BTreeMap<(&str, &str), Family> = BTreeMap::new();
    for rule in &report.rules {
        let is_waived = judge::is_rule_waived(report, rule);
        families.entry((&rule.area, rule.family())).or_default().add(rule, is_waived);
    }
    html! {
        div.scroll role="region" aria-label="Rules by area" tabindex="0" {
            table.small.coverage {
                caption { "Rules by area" }
                thead { tr {
                    th scope="col" { "Area" }
                    th scope="col" { "Family" }
                    th.n scope="col" { "Rules" }
                    th.n scope="col" { "Held" }
                    th.n scope="col" { "By host test" }
                    th.n scope="col" { "By scenario" }
                    th scope="col" { "Standing" }
                } }
                tbody {
                    @for ((area, family), rules) in &families {
                        tr {
                            td { (area) }
                            th scope="row" { (family) }
                            td.n { (count(rules.rules as u64)) }
                            td.n { (count(rules.held as u64)) }
                            td.n { (count(rules.by_test as u64)) }
                            td.n { (count(rules.by_scenario as u64)) }
                            td { (bar(rules)) }
                        }
                    }
                }
            }
        }
        p.legend aria-hidden="true" {
            @for (class, word, _) in Family::default().parts() {
                span { svg.swatch viewBox="0 0 10 10" { rect class=(class) width="10" height="10" {} } (word) }
            }
        }
    }
}

fn bar(family: &Family) -> Markup {
    let there: Vec<_> = family.parts().into_iter().filter(|(_, _, n)| *n > 0).collect();
    let words: Vec<_> = there.iter().map(|(_, word, n)| format!("{n} {word}")).collect();
    let mut at = 0;
    let placed = there.iter().map(|(class, _, n)| {
        let x = percent(at as u64, family.rules as u64);
        at += n;
        (class, x, percent(*n as u64, family.rules as u64))
    });
    let placed: Vec<_> = placed.collect();
    html! {
        svg.stack viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label=(words.join(", ")) {
            @for (class, x, width) in &placed {
                rect class=(class) x=(x) width=(width) height="10" {}
            }
        }
    }
}

/// What exercises a rule, with links. There are thousands of these: what passed says so in a word.
pub(super) fn evidence(report: &Report, rule: &Rule) -> Markup {
    let chip = |ended: Ended, is_waived: bool| match ended {
        Ended::Pass => html! { "pass" },
        ended => mark::ended(ended, is_waived),
    };
    let is_waived = |evidence: &Evidence| {
        evidence.ended.is_bad() && judge::is_waived(report, &evidence.scenario)
    };
    html! {
        @if !rule.tests.is_empty() || !rule.scenarios.is_empty() {
            ul.evidence {
                @for test in &rule.tests {
                    li { (chip(test.ended, false)) ": test " code { (test.package) "::" (test.name) } }
                }
                @for evidence in &rule.scenarios {
                    li {
                        (chip(evidence.ended, is_waived(evidence)))
                        @match (evidence.cite, evidence.check) {
                            (true, true) => ": cited and checked by ",
                            (_, true) => ": checked by ",
                            _ => ": cited by ",
                        }
                        (mark::scenario_link(report, &evidence.scenario))
                    }
                }
            }
        }
    }
}
