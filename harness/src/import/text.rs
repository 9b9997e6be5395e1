//! Imports, printed in perf's form.

use super::{Decimal, Drawn, Import, Row, Table, Unit};
use std::fmt::Write;

/// Width of the name column, in characters, as in perf since 2023.
const NAME: usize = 40;

/// All tables and all warnings.
pub fn text(import: &Import) -> String {
    let mut text = String::new();
    for (number, table) in import.tables.iter().enumerate() {
        let _ = writeln!(text, "Table {}, line {}", number + 1, table.line);
        text += &table_text(table);
    }
    for drawn in &import.drawn {
        text += &drawn_text(drawn);
    }
    text + &warnings(import)
}

/// All warnings, a line each.
pub fn warnings(import: &Import) -> String {
    let line = |w: &super::Warning| format!("warning: line {}: {}\n", w.line, w.what);
    import.warnings.iter().map(line).collect()
}

/// One table as perf prints it; `-` stands for what the text did not have.
fn table_text(table: &Table) -> String {
    let mut text = format!("\nAnalyze events for {}:\n\n{:>NAME$}", table.title, table.event);
    let heads: &[(&str, usize)] = match table.unit {
        Unit::Us => &[
            ("Samples", 10),
            ("Samples%", 9),
            ("Time%", 9),
            ("Min Time", 11),
            ("Max Time", 11),
            ("Avg time", 16),
        ],
        Unit::Ns => &[
            ("Samples", 12),
            ("Sample%", 12),
            ("Time (ns)", 12),
            ("Time%", 12),
            ("Max Time (ns)", 14),
            ("Min Time (ns)", 14),
            ("Mean Time (ns)", 14),
        ],
    };
    for (head, width) in heads {
        let _ = write!(text, " {head:>width$}");
    }
    text += "\n\n";
    for row in &table.rows {
        text += &row_text(row, table.unit);
    }
    if table.cut {
        let _ = writeln!(text, "{:>NAME$}", "........");
    }
    if let Some(totals) = &table.totals {
        let (samples, time) = (totals.samples, totals.time);
        let _ = writeln!(text, "\nTotal Samples:{samples}, Total events handled time:{time}us.");
    }
    text + "\n\n"
}

fn row_text(row: &Row, unit: Unit) -> String {
    let (name, samples) = (&row.name, row.samples);
    let (of_samples, of_time) = (cell(row.samples_share, "%"), cell(row.time_share, "%"));
    let us = match unit {
        Unit::Us => "us",
        Unit::Ns => "",
    };
    let [time, min, max, mean] = [row.time, row.min, row.max, row.mean].map(|d| cell(d, us));
    match unit {
        Unit::Us => {
            let error = cell(row.error, "%");
            let error = match row.error {
                Some(_) => format!(" ( +-{:>8} )", error.replace('%', "% ").trim_end()),
                None => String::new(),
            };
            format!(
                "{name:>NAME$} {samples:>10} {of_samples:>9} {of_time:>9} {min:>11} {max:>11} \
                 {mean:>11}{error}\n"
            )
        }
        Unit::Ns => format!(
            "{name:>NAME$} {samples:>12} {of_samples:>12} {time:>12} {of_time:>12} {max:>14} \
             {min:>14} {mean:>14}\n"
        ),
    }
}

fn cell(figure: Option<Decimal>, unit: &str) -> String {
    figure.map_or_else(|| "-".into(), |figure| format!("{figure}{unit}"))
}

fn drawn_text(drawn: &Drawn) -> String {
    let mut text =
        format!("Table in line {}: {}\n\n{:>NAME$}", drawn.line, drawn.title, drawn.head);
    for column in &drawn.columns {
        let _ = write!(text, " | {column:>16}");
    }
    let _ = write!(text, "\n{:->NAME$}", "");
    for _ in &drawn.columns {
        text += "-|-----------------";
    }
    text.push('\n');
    for row in &drawn.rows {
        let _ = write!(text, "{:>NAME$}", row.name);
        for figure in &row.figures {
            let _ = write!(text, " | {figure:>16}");
        }
        text.push('\n');
    }
    text + "\n\n"
}
