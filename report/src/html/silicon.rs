//! What silicon changes: the same guest with it and without.

use super::pairs::{Pair, find};
use super::table::{Column, choice, number, sortable, text};
use super::{bars, mark};
use crate::figures::count;
use crate::model::Report;
use maud::{Markup, html};

const COLUMNS: [Column; 7] = [
    text("With"),
    choice("Silicon"),
    choice("Policy"),
    number("Exits before"),
    number("Exits after"),
    number("Change %"),
    text("Exits by kind"),
];

pub(super) fn section(report: &Report) -> Option<Markup> {
    let pairs = find(report);
    if pairs.is_empty() {
        return None;
    }
    let rows = html! { @for pair in &pairs { (row(pair)) } };
    Some(html! {
        p {
            "The same guest, machine and parameters, without any feature and with the named silicon. Bars are exits "
            "before (grey) and after (blue)."
        }
        (sortable("Before and after", &COLUMNS, &rows))
    })
}

fn row(pair: &Pair<'_>) -> Markup {
    let (before, after) = (pair.before.exits(), pair.after.exits());
    let (old, new) = (pair.before.full_name(), pair.after.full_name());
    html! {
        tr {
            th scope="row" {
                a href={ "#" (mark::scenario_id(&new)) } { (new) }
                br;
                span.dim { "before: " a href={ "#" (mark::scenario_id(&old)) } { (pair.before.name) } }
            }
            td { (pair.after.silicon) }
            td {
                @if pair.before.policy != pair.after.policy { (pair.before.policy) " → " }
                (pair.after.policy)
            }
            td.n { (count(before)) }
            td.n { (count(after)) }
            td.n { (change(before, after)) }
            td.wide {
                details {
                    summary { (bars::pair(before, after)) " by kind" }
                    (bars::draw(&[("before", pair.before), ("after", pair.after)]))
                }
            }
        }
    }
}

/// In percent, with a sign; a dash where nothing was before.
fn change(before: u64, after: u64) -> String {
    if before == 0 {
        return "–".into();
    }
    let change = (after as f64 - before as f64) / before as f64 * 100.0;
    // A true minus is as wide as a plus.
    format!("{change:+.1}").replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(change(200, 100), "\u{2212}50.0");
        assert_eq!(change(100, 150), "+50.0");
        assert_eq!(change(100, 100), "+0.0");
        assert_eq!(change(0, 5), "–");
    }
}
