//! Two tables beside each other, exit by exit.

use super::chart::chart;
use super::{Comparison, Counted, Figure, ratio};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Sets counts, their parts of what is listed, and mean times beside each other, with the ratios B to
/// A; rows by falling count. What differs is a count: the times are those of two machines.
pub fn counts(a: &Counted, b: &Counted) -> Comparison {
    let mut text = format!(
        "A: {}\nB: {}\n\n{:>40} {:>10} {:>10} {:>9} {:>8} {:>8} {:>12} {:>12} {:>9}\n",
        a.name,
        b.name,
        a.head,
        "count A",
        "count B",
        "B/A",
        "part A",
        "part B",
        "mean A",
        "mean B",
        "B/A"
    );
    let names: BTreeSet<_> = a.rows.keys().chain(b.rows.keys()).collect();
    let count = |side: &Counted, name: &str| side.rows.get(name).map_or(0, |row| row.count);
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|name| std::cmp::Reverse(count(a, name).max(count(b, name))));
    let mut different = 0;
    for name in &names {
        let (row_a, row_b) = (a.rows.get(*name), b.rows.get(*name));
        let (count_a, count_b) = (cell(a, row_a), cell(b, row_b));
        different += usize::from(count_a != count_b);
        let counts = row_a.zip(row_b).map(|(a, b)| (a.count as f64, b.count as f64));
        let mean = |row: Option<&Figure>| row.and_then(|row| row.mean);
        let (mean_a, mean_b) = (mean(row_a), mean(row_b));
        let _ = writeln!(
            text,
            "{name:>40} {count_a:>10} {count_b:>10} {:>9} {:>8} {:>8} {:>12} {:>12} {:>9}",
            times(counts),
            part(a, row_a),
            part(b, row_b),
            micros(mean_a),
            micros(mean_b),
            times(mean_a.zip(mean_b)),
        );
    }
    let whole = !a.is_partial && !b.is_partial;
    let totals = whole.then_some((a.total as f64, b.total as f64));
    let _ = writeln!(
        text,
        "{:>40} {:>10} {:>10} {:>9}\n",
        if whole { "all" } else { "listed" },
        a.total,
        b.total,
        times(totals)
    );
    let bars = chart(a, b, &names);
    if !bars.is_empty() {
        let _ = writeln!(text, "{bars}");
    }
    for (word, side) in [("A", a), ("B", b)] {
        if side.is_partial {
            let _ = writeln!(text, "note: {word} is not whole: what it does not list is unknown");
        }
    }
    let _ = match different {
        0 => writeln!(text, "no counts differ"),
        1 => writeln!(text, "1 count differs"),
        n => writeln!(text, "{n} counts differ"),
    };
    Comparison { text, different }
}

/// A row's count. One that is not there is 0, or unknown where rows were cut.
fn cell(side: &Counted, row: Option<&Figure>) -> String {
    match row {
        Some(row) => row.count.to_string(),
        None if side.is_partial => "?".into(),
        None => "0".into(),
    }
}

/// A row's part of what is listed.
fn part(side: &Counted, row: Option<&Figure>) -> String {
    let listed: u128 = side.rows.values().map(|row| u128::from(row.count)).sum();
    let part = |row: &Figure| format!("{:.2}%", row.count as f64 * 100.0 / listed as f64);
    row.filter(|_| listed > 0).map_or_else(|| "-".into(), part)
}

fn micros(nanos: Option<f64>) -> String {
    nanos.map_or_else(|| "-".into(), |nanos| format!("{:.2}us", nanos / 1000.0))
}

/// The ratio; with an exponent where decimals would not show it.
fn times(pair: Option<(f64, f64)>) -> String {
    match pair {
        Some((a, b)) if b > 0.0 && b / a < 0.001 => format!("{:.2e}", b / a),
        Some((a, b)) => ratio(a, b),
        None => "-".into(),
    }
}
