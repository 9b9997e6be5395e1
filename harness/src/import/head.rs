//! Heads of perf's tables.

use super::line::{Line, shown};
use super::{Malformed, Unit};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Samples,
    SamplesShare,
    TimeShare,
    Time,
    Min,
    Max,
    /// With the error behind it in the text report.
    Mean,
}

/// A head, and how many lines it takes.
pub(super) struct Head {
    pub event: String,
    pub columns: Vec<Column>,
    pub unit: Unit,
    pub lines: usize,
}

impl Head {
    /// Reads the head that starts at the first of these lines; `None` when none does.
    ///
    /// # Errors
    /// A column that perf does not have, has twice, or that is not whole.
    pub fn read(lines: &[Line]) -> Option<Result<Self, Malformed>> {
        let words = lines.first()?.words();
        let is = |word: &String, one: &str| word.eq_ignore_ascii_case(one);
        let samples = words
            .windows(2)
            .position(|w| is(&w[0], "samples") && (is(&w[1], "samples%") || is(&w[1], "sample%")))
            .filter(|&place| place > 0)?;
        let event = words[..samples].join(" ");
        let mut rest = words[samples..].to_vec();
        let mut taken = 1;
        // A mailer that wraps the rows wraps the head, too.
        while let Some(line) = lines.get(taken)
            && !line.is_blank()
            && taken < 3
            && line.words().iter().all(|word| is_head_word(word))
        {
            rest.extend(line.words());
            taken += 1;
        }
        Some(columns(&rest, lines[0].number).map(|(columns, unit)| Self {
            event,
            columns,
            unit,
            lines: taken,
        }))
    }
}

fn is_head_word(word: &str) -> bool {
    let words = ["min", "max", "avg", "mean", "time", "ns", "time%"];
    words.iter().any(|one| word.eq_ignore_ascii_case(one))
}

fn columns(words: &[String], line: u32) -> Result<(Vec<Column>, Unit), Malformed> {
    let words: Vec<_> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let mut words = words.iter().map(String::as_str).peekable();
    let (mut columns, mut unit) = (Vec::new(), Unit::Us);
    while let Some(word) = words.next() {
        let mut time = || words.next_if_eq(&"time").is_some();
        let column = match word {
            "samples" => Column::Samples,
            "samples%" | "sample%" => Column::SamplesShare,
            "time%" => Column::TimeShare,
            "time" => Column::Time,
            "min" if time() => Column::Min,
            "max" if time() => Column::Max,
            "avg" | "mean" if time() => Column::Mean,
            "ns" if !columns.is_empty() => {
                unit = Unit::Ns;
                continue;
            }
            word => {
                let what = format!("{} is no column of perf's tables", shown(word));
                return Err(Malformed::new(line, what));
            }
        };
        if columns.contains(&column) {
            return Err(Malformed::new(line, format!("the column {} is there twice", shown(word))));
        }
        columns.push(column);
    }
    Ok((columns, unit))
}
