//! `trapline cost`.

use super::{Arguments, Status, run};
use anyhow::ensure;
use std::io::Write;
use trapline::cost;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline cost")]
pub struct Cost {}

impl Cost {
    pub fn run(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let result = run::measure(arguments, &[format!("{}::", cost::PAYLOAD)])?;
        let costs = cost::of(&result);
        ensure!(
            !costs.is_empty(),
            "no scenario of the payload `{}` could be measured",
            cost::PAYLOAD
        );
        writeln!(
            out,
            "{:<12} {:<8} {:>7} {:>7} {:>22}  limit",
            "op", "silicon", "rounds", "exits", "instructions per round"
        )?;
        for cost in &costs {
            let limit = match (cost.limit, cost.holds()) {
                (None, _) => "-".into(),
                (Some(limit), true) => format!("{limit} kept"),
                (Some(limit), false) => format!("{limit} EXCEEDED"),
            };
            let (rounds, exits) = (cost.rounds, cost.exits);
            let (op, silicon) = (&cost.op, &cost.silicon);
            let ticks = cost.ticks();
            writeln!(out, "{op:<12} {silicon:<8} {rounds:>7} {exits:>7} {ticks:>22}  {limit}")?;
        }
        Ok(if costs.iter().all(cost::Cost::holds) { Status::Held } else { Status::Differed })
    }
}
