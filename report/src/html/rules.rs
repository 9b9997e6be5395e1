//! The rules, each with its source and what exercises it.

use super::table::{Column, choice, number, sortable, text};
use super::{coverage, mark};
use crate::figures::count;
use crate::judge;
use crate::model::{Report, Rule};
use maud::{Markup, html};

const COLUMNS: [Column; 6] = [
    text("Rule"),
    choice("Area"),
    text("What it demands"),
    number("Tests"),
    number("Scenarios"),
    choice("Standing"),
];

pub(super) fn section(report: &Report) -> Option<Markup> {
    if report.rules.is_empty() {
        return None;
    }
    let rows = html! { @for rule in &report.rules { (row(report, rule)) } };
    Some(html! {
        (coverage::chart(report))
        p.note {
            "A rule is held when something that exercises it ran and nothing of it failed. D marks what the sources "
            "leave open and the model decided: on silicon it is recorded, never failed."
        }
        (sortable("All rules", &COLUMNS, &rows))
    })
}

fn row(report: &Report, rule: &Rule) -> Markup {
    html! {
        tr id={ "r-" (rule.id) } {
            th scope="row" { (rule.id) @if rule.model_defined { " " abbr title="model-defined" { "D" } } }
            td { (rule.area) }
            td.wide {
                details {
                    summary { (rule.statement) }
                    dl.inline {
                        @if let Some(exit) = &rule.exit { dt { "Exit" } dd { (exit) } }
                        dt { "Source" } dd { (rule.source) }
                        @if !rule.tags.is_empty() { dt { "Tags" } dd { (rule.tags.join(", ")) } }
                    }
                    (coverage::evidence(report, rule))
                }
            }
            td.n { (count(rule.tests.len() as u64)) }
            td.n { (count(rule.scenarios.len() as u64)) }
            td { (mark::rule(rule.standing(), judge::is_rule_waived(report, rule))) }
        }
    }
}
