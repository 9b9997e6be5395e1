//! What failed, with the differences and the last exits.

use super::{mark, rounds};
use crate::figures::count;
use crate::judge;
use crate::model::{ClaimStanding, Ended, Postmortem, Report, RuleStanding, Scenario, Window};
use maud::{Markup, html};

pub(super) fn section(report: &Report) -> Option<Markup> {
    let scenarios: Vec<_> =
        report.scenarios.iter().filter(|scenario| scenario.ended != Ended::Pass).collect();
    let rules: Vec<_> =
        report.rules.iter().filter(|rule| rule.standing() == RuleStanding::Failed).collect();
    let claims: Vec<_> =
        report.claims.iter().filter(|claim| claim.standing == ClaimStanding::Fails).collect();
    let is_empty = scenarios.is_empty() && rules.is_empty() && claims.is_empty();
    if is_empty && report.problems.is_empty() {
        return None;
    }
    Some(html! {
        @for problem in &report.problems { p { "The target: " (problem) } }
        @if !rules.is_empty() {
            p {
                "Rules: "
                @for rule in &rules { a href={ "#r-" (rule.id) } { (rule.id) } " " }
            }
        }
        @if !claims.is_empty() {
            p {
                "Claims: "
                @for claim in &claims { a href={ "#c-" (claim.id) } { (claim.id) } " " }
            }
        }
        @for scenario in scenarios { (one(report, scenario)) }
    })
}

fn one(report: &Report, scenario: &Scenario) -> Markup {
    let name = scenario.full_name();
    html! {
        article.failure {
            h3 {
                a href={ "#" (mark::scenario_id(&name)) } { (name) } " "
                (mark::ended(scenario.ended, judge::is_waived(report, &name)))
            }
            (reasons(report, scenario))
            @if let Some(measured) = &scenario.measured {
                @for seen in &measured.postmortem { (postmortem(seen)) }
                @if measured.postmortem.is_empty() {
                    @for window in &measured.windows { (last_exits(window)) }
                }
            }
        }
    }
}

/// What it broke, and where it differs from its golden.
pub(super) fn reasons(report: &Report, scenario: &Scenario) -> Markup {
    html! {
        @if !scenario.broken.is_empty() {
            ul { @for reason in &scenario.broken { li { (mark::linked(report, reason)) } } }
        }
        @if !scenario.differences.is_empty() {
            div.scroll role="region" aria-label={ "Differences of " (scenario.full_name()) } tabindex="0" { table.diff {
                thead { tr { th scope="col" { "Differs from the golden" } th.n scope="col" { "− golden" } th.n scope="col" { "+ seen" } } }
                tbody {
                    @for difference in &scenario.differences {
                        tr {
                            th scope="row" { (difference.what) }
                            td.n.old { (difference.golden) }
                            td.n.new { (difference.seen) }
                        }
                    }
                }
            } }
        }
    }
}

/// Where a vCPU was when it ended badly.
fn postmortem(seen: &Postmortem) -> Markup {
    let vectors = |vectors: &[u8]| {
        let words: Vec<_> = vectors.iter().map(|vector| format!("{vector:#x}")).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(" ") }
    };
    html! {
        h4 { "vCPU " (seen.vcpu) " at its end" }
        dl.inline {
            dt { "RIP" } dd { (format!("{:#x}", seen.rip)) }
            dt { "RSP" } dd { (format!("{:#x}", seen.rsp)) }
            dt { "RFLAGS" } dd { (format!("{:#x}", seen.rflags)) }
            dt { "CR2" } dd { (format!("{:#x}", seen.cr2)) }
            dt { "TPR, PPR" } dd { (format!("{:#x}, {:#x}", seen.tpr, seen.ppr)) }
            dt { "IRR" } dd { (vectors(&seen.irr)) }
            dt { "ISR" } dd { (vectors(&seen.isr)) }
            dt { "Halted" } dd { (if seen.halted { "yes" } else { "no" }) }
            dt { "Shadow" } dd { (if seen.interrupt_shadow { "yes" } else { "no" }) }
        }
        @if !seen.last.is_empty() {
            table.small {
                caption { "Last exits, oldest first" }
                thead { tr { th scope="col" { "Exit" } th.n scope="col" { "RIP" } th.n scope="col" { "Tick" } } }
                tbody {
                    @for last in &seen.last {
                        tr {
                            th scope="row" { code { (last.exit) } }
                            td.n { (format!("{:#x}", last.rip)) }
                            td.n { (count(last.at)) }
                        }
                    }
                }
            }
        }
    }
}

/// A window's last exits, in order.
pub(super) fn last_exits(window: &Window) -> Markup {
    if window.order.is_empty() {
        return html! {};
    }
    let found = rounds::find(&window.order);
    html! {
        p.order {
            span.dim { "Last exits of " (window.label) ", vCPU " (window.vcpu) ": " }
            code { (found.before.join(" → ")) }
            @if found.times > 0 {
                @if !found.before.is_empty() { " → " }
                code { "(" (found.round.join(" → ")) ")" } " × " (found.times)
            }
        }
    }
}
