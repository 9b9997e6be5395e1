//! What is said below a drawn table, against its figures: `"ipi test run" ... (~2.28% )`.

use super::line::Line;
use super::{Decimal, Drawn, Warning};

/// Lines below a table in which a claim about it is looked for.
const REACH: usize = 30;

/// Warns of percentages that two rows of a column do not give, relative to neither of them.
pub(super) fn check(table: &Drawn, below: &[Line], warnings: &mut Vec<Warning>) {
    let [a, b] = &table.rows[..] else { return };
    for paragraph in below[..below.len().min(REACH)].split(|line| line.is_blank()) {
        let text: Vec<_> = paragraph.iter().map(|line| line.text.as_str()).collect();
        let text = text.join(" ");
        let Some((claimed, step)) = percentage(&text) else { continue };
        for (column, name) in table.columns.iter().enumerate() {
            if !text.contains(&format!("\"{name}\"")) {
                continue;
            }
            let (x, y) = (a.figures[column].value(), b.figures[column].value());
            let change = (x - y).abs() * 100.0;
            let [of_a, of_b] = [change / x, change / y];
            // Rounded or cut.
            let fits = |seen: f64| seen >= claimed - step / 2.0 && seen < claimed + step;
            if !fits(of_a) && !fits(of_b) {
                let (a, b) = (&a.name, &b.name);
                let what = format!(
                    "{claimed} % is said of `{name}`, but `{a}` and `{b}` differ by {of_a:.2} % of \
                     `{a}`, {of_b:.2} % of `{b}`"
                );
                warnings.push(Warning::new(paragraph[0].number, what));
            }
        }
    }
}

/// The only percentage in brackets, and the value of one in its last place.
fn percentage(text: &str) -> Option<(f64, f64)> {
    let (_, inner) = text.split_once('(')?;
    let (inner, rest) = inner.split_once(')')?;
    let is_only = !rest.contains("%)");
    let inner = inner.trim().trim_start_matches('~').trim_end().strip_suffix('%')?;
    let claimed = Decimal::read(inner.trim()).filter(|_| is_only)?;
    Some((claimed.value(), claimed.step()))
}
