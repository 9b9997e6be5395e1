//! Claims of others, with what was expected and what was measured.

use super::table::{Column, choice, sortable, text};
use super::{bars, mark};
use crate::judge;
use crate::model::{Claim, Comparison, Report};
use maud::{Markup, html};

const COLUMNS: [Column; 3] = [text("Claim"), text("What is claimed"), choice("Standing")];

pub(super) fn section(report: &Report) -> Option<Markup> {
    if report.claims.is_empty() {
        return None;
    }
    let rows = html! { @for claim in &report.claims { (row(report, claim)) } };
    Some(html! {
        p.note {
            "What others measured or said, decided by exits and guest work. Recorded is what only silicon could decide, "
            "open what is not built yet; neither counts as held."
        }
        (sortable("All claims", &COLUMNS, &rows))
    })
}

fn row(report: &Report, claim: &Claim) -> Markup {
    html! {
        tr id={ "c-" (claim.id) } {
            th scope="row" { (claim.id) }
            td.wide {
                details {
                    summary { (claim.statement) }
                    dl.inline {
                        dt { "Source" } dd { (claim.source) }
                        @if !claim.figures.is_empty() { dt { "Its figures" } dd { (claim.figures) } }
                        @for (letter, name) in &claim.scenarios {
                            dt { code { (letter) } } dd { (mark::scenario_link(report, name)) }
                        }
                        @for predicted in &claim.predicted {
                            dt { "Predicted, not measured" } dd { (predicted) }
                        }
                        @if !claim.note.is_empty() { dt { "Note" } dd { (claim.note) } }
                        @if let Some(why) = &claim.undecided { dt { "Not decided" } dd { (why) } }
                    }
                    @for obstacle in &claim.obstacles { p { (obstacle) } }
                    (comparisons(&claim.comparisons))
                    (pictures(report, claim))
                }
            }
            td { (mark::claim(claim.standing, judge::is_claim_waived(report, claim))) }
        }
    }
}

fn comparisons(comparisons: &[Comparison]) -> Markup {
    html! {
        @if !comparisons.is_empty() {
            table.small {
                thead { tr {
                    th scope="col" { "Must hold" }
                    th.n scope="col" { "Expected" }
                    th.n scope="col" { "Measured" }
                    th scope="col" { "Holds" }
                } }
                tbody {
                    @for comparison in comparisons {
                        tr {
                            th scope="row" { code { (comparison.what) } }
                            td.n { (comparison.expected) }
                            td.n { (comparison.measured) }
                            td { @if comparison.holds { "yes" } @else { strong { "no" } } }
                        }
                    }
                }
            }
        }
    }
}

/// Bars, where there is something to set side by side.
fn pictures(report: &Report, claim: &Claim) -> Markup {
    let found = claim.scenarios.iter();
    let found = found.filter_map(|(letter, name)| Some((letter.as_str(), report.scenario(name)?)));
    let found: Vec<_> = found.collect();
    html! { @if found.len() > 1 { (bars::draw(&found)) } }
}
