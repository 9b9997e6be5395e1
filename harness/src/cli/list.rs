//! `trapline list`.

use super::workspace::{Selection, matches};
use super::{Arguments, Status};
use std::io::Write;
use trapline::payload::{Kind, Payload};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline list\n  \
    trapline list avic\n  \
    trapline list --payloads")]
pub struct List {
    #[command(flatten)]
    selection: Selection,
    /// List the payloads and their parameters instead.
    #[arg(long)]
    payloads: bool,
}

impl List {
    pub fn list(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let catalogue = arguments.images()?.catalogue()?;
        if self.payloads {
            let chosen = |p: &&Payload| matches(&self.selection.filters, &p.name);
            for payload in catalogue.iter().filter(chosen) {
                self::payload(out, payload)?;
            }
            return Ok(Status::Held);
        }
        let suites = self.selection.load(&arguments.root()?, &catalogue)?;
        for suite in &suites {
            let chosen =
                |s: &&trapline::suite::Scenario| matches(&self.selection.filters, &s.full_name());
            for scenario in suite.scenarios.iter().filter(chosen) {
                let about = if scenario.about.is_empty() { &suite.about } else { &scenario.about };
                writeln!(out, "{:<44} {about}", scenario.full_name())?;
            }
        }
        Ok(Status::Held)
    }
}

fn payload(out: &mut dyn Write, payload: &Payload) -> std::io::Result<()> {
    writeln!(out, "{:<16} {}", payload.name, payload.about)?;
    for param in &payload.params {
        let values = match &param.kind {
            Kind::Number(default) => format!("number, {default} by default"),
            Kind::Choice(words, place) => {
                let default = words.get(*place).map_or("", String::as_str);
                format!("{}, {default} by default", words.join(" | "))
            }
        };
        writeln!(out, "    {:<12} {} ({values})", param.name, param.about)?;
    }
    Ok(())
}
