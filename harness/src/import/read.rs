//! From text to tables.

use super::head::Head;
use super::line::{Line, lines, shown};
use super::{Decimal, FORMAT, Import, KIND, Malformed, Table, Totals, Unit, Warning};
use super::{check, claim, drawn, row};

/// How the line above a table of perf begins.
const ABOVE: &str = "Analyze events for ";

/// How the line below it begins, and how it goes on.
const BELOW: (&str, &str) = ("Total Samples:", "Total events handled time:");

/// Tables that are read at most.
const TABLES: usize = 10_000;

/// Reads every table of a text.
///
/// # Errors
/// The first line that cannot be read, or line 1 when there is no table at all.
pub fn read(bytes: &[u8]) -> Result<Import, Malformed> {
    let lines = lines(bytes)?;
    let mut import = Import {
        kind: KIND.into(),
        format: FORMAT,
        tables: Vec::new(),
        drawn: Vec::new(),
        warnings: Vec::new(),
    };
    // `above` is where the text before the next table begins.
    let (mut at, mut above) = (0, 0);
    while let Some(line) = lines.get(at) {
        let title = |end: usize| title(&lines[above..end]);
        if let Some(head) = Head::read(&lines[at..]) {
            let mut odd = Vec::new();
            let (table, taken) = table(&lines[at..], head?, title(at), &mut odd)?;
            import.add(table, lines[at].quoted, odd);
            at += taken;
            above = at;
        } else if let Some(found) = drawn::read(&lines[at..], title(at), &mut import.warnings) {
            let (table, taken) = found?;
            at += taken;
            above = at;
            claim::check(&table, &lines[at..], &mut import.warnings);
            import.drawn.push(table);
        } else if line.text.starts_with(BELOW.0) {
            return Err(Malformed::new(line.number, "totals without a table before them"));
        } else {
            at += 1;
        }
        if import.tables.len() + import.drawn.len() > TABLES {
            let what = format!("there are more than {TABLES} tables");
            return Err(Malformed::new(lines[at - 1].number, what));
        }
    }
    if import.tables.is_empty() && import.drawn.is_empty() {
        let what = "no table of `perf kvm stat report` from here to the end: its head has \
                    `Samples` and `Samples%`";
        return Err(Malformed::new(1, what));
    }
    import.warnings.sort();
    Ok(import)
}

impl Import {
    /// Keeps a table unless it is another one's quotation.
    fn add(&mut self, table: Table, quoted: usize, odd: Vec<Warning>) {
        let bare = |row: &super::Row| super::Row { line: 0, ..row.clone() };
        let is_same = |other: &&Table| {
            other.rows.len() == table.rows.len()
                && other.event == table.event
                && other.rows.iter().zip(&table.rows).all(|(a, b)| bare(a) == bare(b))
        };
        if quoted > 0
            && !table.rows.is_empty()
            && let Some(first) = self.tables.iter().find(is_same)
        {
            let what = format!("a quotation of the table in line {}: read once", first.line);
            self.warnings.push(Warning::new(table.line, what));
            return;
        }
        self.warnings.extend(odd);
        check::check(&table, &mut self.warnings);
        self.tables.push(table);
    }
}

/// What is said above a table: perf's own line, else the nearest one.
fn title(lines: &[Line]) -> String {
    let near = lines.iter().rev().take(6);
    let own = near.clone().find_map(|line| line.text.strip_prefix(ABOVE));
    let mut nearest = near.take(4).filter(|line| !line.is_blank() && !line.is_ruler());
    let title = own.or_else(|| nearest.next().map(|line| line.text.as_str())).unwrap_or_default();
    title.trim_end_matches(':').chars().take(100).collect()
}

/// Reads the table whose head was found; also says how many lines it takes.
fn table(
    lines: &[Line],
    head: Head,
    title: String,
    warnings: &mut Vec<Warning>,
) -> Result<(Table, usize), Malformed> {
    let mut table = Table {
        line: lines[0].number,
        title,
        event: head.event,
        unit: head.unit,
        rows: Vec::new(),
        totals: None,
        cut: false,
    };
    let mut at = head.lines;
    // Behind a blank line anything may stand, also the rows of a mailer that doubles line ends.
    let mut after_blank = false;
    while let Some(line) = lines.get(at) {
        let rest = &lines[at..];
        if line.is_blank() || line.is_ruler() {
            after_blank |= line.is_blank();
            at += 1;
        } else if line.text.starts_with(BELOW.0) {
            let (totals, taken) = totals(rest)?;
            at += taken;
            if table.unit == Unit::Ns {
                return Err(Malformed::new(line.number, "totals in us behind a table in ns"));
            }
            table.totals = Some(totals);
            break;
        } else if line.is_cut_mark() {
            table.cut = true;
            at += 1;
        } else if after_blank && !table.rows.is_empty() && !row::starts(line, true)
            || table.cut && !row::starts(line, true)
            || Head::read(rest).is_some()
        {
            break;
        } else {
            let (row, taken) = row::read(rest, &head.columns, table.unit, warnings)?;
            after_blank = false;
            table.rows.push(row);
            at += taken;
        }
    }
    if table.rows.is_empty() && table.totals.is_none() {
        return Err(Malformed::new(table.line, "the table has neither rows nor totals"));
    }
    Ok((table, at))
}

/// Reads the totals; also says how many lines they take.
fn totals(lines: &[Line]) -> Result<(Totals, usize), Malformed> {
    let line = lines[0].number;
    let mut text = lines[0].text.clone();
    let mut taken = 1;
    if !text.ends_with('.')
        && let Some(more) = lines.get(1)
        && !more.is_blank()
    {
        text = format!("{text} {}", more.text);
        taken = 2;
    }
    let parts = || {
        let (samples, time) = text.strip_prefix(BELOW.0)?.split_once(',')?;
        let samples = samples.trim();
        Decimal::read(samples)?;
        let time = time.trim().strip_prefix(BELOW.1)?.trim().strip_suffix("us.")?;
        Some(Totals { line, samples: samples.parse().ok()?, time: Decimal::read(time)? })
    };
    let wrong = || Malformed::new(line, format!("{} are no totals of perf", shown(&text)));
    Ok((parts().ok_or_else(wrong)?, taken))
}
