//! What was excused, and what a reader should know although it changes nothing.

use super::mark;
use crate::figures::plural;
use crate::model::{Report, Subject, WaiverState};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// How many names are shown without opening anything.
const NAMES: usize = 3;

pub(super) fn section(report: &Report) -> Option<Markup> {
    Some(html! {
        h3 { "Waivers" }
        (waivers(report))
        h3 { "Deviations" }
        (deviations(report))
        (controls(report))
    })
}

fn waivers(report: &Report) -> Markup {
    if report.waivers.is_empty() {
        return html! { p { "Nothing is waived." } };
    }
    html! {
        div.scroll role="region" aria-label="Waivers" tabindex="0" {
            table.small {
                thead { tr {
                    th scope="col" { "Of" } th scope="col" { "Environment" } th scope="col" { "Reason" }
                    th scope="col" { "Owner" } th scope="col" { "Expires" } th scope="col" { "Here" }
                } }
                tbody {
                    @for waiver in &report.waivers {
                        tr {
                            th scope="row" { (subject(report, &waiver.subject)) }
                            td { (waiver.environment) }
                            td.wide { (waiver.reason) }
                            td { (waiver.owner) }
                            td { time datetime=(waiver.expires) { (waiver.expires) } }
                            td { (state(waiver.state)) }
                        }
                    }
                }
            }
        }
    }
}

fn subject(report: &Report, subject: &Subject) -> Markup {
    match subject {
        Subject::Scenario(name) => mark::scenario_link(report, name),
        Subject::Rule(id) => html! { a href={ "#r-" (id) } { (id) } },
        Subject::Claim(id) => html! { a href={ "#c-" (id) } { (id) } },
    }
}

fn state(state: WaiverState) -> &'static str {
    match state {
        WaiverState::Applies => "applies",
        WaiverState::OtherEnvironment => "another environment",
        WaiverState::NotRun => "not run",
    }
}

/// The scenarios' notes, each once.
fn deviations(report: &Report) -> Markup {
    let mut notes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for scenario in &report.scenarios {
        for note in &scenario.notes {
            notes.entry(note).or_default().push(scenario.full_name());
        }
    }
    if notes.is_empty() {
        return html! { p { "No scenario has a note: where goldens apply, all figures are equal to the tick." } };
    }
    html! {
        ul.notes {
            @for (note, names) in &notes {
                li {
                    (note) " "
                    @if names.len() <= NAMES { (links(report, names)) }
                    @else { details { summary { (plural(names.len(), "scenario")) } (links(report, names)) } }
                }
            }
        }
    }
}

fn links(report: &Report, names: &[String]) -> Markup {
    html! { @for name in names { (mark::scenario_link(report, name)) " " } }
}

/// A suite that cannot fail proves nothing: these had to.
fn controls(report: &Report) -> Markup {
    let controls: Vec<_> =
        report.scenarios.iter().filter(|scenario| scenario.must_fail_with.is_some()).collect();
    html! {
        @if !controls.is_empty() {
            h3 { "Negative controls" }
            p { "Each has a fault in it, and passes only if the fault is noticed, for the right reason." }
            ul {
                @for control in controls {
                    li {
                        (mark::scenario_link(report, &control.full_name()))
                        @if let Some(seed) = &control.seed { ": " code { (seed) } }
                        " must be noticed by “" (control.must_fail_with.as_deref().unwrap_or_default()) "” "
                        (mark::ended(control.ended, false))
                    }
                }
            }
        }
    }
}
