//! `trapline show`, and how `trapline run` prints.

use super::workspace::matches;
use super::{Arguments, Format, Status};
use std::io::{self, Write};
use std::path::PathBuf;
use trapline::result::{RunResult, ScenarioResult, last_path, read};
use trapline::table;
use trapline::verdict::Verdict;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline show\n  \
    trapline show --tables\n  \
    trapline show self-ipi --result result.json\n  \
    trapline show --format json")]
pub struct Show {
    /// Only scenarios whose `suite::name` contains one of these.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// A result file [default: the last result].
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Print the tables of every scenario, not only of failed or single ones.
    #[arg(long)]
    tables: bool,
}

impl Show {
    pub fn show(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let path = match &self.result {
            Some(path) => path.clone(),
            None => last_path(&arguments.root()?),
        };
        let mut result = read(&path)?;
        let all = result.scenarios.len();
        result.scenarios.retain(|s| matches(&self.filters, &s.full_name()));
        if result.scenarios.is_empty() && all > 0 {
            let filters = self.filters.join("`, `");
            anyhow::bail!("none of the result's {all} scenarios matches `{filters}`");
        }
        match self.format {
            Format::Json => out.write_all(result.to_json().as_bytes())?,
            Format::Table => {
                let scenarios: Vec<_> = result.scenarios.iter().collect();
                table(out, &result, &scenarios, self.tables, None)?;
            }
        }
        Ok(Status::Held)
    }
}

/// A line per scenario, the tables that are wanted, and the summary.
pub fn table(
    out: &mut dyn Write,
    result: &RunResult,
    scenarios: &[&ScenarioResult],
    tables: bool,
    seconds: Option<f64>,
) -> io::Result<()> {
    let width = scenarios.iter().map(|s| s.full_name().len()).max().unwrap_or_default();
    for scenario in scenarios {
        out.write_all(table::line(scenario, width).as_bytes())?;
        let wanted = tables || scenarios.len() == 1 || scenario.judgement.verdict != Verdict::Pass;
        if let Some(measured) = scenario.measured.as_ref().filter(|_| wanted) {
            let name = scenario.full_name();
            writeln!(out, "     silicon {}; policy {}", scenario.silicon, scenario.policy)?;
            let text = table::tables(&name, measured, result.environment.tsc_khz());
            out.write_all(text.as_bytes())?;
        }
    }
    out.write_all(table::summary(result, seconds).as_bytes())
}
