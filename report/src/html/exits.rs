//! A window's exits, in the columns of `perf kvm stat`.

use super::{histogram, register};
use crate::figures::{count, micros, percent};
use crate::model::{Exit, Stats, Window};
use maud::{Markup, html};
use std::ops::Range;

/// Exits of one name, with what they were about.
struct Group<'w> {
    name: &'w str,
    stats: Stats,
    details: Vec<&'w Exit>,
}

pub(super) fn table(window: &Window, name: &str, tsc_khz: u32) -> Markup {
    let groups = groups(window);
    let sum = |of: &dyn Fn(&Stats) -> u64| groups.iter().map(|group| of(&group.stats)).sum::<u64>();
    let (samples, time) = (sum(&|stats| stats.count), sum(&|stats| stats.sum));
    let span = histogram::span(groups.iter().map(|group| &group.stats));
    let row = |stats: &Stats| figures(stats, samples, time, &span, tsc_khz);
    html! {
        div.scroll role="region" aria-label=(name) tabindex="0" {
            table.exits {
                caption { "Window " (window.label) ", vCPU " (window.vcpu) span.right { (count(window.ticks)) " ticks, " (micros(window.ticks as f64, tsc_khz)) " µs" } }
                @if groups.is_empty() {
                    tbody { tr { td { "No exits." } } }
                } @else {
                    thead { tr {
                        th scope="col" { "Exit" }
                        th.n scope="col" { "Samples" }
                        th.n scope="col" { "Samples %" }
                        th.n scope="col" { "Time %" }
                        th.n scope="col" { "Min µs" }
                        th.n scope="col" { "Max µs" }
                        th.n scope="col" { "Mean µs" }
                        th.n scope="col" { "± %" }
                        th scope="col" { "Distribution" }
                    } }
                    tbody {
                        @for group in &groups {
                            tr { th { (group.name) } (row(&group.stats)) }
                            @for exit in &group.details {
                                tr.sub {
                                    th {
                                        code { (exit.detail) }
                                        @if let Some(name) = register::name(group.name, &exit.detail) { " " (name) }
                                    }
                                    (row(&exit.stats))
                                }
                            }
                        }
                    }
                    tfoot { tr {
                        th { "All" }
                        td { (count(samples)) } td {} td {} td {} td {}
                        td { (micros(time as f64, tsc_khz)) } td {} td { "µs in all" }
                    } }
                }
            }
        }
    }
}

fn figures(stats: &Stats, samples: u64, time: u64, span: &Range<usize>, tsc_khz: u32) -> Markup {
    html! {
        td { (count(stats.count)) }
        td { (percent(stats.count, samples)) }
        td { (percent(stats.sum, time)) }
        td { (micros(stats.min as f64, tsc_khz)) }
        td { (micros(stats.max as f64, tsc_khz)) }
        td { (micros(stats.mean(), tsc_khz)) }
        td { (format!("{:.2}", stats.relative_error())) }
        td { (histogram::draw(stats, span, tsc_khz)) }
    }
}

/// By falling count, as perf has them.
fn groups(window: &Window) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for exit in window.exits.iter().filter(|exit| exit.stats.count > 0) {
        let at = groups.iter().position(|group| group.name == exit.exit);
        let at = at.unwrap_or_else(|| {
            let (stats, details) = (Stats::default(), Vec::new());
            groups.push(Group { name: &exit.exit, stats, details });
            groups.len() - 1
        });
        groups[at].stats.merge(&exit.stats);
        if !exit.detail.is_empty() {
            groups[at].details.push(exit);
        }
    }
    groups.sort_by(|a, b| b.stats.count.cmp(&a.stats.count).then(a.name.cmp(b.name)));
    for group in &mut groups {
        group.details.sort_by_key(|exit| std::cmp::Reverse(exit.stats.count));
    }
    groups
}
