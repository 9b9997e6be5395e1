//! Drawn tables that are not perf's: names to the left, figures in columns between bars.

use super::line::{Line, shown};
use super::{Decimal, Drawn, DrawnRow, Malformed, Warning};

/// Reads the table whose head is the first of these lines: a head, a ruler, and rows of as many
/// cells. Also says how many lines it takes; `None` when none starts here.
///
/// # Errors
/// A row whose figures cannot be read, with its line.
pub(super) fn read(
    lines: &[Line],
    title: String,
    warnings: &mut Vec<Warning>,
) -> Option<Result<(Drawn, usize), Malformed>> {
    let head = cells(lines.first()?)?;
    let rulers = lines[1..].iter().take_while(|line| line.is_ruler()).count();
    let first = cells(lines.get(1 + rulers)?)?;
    // Other things are drawn with bars, too: what has no ruler and no figures is none of ours.
    let is_table = rulers > 0
        && head[1..].iter().all(|cell| figure(cell).is_none() && !cell.is_empty())
        && head.len() == first.len()
        && first[1..].iter().any(|cell| figure(cell).is_some());
    is_table.then(|| rows(lines, 1 + rulers, &head, title, warnings))
}

fn rows(
    lines: &[Line],
    mut at: usize,
    head: &[String],
    title: String,
    warnings: &mut Vec<Warning>,
) -> Result<(Drawn, usize), Malformed> {
    let mut table = Drawn {
        line: lines[0].number,
        title,
        head: head[0].clone(),
        columns: head[1..].to_vec(),
        rows: Vec::new(),
    };
    while let Some(line) = lines.get(at).filter(|line| !line.is_blank()) {
        at += 1;
        if line.is_ruler() {
            continue;
        }
        let cells = cells(line).filter(|cells| cells.len() == head.len()).ok_or_else(|| {
            let what = format!("{} is no row of {} cells", line.shown(), head.len());
            Malformed::new(line.number, what)
        })?;
        let mut figures = Vec::new();
        for cell in &cells[1..] {
            let wrong = || Malformed::new(line.number, format!("{} is no figure", shown(cell)));
            let (read, has_blank) = figure(cell).ok_or_else(wrong)?;
            if has_blank {
                let what = format!("a blank within {}: read as {read}", shown(cell));
                warnings.push(Warning::new(line.number, what));
            }
            figures.push(read);
        }
        table.rows.push(DrawnRow { line: line.number, name: cells[0].clone(), figures });
    }
    Ok((table, at))
}

/// What stands between bars; the head of the names may be empty. `None` without two cells.
fn cells(line: &Line) -> Option<Vec<String>> {
    let text = line.text.as_str();
    let inner = text.strip_suffix('|').map_or(text, |t| t.strip_prefix('|').unwrap_or(t));
    let cells: Vec<_> = inner.split('|').map(|cell| cell.trim().to_owned()).collect();
    (cells.len() >= 2).then_some(cells)
}

/// A figure, and whether there was a blank in it.
fn figure(cell: &str) -> Option<(Decimal, bool)> {
    let bare: String = cell.chars().filter(|c| *c != ' ').collect();
    Some((Decimal::read(&bare)?, bare.len() < cell.len()))
}
