//! Counts as bars, two to an exit, for a terminal.

use super::Counted;
use std::fmt::Write;

/// Characters of the longest bar.
const WIDTH: usize = 48;
/// Exits that are drawn; the rest is in the table above.
const ROWS: usize = 8;
/// Eighths of a character, from none.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The most frequent exits of either side, on one linear scale.
pub(super) fn chart(a: &Counted, b: &Counted, names: &[&String]) -> String {
    let count = |side: &Counted, name: &str| side.rows.get(name).map(|row| row.count);
    let both = |name: &str| [count(a, name), count(b, name)];
    let most = names.iter().flat_map(|name| both(name)).flatten().max().unwrap_or_default();
    if most == 0 {
        return String::new();
    }
    let drawn = &names[..names.len().min(ROWS)];
    let width = drawn.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for name in drawn {
        for (side, (count, partial)) in
            both(name).into_iter().zip([a.is_partial, b.is_partial]).enumerate()
        {
            let name = if side == 0 { name.as_str() } else { "" };
            let letter = ["A", "B"][side];
            let figure = match count {
                Some(count) => count.to_string(),
                None if partial => "?".into(),
                None => "0".into(),
            };
            let bar = bar(count.unwrap_or_default(), most);
            let space = if bar.is_empty() { "" } else { " " };
            let _ = writeln!(text, "{name:>width$} {letter} {bar}{space}{figure}");
        }
    }
    if names.len() > ROWS {
        let _ = writeln!(text, "{:>width$}   and {} more", "", names.len() - ROWS);
    }
    text
}

/// A bar of eighths; what is not nothing is at least one of them.
fn bar(count: u64, most: u64) -> String {
    let eighths = (u128::from(count) * (WIDTH * 8) as u128).div_ceil(u128::from(most)) as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_nothing_else_has_none() {
        assert_eq!(bar(0, 9), "");
        assert_eq!(bar(1, 1_000_000), "▏");
        assert_eq!(bar(9, 9).chars().count(), WIDTH);
        assert_eq!(bar(1, 2), "█".repeat(WIDTH / 2));
    }
}
