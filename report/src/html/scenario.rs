//! One scenario, whole.

use super::{exits, failures, mark, timeline};
use crate::figures::{count, plural};
use crate::judge;
use crate::model::{Ended, Measured, Report, Scenario};
use maud::{Markup, html};
use std::collections::BTreeMap;

pub(super) fn details(report: &Report, scenario: &Scenario) -> Markup {
    let name = scenario.full_name();
    let is_waived = scenario.ended != Ended::Pass && judge::is_waived(report, &name);
    html! {
        details.scenario {
            summary {
                span.name { (scenario.name) } " "
                (mark::ended(scenario.ended, is_waived))
                span.right { (plural(scenario.exits() as usize, "exit")) }
            }
            // The id is inside: a browser opens what stands around a link's target.
            div id=(mark::scenario_id(&name)) {
                @if !scenario.about.is_empty() { p { (scenario.about) } }
                (configuration(report, scenario))
                (failures::reasons(report, scenario))
                @if let Some(measured) = &scenario.measured { (body(report, &name, measured)) }
                @if let Some(iteration) = &scenario.timeline { (timeline::draw(iteration)) }
                @for note in &scenario.notes { p.note { (note) } }
                @if !scenario.links.is_empty() {
                    p { @for link in &scenario.links { (mark::file(link)) " " } }
                }
            }
        }
    }
}

fn configuration(report: &Report, scenario: &Scenario) -> Markup {
    let params = scenario.params.iter().map(|(name, value)| format!("{name}={value}"));
    let machine = scenario.machine.iter().filter(|(_, on)| **on).map(|(name, _)| name.as_str());
    let machine = machine.collect::<Vec<_>>().join(", ");
    let vcpus = plural(usize::from(scenario.vcpus), "vCPU");
    let cores = plural(usize::from(scenario.cores), "core");
    html! {
        dl.inline {
            dt { "Guest" } dd { code { (scenario.payload) " " (params.collect::<Vec<_>>().join(" ")) } }
            dt { "Machine" } dd { (vcpus) " on " (cores) @if !machine.is_empty() { "; " (machine) } }
            dt { "Silicon" } dd {
                (scenario.silicon)
                @if !scenario.modeled.is_empty() { "; modeled: " (scenario.modeled.join(", ")) }
                @if !scenario.real.is_empty() { "; real: " (scenario.real.join(", ")) }
            }
            dt { "Policy" } dd { (scenario.policy) }
            @if let Some(seed) = &scenario.seed { dt { "Seeded fault" } dd { (seed) } }
            @if let Some(text) = &scenario.must_fail_with { dt { "Must fail with" } dd { (text) } }
            @if !scenario.cite.is_empty() { dt { "Expectations from" } dd { (mark::linked(report, &scenario.cite)) } }
        }
    }
}

fn body(report: &Report, name: &str, measured: &Measured) -> Markup {
    let tsc_khz = report.environment.tsc_khz();
    html! {
        @if measured.outcome != "done" || !measured.detail.is_empty() {
            p { "Ended with " code { (measured.outcome) } @if !measured.detail.is_empty() { ": " (measured.detail) } }
        }
        @for window in &measured.windows {
            (exits::table(window, &format!("{name}, window {}, vCPU {}", window.label, window.vcpu), tsc_khz))
            (failures::last_exits(window))
        }
        (checks(report, measured))
        @if !measured.values.is_empty() {
            p.order {
                span.dim { "Reported: " }
                @for (at, value) in measured.values.iter().enumerate() {
                    @if at > 0 { ", " }
                    (value.label) " " (count(value.value))
                    @if measured.windows.len() > 1 { span.dim { " (vCPU " (value.vcpu) ")" } }
                }
            }
        }
        (traps(measured))
        @if !measured.logs.is_empty() {
            details { summary { (plural(measured.logs.len(), "log line")) } pre { @for line in &measured.logs { (line) "\n" } } }
        }
    }
}

fn checks(report: &Report, measured: &Measured) -> Markup {
    let checks = &measured.checks;
    let several = checks.iter().any(|check| check.vcpu != checks[0].vcpu);
    let broken = checks.iter().filter(|check| check.expected != check.actual).count();
    html! {
        @if !checks.is_empty() {
            details open[broken > 0] {
                summary {
                    (plural(checks.len(), "check")) " of the guest"
                    @if broken > 0 { ", " (broken) " broken" } @else { ", all hold" }
                }
                table.small.nums {
                    thead { tr {
                        th scope="col" { "Check" }
                        @if several { th.n scope="col" { "vCPU" } }
                        th.n scope="col" { "Expected" }
                        th.n scope="col" { "Seen" }
                    } }
                    tbody {
                        @for check in checks {
                            tr class=[(check.expected != check.actual).then_some("broken")] {
                                th { (mark::linked(report, &check.label)) }
                                @if several { td { (check.vcpu) } }
                                td { (check.expected) }
                                td { (check.actual) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What the processor trapped, inside of windows and outside: on modeled silicon not all are exits.
fn traps(measured: &Measured) -> Markup {
    let mut traps: BTreeMap<&str, u64> = BTreeMap::new();
    for trap in &measured.traps {
        *traps.entry(&trap.exit).or_default() += trap.count;
    }
    let text: Vec<_> = traps.iter().map(|(exit, n)| format!("{exit} {}", count(*n))).collect();
    html! {
        @if !text.is_empty() {
            p.order { span.dim { "Traps of the whole scenario, its set-up too: " } (text.join(", ")) }
        }
    }
}
