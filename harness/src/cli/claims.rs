//! `trapline claims`.

use super::workspace::{Selection, matches};
use super::{Arguments, Format, Status, run};
use anyhow::{bail, ensure};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use trapline::claims::judge::{Judged, Standing, judge};
use trapline::claims::{book, table};
use trapline::result::read;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline claims\n  \
    trapline claims CLM-29\n  \
    trapline claims --result result.json")]
pub struct Claims {
    /// Only claims whose id contains one of these: `CLM-29`.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// What to print.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Judge by a result file instead of running the claims' scenarios.
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
}

impl Claims {
    pub fn judge(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let root = arguments.root()?;
        let mut book = book::load(&root.join("claims"))?;
        let mut claims = std::mem::take(&mut book.claims);
        let all = claims.len();
        let filters: Vec<_> = self.filters.iter().map(|f| f.to_ascii_uppercase()).collect();
        claims.retain(|claim| matches(&filters, &claim.id));
        ensure!(!claims.is_empty(), "none of {all} claims matches `{}`", filters.join("`, `"));
        let names: BTreeSet<_> =
            claims.iter().flat_map(|c| c.scenarios.values().cloned()).collect();
        self.known(arguments, &names)?;
        let result = match &self.result {
            Some(path) => Some(read(path)?),
            None if names.is_empty() => None,
            None => Some(run::measure(arguments, &names.into_iter().collect::<Vec<_>>())?),
        };
        let judged: Vec<_> =
            claims.iter().map(|claim| judge(claim, &book, result.as_ref())).collect();
        match self.format {
            Format::Table => {
                for claim in &judged {
                    out.write_all(table::entry(claim).as_bytes())?;
                }
                out.write_all(table::summary(&judged).as_bytes())?;
            }
            Format::Json => writeln!(out, "{:#}", json!({ "claims": judged }))?,
        }
        Ok(status(&judged))
    }

    /// A claim about a scenario that does not exist is a mistake, not a claim that was not run.
    fn known(&self, arguments: &Arguments, names: &BTreeSet<String>) -> anyhow::Result<()> {
        let catalogue = arguments.images()?.catalogue()?;
        let none = Selection { filters: Vec::new(), suites: Vec::new() };
        let suites = none.load(&arguments.root()?, &catalogue)?;
        let there: BTreeSet<_> =
            suites.iter().flat_map(|suite| &suite.scenarios).map(|s| s.full_name()).collect();
        match names.iter().find(|name| !there.contains(*name)) {
            Some(name) => bail!("a claim names the scenario {name}, which is in no suite"),
            None => Ok(()),
        }
    }
}

fn status(judged: &[Judged]) -> Status {
    match judged.iter().map(|claim| claim.standing).max() {
        Some(Standing::Fails) => Status::Differed,
        Some(Standing::NotRun) => Status::CouldNotRun,
        _ => Status::Held,
    }
}
