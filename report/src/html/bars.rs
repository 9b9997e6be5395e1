//! Exits of several scenarios side by side, as bars.

use crate::figures::count;
use crate::model::Scenario;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Height of a bar, and of what stands between two kinds of exits.
const BAR: usize = 13;
const GAP: usize = 9;
/// Where bars begin and how long the longest is.
const LEFT: usize = 210;
const LENGTH: usize = 370;
const WIDTH: usize = 680;
/// Width of a letter of a label.
const LETTER: usize = 6;

/// Exits by name, of all windows.
pub(super) fn exits(scenario: &Scenario) -> BTreeMap<&str, u64> {
    let windows = scenario.measured.iter().flat_map(|measured| &measured.windows);
    let mut exits = BTreeMap::new();
    for exit in windows.flat_map(|window| &window.exits).filter(|exit| exit.stats.count > 0) {
        *exits.entry(exit.exit.as_str()).or_default() += exit.stats.count;
    }
    exits
}

/// One bar for each scenario and kind of exit; the label says what a scenario is called here.
pub(super) fn draw(scenarios: &[(&str, &Scenario)]) -> Markup {
    let counts: Vec<_> = scenarios.iter().map(|(_, scenario)| exits(scenario)).collect();
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, n) in counts.iter().flatten() {
        *names.entry(name).or_default() += n;
    }
    if names.is_empty() {
        return html! { p.note { "No exits in any of them." } };
    }
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let highest = counts.iter().flat_map(BTreeMap::values).copied().max().unwrap_or(1).max(1);
    let step = scenarios.len() * BAR + GAP;
    let of = |at: usize, name: &str| counts[at].get(name).copied().unwrap_or(0);
    let label = scenarios.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let names_end = LEFT - 14 - LETTER * label;
    html! {
        svg.bars viewBox={ "0 0 " (WIDTH) " " (names.len() * step) } role="img" aria-label=(words(scenarios, &names, &of)) {
            @for (row, (name, _)) in names.iter().enumerate() {
                text x=(names_end) y=(row * step + scenarios.len() * BAR / 2 + 4) text-anchor="end" { (name) }
                @for (at, (label, _)) in scenarios.iter().enumerate() {
                    @let n = of(at, name);
                    @let y = row * step + at * BAR;
                    @let length = (n as f64 / highest as f64 * LENGTH as f64).max(if n > 0 { 1.0 } else { 0.0 });
                    text.key x=(LEFT - 8) y=(y + 10) text-anchor="end" { (label) }
                    rect class={ "b" (at.min(1)) } x=(LEFT) y=(y + 1) width=(format!("{length:.1}")) height=(BAR - 2) {}
                    text x=(format!("{:.1}", LEFT as f64 + length + 6.0)) y=(y + 10) { (count(n)) }
                }
            }
        }
    }
}

/// All exits of one scenario above those of another, the longer one as long as the picture.
pub(super) fn pair(before: u64, after: u64) -> Markup {
    let highest = before.max(after).max(1) as f64;
    let length = |n: u64| format!("{:.1}", n as f64 / highest * 100.0);
    html! {
        svg.pair viewBox="0 0 100 14" preserveAspectRatio="none" role="img"
            aria-label={ "before " (before) ", after " (after) } {
            rect.b0 width=(length(before)) height="6" {}
            rect.b1 y="8" width=(length(after)) height="6" {}
        }
    }
}

/// The same for those who do not see it.
fn words(
    scenarios: &[(&str, &Scenario)],
    names: &[(&str, u64)],
    of: &dyn Fn(usize, &str) -> u64,
) -> String {
    let row = |(name, _): &(&str, u64)| {
        let each = scenarios
            .iter()
            .enumerate()
            .map(|(at, (label, _))| format!("{label} {}", of(at, name)));
        format!("{name}: {}", each.collect::<Vec<_>>().join(", "))
    };
    let rows: Vec<_> = names.iter().map(row).collect();
    format!("Exits. {}", rows.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn every_kind_of_exit_has_a_bar_for_each_scenario_and_words() {
        let report = sample::report();
        let (a, b) = (&report.scenarios[0], &report.scenarios[1]);
        let svg = draw(&[("a", a), ("b", b)]).into_string();
        assert!(svg.contains("aria-label=\"Exits. msr: a 200, b 200; hlt: a 100, b 0\""), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 4);
        assert!(svg.contains("width=\"370.0\"") && svg.contains("width=\"185.0\""), "{svg}");
        assert!(svg.contains("width=\"0.0\""), "{svg}");
    }

    #[test]
    fn without_exits_there_is_a_sentence() {
        let mut report = sample::report();
        report.scenarios[0].measured = None;
        let html = draw(&[("a", &report.scenarios[0])]).into_string();
        assert!(html.contains("No exits in any of them."));
    }

    #[test]
    fn a_pair_is_drawn_to_its_longer_bar() {
        let svg = pair(200, 50).into_string();
        assert!(svg.contains("width=\"100.0\"") && svg.contains("width=\"25.0\""), "{svg}");
        assert!(pair(0, 0).into_string().contains("before 0, after 0"));
    }
}
