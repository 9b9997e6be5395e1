//! What the figures of a table say about each other.

use super::line::shown;
use super::share::{self, Part};
use super::{Decimal, Row, Table, Unit, Warning, canonical};
use std::collections::BTreeSet;

/// Rounding errors of this program itself, relative.
const TINY: f64 = 1e-9;

/// Warns of everything that does not fit together.
pub(super) fn check(table: &Table, warnings: &mut Vec<Warning>) {
    let mut names = BTreeSet::new();
    for row in &table.rows {
        of_row(row, warnings);
        if !names.insert(&row.name) {
            let what = format!("a second row {}", shown(&row.name));
            warnings.push(Warning::new(row.line, what));
        }
    }
    for pair in table.rows.windows(2) {
        if pair[0].samples < pair[1].samples {
            let what =
                format!("the row {} has more samples than the one above it", shown(&pair[1].name));
            warnings.push(Warning::new(pair[1].line, what));
        }
    }
    sums(table, warnings);
    shares(table, warnings);
}

fn of_row(row: &Row, warnings: &mut Vec<Warning>) {
    let name = shown(&row.name);
    let mut warn = |what: String| warnings.push(Warning::new(row.line, what));
    let today = canonical(&row.name);
    if !today.eq_ignore_ascii_case(&row.name) {
        warn(format!("{name} is `{today}` today, and is compared as that"));
    }
    let out_of_order = |a: Option<Decimal>, b: Option<Decimal>| {
        a.zip(b).is_some_and(|(a, b)| a.value() > b.value() + TINY)
    };
    if out_of_order(row.min, row.mean)
        || out_of_order(row.mean, row.max)
        || out_of_order(row.min, row.max)
    {
        warn(format!("the mean of {name} is not between its shortest and its longest"));
    }
    let differs = |a: Option<Decimal>, b: Option<Decimal>| a.zip(b).is_some_and(|(a, b)| a != b);
    let has_error = row.error.is_some_and(|error| error.value() > 0.0);
    if row.samples == 1 && (differs(row.min, row.max) || differs(row.min, row.mean) || has_error) {
        warn(format!("{name} has one sample, but more than one time"));
    }
}

/// The rows' sums against the totals.
fn sums(table: &Table, warnings: &mut Vec<Warning>) {
    let Some(totals) = &table.totals else {
        let what = match table.cut {
            true => "rows were cut from this table, and its totals",
            false => "this table has no totals",
        };
        return warnings.push(Warning::new(table.line, what));
    };
    let samples: u128 = table.rows.iter().map(|row| u128::from(row.samples)).sum();
    if samples != u128::from(totals.samples) {
        let what = format!("the rows have {samples} samples, the totals {}", totals.samples);
        warnings.push(Warning::new(totals.line, what));
    }
    let times: Option<Vec<_>> = table.rows.iter().map(Row::time_range).collect();
    let Some(times) = times else { return };
    let sum = |of: fn(&(f64, f64)) -> f64| times.iter().map(of).sum::<f64>();
    let (low, high) = (sum(|t| t.0), sum(|t| t.1));
    let (time, half) = (totals.time.value(), totals.time.step() / 2.0);
    if time + half < low * (1.0 - TINY) || time - half > high * (1.0 + TINY) {
        let what = format!("the rows have {low:.2} to {high:.2} us, the totals {time:.2} us");
        warnings.push(Warning::new(totals.line, what));
    }
}

/// Both columns of percentages, against the totals or, where there are none, each other.
fn shares(table: &Table, warnings: &mut Vec<Warning>) {
    let whole = table.unit == Unit::Ns;
    let part = |row: &Row, weight: Option<(f64, f64)>, share: Option<Decimal>| {
        let (low, high) = weight?;
        Some(Part { line: row.line, name: row.name.clone(), low, high, share: share?, whole })
    };
    let samples = |row: &Row| (row.samples as f64, row.samples as f64);
    let by_samples = table.rows.iter().map(|row| part(row, Some(samples(row)), row.samples_share));
    let by_samples: Vec<_> = by_samples.flatten().collect();
    let by_time = table.rows.iter().map(|row| part(row, row.time_range(), row.time_share));
    let by_time: Vec<_> = by_time.flatten().collect();
    if let Some(totals) = &table.totals {
        let samples = totals.samples as f64;
        share::of_total("Samples%", &by_samples, (samples, samples), warnings);
        let (time, half) = (totals.time.value(), totals.time.step() / 2.0);
        share::of_total("Time%", &by_time, (time - half, time + half), warnings);
        return;
    }
    share::of_each_other("Time%", &by_time, warnings);
    let Some((low, high)) = share::of_each_other("Samples%", &by_samples, warnings) else { return };
    missing(table, low, high, warnings);
}

/// How many samples the missing rows have, and whether they can all be below the last one.
fn missing(table: &Table, low: f64, high: f64, warnings: &mut Vec<Warning>) {
    /// More kinds of exits than a table has below its fourth row.
    const MANY: f64 = 10.0;
    let listed: f64 = table.rows.iter().map(|row| row.samples as f64).sum();
    // The totals are whole.
    let (low, high) = ((low - listed).ceil(), (high - listed).floor());
    let Some(last) = table.rows.last().filter(|_| low > 0.0 && high.is_finite()) else { return };
    let mut what =
        format!("rows with {low:.0} to {high:.0} samples are missing, by the percentages");
    let rows = (low / last.samples.max(1) as f64).ceil();
    if rows > MANY {
        what += &format!(
            "; below {}, which has {}, that would be {rows:.0} rows at least: some are missing \
             further up, too",
            shown(&last.name),
            last.samples
        );
    }
    warnings.push(Warning::new(table.line, what));
}
