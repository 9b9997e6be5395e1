//! Percentages against what they are percentages of.

use super::line::shown;
use super::{Decimal, Warning};

/// Rounding errors of this program itself, relative.
const TINY: f64 = 1e-9;

/// A row's part of a total.
pub(super) struct Part {
    /// The row's line.
    pub line: u32,
    /// The row's name.
    pub name: String,
    /// The least that it can be, since it was rounded.
    pub low: f64,
    /// The most that it can be.
    pub high: f64,
    /// What was printed, in percent.
    pub share: Decimal,
    /// Whether the percentage was cut to a whole number instead of rounded.
    pub whole: bool,
}

impl Part {
    /// What the percentage can have been.
    fn range(&self) -> (f64, f64) {
        let share = self.share.value();
        match self.whole {
            true => (share, share + 1.0),
            false => (share - self.share.step() / 2.0, share + self.share.step() / 2.0),
        }
    }

    /// The totals that fit.
    fn totals(&self) -> (f64, f64) {
        let (low, high) = self.range();
        let most = if low > 0.0 { self.high * 100.0 / low } else { f64::INFINITY };
        (self.low * 100.0 / high, most)
    }

    /// The percentages that fit totals between these.
    fn shares(&self, (low, high): (f64, f64)) -> (f64, f64) {
        (self.low * 100.0 / high, self.high * 100.0 / low)
    }
}

/// Warns of percentages that are not those of a total between these.
pub(super) fn of_total(
    column: &str,
    parts: &[Part],
    total: (f64, f64),
    warnings: &mut Vec<Warning>,
) {
    if total.0 <= 0.0 {
        return;
    }
    for part in parts {
        let (low, high) = part.range();
        let (least, most) = part.shares(total);
        if high < least * (1.0 - TINY) || low > most * (1.0 + TINY) {
            let name = shown(&part.name);
            let what = format!(
                "{column} of {name} is {}, but its figures give {least:.3} to {most:.3}",
                part.share
            );
            warnings.push(Warning::new(part.line, what));
        }
    }
}

/// The totals that fit all percentages; warns and says `None` where no total does.
pub(super) fn of_each_other(
    column: &str,
    parts: &[Part],
    warnings: &mut Vec<Warning>,
) -> Option<(f64, f64)> {
    let listed: f64 = parts.iter().map(|part| part.low).sum();
    let least = parts.iter().max_by(|a, b| a.totals().0.total_cmp(&b.totals().0))?;
    let most = parts.iter().min_by(|a, b| a.totals().1.total_cmp(&b.totals().1))?;
    let (low, high) = (least.totals().0.max(listed), most.totals().1);
    if low <= high * (1.0 + TINY) {
        return Some((low, high));
    }
    let mut what = format!(
        "{column} {} of {} needs a total of at least {:.0}, {} of {} one of at most {:.0}",
        least.share,
        shown(&least.name),
        least.totals().0,
        most.share,
        shown(&most.name),
        most.totals().1,
    );
    let fits: Vec<_> =
        [least, most].iter().filter_map(|part| instead(part, parts, listed)).collect();
    if !fits.is_empty() {
        what += &format!(": {} would fit", fits.join(", or "));
    }
    warnings.push(Warning::new(least.line, what));
    None
}

/// What this part's percentage would be, if all others are right.
fn instead(part: &Part, parts: &[Part], listed: f64) -> Option<String> {
    let others = parts.iter().filter(|other| !std::ptr::eq(*other, part)).map(Part::totals);
    let (low, high) = others.fold((listed, f64::INFINITY), |a, b| (a.0.max(b.0), a.1.min(b.1)));
    if low > high || high.is_infinite() {
        return None;
    }
    let (least, most) = part.shares((low, high));
    let (least, most) = if part.whole { (least.floor(), most.floor()) } else { (least, most) };
    let range = if least == most { format!("{least}") } else { format!("{least:.2} to {most:.2}") };
    Some(format!("{range} of {}", shown(&part.name)))
}
