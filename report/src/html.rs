//! The page: one file, which asks no host for anything and can be read without its script.
//!
//! Sections in the order of interest: what it comes to, what failed, where it ran, rules, claims,
//! exits, scenarios, what was excused. Details are `<details>`: a link into one opens it, by the
//! browser itself, and paper shows what is open. The script only sorts and filters.

mod bars;
mod claims;
mod coverage;
mod deviations;
mod environment;
mod exits;
mod failures;
mod frame;
mod histogram;
mod kinds;
mod mark;
mod pairs;
mod register;
mod rounds;
mod rules;
mod scenario;
mod scenarios;
mod silicon;
mod table;
mod timeline;
mod verdict;

use crate::model::Report;
use maud::html;

/// The whole page.
pub fn page(report: &Report) -> String {
    let sections = [
        frame::Section { id: "verdict", title: "Verdict", body: verdict::section(report) },
        frame::Section { id: "failures", title: "Failures", body: failures::section(report) },
        frame::Section {
            id: "environment",
            title: "Environment and provenance",
            body: environment::section(report),
        },
        frame::Section { id: "rules", title: "Rules", body: rules::section(report) },
        frame::Section { id: "claims", title: "Claims", body: claims::section(report) },
        frame::Section { id: "silicon", title: "Before and after", body: silicon::section(report) },
        frame::Section { id: "exits", title: "Exits by kind", body: kinds::section(report) },
        frame::Section { id: "scenarios", title: "Scenarios", body: scenarios::section(report) },
        frame::Section {
            id: "deviations",
            title: "Deviations and waivers",
            body: deviations::section(report),
        },
    ];
    html! { (frame::page(report, &sections)) }.into_string()
}

#[cfg(test)]
mod tests;
