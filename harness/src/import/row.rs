//! Rows of perf's tables.

use super::head::Column;
use super::line::{Line, shown};
use super::{Decimal, Malformed, Row, Unit, Warning};

/// Longest name that is read, in characters; perf has 40.
const NAME: usize = 80;

/// Lines that one row is wrapped over, at most.
const LINES: usize = 4;

/// Whether a line starts like a row: a name, a count and, if `strict`, a percentage.
pub(super) fn starts(line: &Line, strict: bool) -> bool {
    start(&line.words()).is_some_and(|(count, has_more)| count > 0 && (has_more || !strict))
}

/// Where the count is, and whether something follows it.
fn start(words: &[String]) -> Option<(usize, bool)> {
    let is_count = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
    (1..words.len()).find_map(|place| {
        let next = words.get(place + 1);
        let fits = next.is_none_or(|next| next.ends_with('%') || next == "-");
        (is_count(&words[place]) && fits).then_some((place, next.is_some()))
    })
}

/// Reads the row that starts at the first of these lines; also says how many lines it takes.
///
/// # Errors
/// Anything that is no row, with its line.
pub(super) fn read(
    lines: &[Line],
    columns: &[Column],
    unit: Unit,
    warnings: &mut Vec<Warning>,
) -> Result<(Row, usize), Malformed> {
    let first = &lines[0];
    let words = first.words();
    let Some((place, _)) = start(&words) else {
        let what = format!(
            "{} is no row: a name, a count and percentages were expected, or the totals",
            first.shown()
        );
        return Err(Malformed::new(first.number, what));
    };
    let name = words[..place].join(" ");
    if name.chars().count() > NAME {
        return Err(Malformed::new(first.number, "the name of this row is too long"));
    }
    let mut cells = Cells { lines, taken: 1, words, next: place };
    let mut row = Row {
        line: first.number,
        name,
        samples: 0,
        samples_share: None,
        time_share: None,
        time: None,
        min: None,
        max: None,
        mean: None,
        error: None,
    };
    let time = match unit {
        Unit::Us => "us",
        Unit::Ns => "",
    };
    for &column in columns {
        match column {
            Column::Samples => row.samples = cells.count()?,
            Column::SamplesShare => row.samples_share = cells.decimal("%")?,
            Column::TimeShare => row.time_share = cells.decimal("%")?,
            Column::Time => row.time = cells.decimal(time)?,
            Column::Min => row.min = cells.decimal(time)?,
            Column::Max => row.max = cells.decimal(time)?,
            Column::Mean => {
                row.mean = cells.decimal(time)?;
                if cells.peek() == Some("+-") {
                    cells.next += 1;
                    row.error = cells.decimal("%")?;
                }
            }
        }
    }
    if let Some(word) = cells.words.get(cells.next) {
        let what = format!("{} behind the last column of the row", shown(word));
        return Err(Malformed::new(cells.line(), what));
    }
    let whole = !columns.contains(&Column::Mean) || unit == Unit::Ns || row.error.is_some();
    if !whole || cells.is_short(&row, columns) {
        let what = format!("the row {} ends before its last column", shown(&row.name));
        warnings.push(Warning::new(row.line, what));
    }
    Ok((row, cells.taken))
}

/// The words of a row, which go on in the next line where a mailer wrapped it.
struct Cells<'l> {
    lines: &'l [Line],
    taken: usize,
    words: Vec<String>,
    next: usize,
}

impl Cells<'_> {
    fn line(&self) -> u32 {
        self.lines[self.taken - 1].number
    }

    /// The next word. A line that starts with a figure is no row, so it goes on with this one.
    fn peek(&mut self) -> Option<&str> {
        if self.next == self.words.len()
            && self.taken < LINES
            && let Some(line) = self.lines.get(self.taken)
        {
            let more = line.words();
            let goes_on = more.first().is_some_and(|word| {
                let digits = word.trim_end_matches("us").trim_end_matches('%');
                word == "+-" || Decimal::read(digits).is_some()
            });
            // `8042 irqs 10 1.00%` would be a name that starts with a figure; perf has none.
            if goes_on {
                (self.words, self.next, self.taken) = (more, 0, self.taken + 1);
            }
        }
        self.words.get(self.next).map(String::as_str)
    }

    fn count(&mut self) -> Result<u64, Malformed> {
        let word = self.peek().unwrap_or_default().to_owned();
        self.next += 1;
        // As many digits as a decimal has: what is larger is no count that a perf made.
        let count = Decimal::read(&word).and_then(|_| word.parse().ok());
        count.ok_or_else(|| Malformed::new(self.line(), format!("{} is no count", shown(&word))))
    }

    /// A figure with that unit; `None` where the row has ended, or has `-`.
    fn decimal(&mut self, unit: &str) -> Result<Option<Decimal>, Malformed> {
        let Some(word) = self.peek().map(str::to_owned) else { return Ok(None) };
        self.next += 1;
        if word == "-" {
            return Ok(None);
        }
        let figure = word.strip_suffix(unit).and_then(Decimal::read);
        figure.map(Some).ok_or_else(|| {
            let wanted = match unit {
                "%" => "percentage",
                "us" => "time in us",
                _ => "time in ns",
            };
            Malformed::new(self.line(), format!("{} is no {wanted}", shown(&word)))
        })
    }

    fn is_short(&self, row: &Row, columns: &[Column]) -> bool {
        columns.iter().any(|column| match column {
            Column::Samples => false,
            Column::SamplesShare => row.samples_share.is_none(),
            Column::TimeShare => row.time_share.is_none(),
            Column::Time => row.time.is_none(),
            Column::Min => row.min.is_none(),
            Column::Max => row.max.is_none(),
            Column::Mean => row.mean.is_none(),
        })
    }
}
