//! All scenarios: a table of all, then each of them, by suite.

use super::table::{Column, choice, number, sortable, text};
use super::{mark, scenario};
use crate::figures::{count, plural};
use crate::judge;
use crate::model::{Ended, Report, Scenario};
use maud::{Markup, html};

const COLUMNS: [Column; 7] = [
    text("Scenario"),
    choice("Silicon"),
    choice("Policy"),
    number("vCPUs"),
    number("Exits"),
    number("Ticks"),
    choice("Verdict"),
];

pub(super) fn section(report: &Report) -> Option<Markup> {
    if report.scenarios.is_empty() {
        return None;
    }
    let rows = html! { @for scenario in &report.scenarios { (row(report, scenario)) } };
    Some(html! {
        (sortable("All scenarios", &COLUMNS, &rows))
        h3 { "Each by itself" }
        @for suite in suites(report) {
            details.suite {
                summary {
                    span.name { (suite[0].suite) }
                    span.right { (tally(suite)) }
                }
                @for scenario in suite { (scenario::details(report, scenario)) }
            }
        }
    })
}

/// Neighbours of one suite.
fn suites(report: &Report) -> impl Iterator<Item = &[Scenario]> {
    report.scenarios.chunk_by(|a, b| a.suite == b.suite)
}

fn tally(suite: &[Scenario]) -> String {
    let passed = suite.iter().filter(|scenario| scenario.ended == Ended::Pass).count();
    let all = plural(suite.len(), "scenario");
    if passed == suite.len() {
        format!("{all}, all passed")
    } else {
        format!("{all}, {passed} passed")
    }
}

fn row(report: &Report, scenario: &Scenario) -> Markup {
    let name = scenario.full_name();
    let is_waived = scenario.ended != Ended::Pass && judge::is_waived(report, &name);
    html! {
        tr {
            th scope="row" { a href={ "#" (mark::scenario_id(&name)) } { (name) } }
            td { (scenario.silicon) }
            td { (scenario.policy) }
            td.n { (scenario.vcpus) }
            td.n { (count(scenario.exits())) }
            td.n { (count(scenario.ticks())) }
            td { (mark::ended(scenario.ended, is_waived)) }
        }
    }
}
