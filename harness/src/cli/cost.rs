//! `trapline cost`.

use super::{Arguments, Status, run};
use anyhow::ensure;
use std::io::Write;
use trapline::cost;

#[derive(Debug, clap::Args)]
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
            "{:<12} {:>7} {:>7} {:>22}  limit",
            "op", "rounds", "exits", "instructions per round"
        )?;
        for cost in &costs {
            let limit = match (cost.limit, cost.holds()) {
                (None, _) => "-".into(),
                (Some(limit), true) => format!("{limit} kept"),
                (Some(limit), false) => format!("{limit} EXCEEDED"),
            };
            let (rounds, exits) = (cost.rounds, cost.exits);
            writeln!(out, "{:<12} {rounds:>7} {exits:>7} {:>22}  {limit}", cost.op, cost.ticks())?;
        }
        Ok(if costs.iter().all(cost::Cost::holds) { Status::Held } else { Status::Differed })
    }
}
