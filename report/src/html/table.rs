//! Tables that the script can sort and filter, and that scroll by themselves where they are too wide.

use maud::{Markup, html};

/// A column's head.
pub(super) struct Column {
    /// What it says.
    pub head: &'static str,
    /// Whether it holds numbers.
    pub is_number: bool,
    /// Whether the script offers its values for choice.
    pub choice: bool,
}

pub(super) const fn text(head: &'static str) -> Column {
    Column { head, is_number: false, choice: false }
}

pub(super) const fn choice(head: &'static str) -> Column {
    Column { head, is_number: false, choice: true }
}

pub(super) const fn number(head: &'static str) -> Column {
    Column { head, is_number: true, choice: false }
}

/// A table that can be sorted and filtered.
pub(super) fn sortable(name: &str, columns: &[Column], rows: &Markup) -> Markup {
    html! {
        div.scroll role="region" aria-label=(name) tabindex="0" {
            table.data data-table=(name) {
                caption { (name) }
                thead { tr {
                    @for column in columns {
                        th scope="col" class=[column.is_number.then_some("n")]
                            data-choice=[column.choice.then_some("")] { (column.head) }
                    }
                } }
                tbody { (rows) }
            }
        }
    }
}
