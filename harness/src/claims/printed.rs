//! What can be claimed of how a report is printed.
//!
//! Each property is decided from a table's own figures, whether a document printed it or Trapline does.

use crate::import::{Decimal, Row, Table};
use serde::{Deserialize, Serialize};

/// A property of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// Rows are sorted by falling samples.
    Sorted,
    /// Samples% is, as far as it is printed, each row's part of the total, rounded.
    SharesRounded,
    /// Samples% is each row's part of one total, cut to a whole number. Rows that are not shown can make
    /// rounding fit as well: how many samples that takes is said.
    SharesCut,
    /// Rows with one sample exist, and have an error of ±0.00 %.
    SinglesExact,
}

impl Property {
    /// As the claims write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sorted => "sorted",
            Self::SharesRounded => "shares-rounded",
            Self::SharesCut => "shares-cut",
            Self::SinglesExact => "singles-exact",
        }
    }

    /// What shows that a table has it; an error says what shows that it has not.
    pub fn of(self, table: &Table) -> Result<String, String> {
        if table.rows.is_empty() {
            return Err("the table has no rows".into());
        }
        match self {
            Self::Sorted => sorted(&table.rows),
            Self::SharesRounded => rounded(table),
            Self::SharesCut => cut(&table.rows),
            Self::SinglesExact => singles(&table.rows),
        }
    }
}

fn sorted(rows: &[Row]) -> Result<String, String> {
    match rows.windows(2).find(|pair| pair[0].samples < pair[1].samples) {
        Some(pair) => Err(format!("{} stands above {}, and has fewer", pair[0].name, pair[1].name)),
        None => Ok(format!("{} rows by falling samples", rows.len())),
    }
}

fn rounded(table: &Table) -> Result<String, String> {
    let total = table.samples();
    for row in &table.rows {
        let Some(share) = row.samples_share else {
            return Err(format!("{} has no percentage", row.name));
        };
        let exact = row.samples as f64 / total as f64 * 100.0;
        // The last half of a digit is anybody's.
        if (share.value() - exact).abs() > share.step() * 0.5001 {
            return Err(format!("{} has {share} %, and {exact:.4} % of {total}", row.name));
        }
    }
    Ok(format!("{} percentages of {total}", table.rows.len()))
}

/// The totals that give a percentage: from `low` to below `high`.
fn totals(row: &Row, low: f64, high: f64) -> (f64, f64) {
    let samples = row.samples as f64 * 100.0;
    (samples / high, if low > 0.0 { samples / low } else { f64::INFINITY })
}

/// Where all of these ranges of totals, none of which is below `least`, overlap.
fn common(least: f64, totals: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    let all = totals.fold((least, f64::INFINITY), |a, b| (a.0.max(b.0), a.1.min(b.1)));
    (all.0 <= all.1).then_some(all)
}

fn cut(rows: &[Row]) -> Result<String, String> {
    let shares: Option<Vec<(&Row, f64)>> =
        rows.iter().map(|row| Some((row, row.samples_share.map(Decimal::value)?))).collect();
    let shares = shares.ok_or("a row has no percentage")?;
    if let Some((row, share)) = shares.iter().find(|(_, share)| share.fract() != 0.0) {
        return Err(format!("{} has {share:.2} %, which is not whole", row.name));
    }
    let least = rows.iter().map(|row| row.samples as f64).sum();
    let when_cut = shares.iter().map(|(row, share)| totals(row, *share, share + 1.0));
    let Some((low, high)) = common(least, when_cut) else {
        return Err("no total gives these percentages, cut".into());
    };
    let when_rounded =
        shares.iter().map(|(row, share)| totals(row, (share - 0.5).max(0.0), share + 0.5));
    let rounding = match common(least, when_rounded) {
        Some((low, _)) if low > least => {
            format!("rounding takes {:.0} samples more than the rows have", (low - least).ceil())
        }
        Some(_) => return Err("rounding gives the same percentages".into()),
        None => "rounding fits no total".into(),
    };
    Ok(format!("whole, cut from a total of {low:.0} to {high:.0}; {rounding}"))
}

fn singles(rows: &[Row]) -> Result<String, String> {
    let singles: Vec<_> = rows.iter().filter(|row| row.samples == 1).collect();
    if singles.is_empty() {
        return Err("no row has one sample".into());
    }
    match singles.iter().find(|row| row.error.is_none_or(|error| error.value() != 0.0)) {
        Some(row) => Err(format!("{} has one sample, and another error than ±0.00 %", row.name)),
        None => Ok(format!("{} with one sample, ±0.00 %", singles.len())),
    }
}

#[cfg(test)]
mod tests;
