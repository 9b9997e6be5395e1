//! `trapline predict`.

use super::workspace::matches;
use super::{Arguments, Status};
use anyhow::ensure;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use trapline::claims::book;
use trapline::claims::cost::Costs;
use trapline::result::{last_path, read};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline predict self-ipi\n  \
    trapline predict --means")]
pub struct Predict {
    /// Only scenarios whose name contains one of these.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Print the machines' means instead.
    #[arg(long)]
    means: bool,
    /// A result file [default: the last result].
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
}

impl Predict {
    pub fn print(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let root = arguments.root()?;
        let costs = book::load(&root.join("claims"))?.costs;
        ensure!(!costs.is_empty(), "no [[cost]] in claims/ says what an exit takes");
        if self.means {
            means(&costs, out)?;
            return Ok(Status::Held);
        }
        let path = self.result.clone().unwrap_or_else(|| last_path(&root));
        let result = read(&path)?;
        let wanted = || {
            result.scenarios.iter().filter(|s| matches(&self.filters, &s.full_name())).filter_map(
                |scenario| {
                    let all: Option<Vec<_>> = costs.iter().map(|c| c.predict(scenario)).collect();
                    Some((scenario, all?))
                },
            )
        };
        ensure!(
            wanted().next().is_some(),
            "none of the result's scenarios was measured and matches `{}`",
            self.filters.join("`, `")
        );
        writeln!(
            out,
            "Predicted, not measured: counts times the means that each document prints."
        )?;
        heads(&costs, out)?;
        for (scenario, predictions) in wanted() {
            writeln!(out, "\n{}", scenario.full_name())?;
            for (letter, prediction) in ('A'..).zip(predictions) {
                writeln!(out, "  {letter}  {}", prediction.text())?;
            }
        }
        Ok(Status::Held)
    }
}

/// Which letter stands for which machine.
fn heads(costs: &[Costs], out: &mut dyn Write) -> std::io::Result<()> {
    for (letter, costs) in ('A'..).zip(costs) {
        writeln!(out, "  {letter}  {}: {}", costs.machine, costs.source)?;
    }
    Ok(())
}

/// The means in microseconds, and how many samples each is of.
fn means(costs: &[Costs], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "Means in us, of so many samples:")?;
    heads(costs, out)?;
    write!(out, "\n{:<22}", "exit")?;
    for (letter, _) in ('A'..).zip(costs) {
        write!(out, " {letter:>10} {:>9}", "samples")?;
    }
    writeln!(out)?;
    let exits: BTreeSet<_> = costs.iter().flat_map(|costs| costs.exits.keys()).collect();
    for exit in exits {
        write!(out, "{exit:<22}")?;
        for costs in costs {
            match costs.exits.get(exit) {
                Some(mean) => write!(out, " {:>10.2} {:>9}", mean.nanos() / 1000.0, mean.samples)?,
                None => write!(out, " {:>10} {:>9}", "-", "-")?,
            }
        }
        let sleeps = costs.iter().any(|costs| costs.asleep.contains(exit));
        writeln!(out, "{}", if sleeps { "  sleep in part: left out of predictions" } else { "" })?;
    }
    Ok(())
}
