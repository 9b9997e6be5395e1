//! Exit times by kind, of the whole run.

use super::histogram;
use super::table::{Column, number, sortable, text};
use crate::figures::{count, micros};
use crate::model::{Report, Stats};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::ops::Range;

const COLUMNS: [Column; 8] = [
    text("Exit"),
    number("Scenarios"),
    number("Samples"),
    number("Min µs"),
    number("Max µs"),
    number("Mean µs"),
    number("± %"),
    text("Distribution"),
];

#[derive(Default)]
struct Kind {
    scenarios: u64,
    stats: Stats,
}

pub(super) fn section(report: &Report) -> Option<Markup> {
    let kinds = kinds(report);
    if kinds.is_empty() {
        return None;
    }
    let tsc_khz = report.environment.tsc_khz();
    let span = histogram::span(kinds.values().map(|kind| &kind.stats));
    let rows = html! {
        @for (name, kind) in &kinds { (row(name, kind, &span, tsc_khz)) }
    };
    let shortest = histogram::interval(span.start, tsc_khz);
    let longest = histogram::interval(span.end - 1, tsc_khz);
    Some(html! {
        p {
            "All windows of all scenarios together. A time runs from #VMEXIT to the next VMRUN; the guest’s own "
            "time is never in it, that of a halt is. Distributions share one axis, a column for each power of two: "
            "from " (shortest) " on the left to " (longest) " on the right, each as high as its most frequent column."
            @if report.environment.class == "tcg-icount" {
                " In this class a nanosecond is an instruction of the hypervisor: times say how much code ran."
            }
        }
        (sortable("Exits by kind", &COLUMNS, &rows))
    })
}

fn kinds(report: &Report) -> BTreeMap<&str, Kind> {
    let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
    for scenario in &report.scenarios {
        let windows = scenario.measured.iter().flat_map(|measured| &measured.windows);
        let mut own: BTreeMap<&str, Stats> = BTreeMap::new();
        for exit in windows.flat_map(|window| &window.exits).filter(|exit| exit.stats.count > 0) {
            own.entry(&exit.exit).or_default().merge(&exit.stats);
        }
        for (name, stats) in own {
            let kind = kinds.entry(name).or_default();
            kind.scenarios += 1;
            kind.stats.merge(&stats);
        }
    }
    kinds
}

fn row(name: &str, kind: &Kind, span: &Range<usize>, tsc_khz: u32) -> Markup {
    let stats = &kind.stats;
    html! {
        tr {
            th scope="row" { code { (name) } }
            td.n { (count(kind.scenarios)) }
            td.n { (count(stats.count)) }
            td.n { (micros(stats.min as f64, tsc_khz)) }
            td.n { (micros(stats.max as f64, tsc_khz)) }
            td.n { (micros(stats.mean(), tsc_khz)) }
            td.n { (format!("{:.2}", stats.relative_error())) }
            td.axis { (histogram::draw(stats, span, tsc_khz)) }
        }
    }
}
