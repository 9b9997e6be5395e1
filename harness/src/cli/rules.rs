//! `trapline rules`.

use super::workspace::matches;
use super::{Arguments, Format, Status};
use anyhow::ensure;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use trapline::result::{StoreError, last_path, read};
use trapline::rules::report::{Last, Report};
use trapline::rules::sources::HostTest;
use trapline::rules::{book, junit, sources, table};
use trapline::suite;

/// Where the tests of rules are.
const TESTED: &[&str] = &["hv-core", "guest-payloads"];
/// Where nextest's profile `ci` leaves its report, wherever cargo builds.
pub const JUNIT: &str = "target/nextest/ci/junit.xml";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline rules\n  \
    trapline rules AVIC-09\n  \
    trapline rules --uncovered")]
pub struct Rules {
    /// Only rules whose id contains one of these: `HV-`, `AVIC-09`.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// List only what neither a test nor a scenario exercises.
    #[arg(long)]
    uncovered: bool,
    /// What to print.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// A report of `cargo nextest run --profile ci` [default: the last one].
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// A result file [default: the last result].
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
}

/// The host tests of all crates whose tests are of rules.
pub fn host_tests(root: &Path) -> anyhow::Result<Vec<HostTest>> {
    let mut tests = Vec::new();
    for folder in TESTED.iter().filter(|folder| root.join(folder).is_dir()) {
        tests.extend(sources::tests(root, folder)?);
    }
    Ok(tests)
}

impl Rules {
    pub fn list(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let root = arguments.root()?;
        let rules = book::load(&root.join("rules"))?;
        let tests = host_tests(&root)?;
        let verdicts = match &self.junit {
            Some(path) => junit::read(path)?,
            None => junit::read_if_there(&root.join(JUNIT))?,
        };
        let suites = suite::load(&[root.join("suites")], &arguments.images()?.catalogue()?)?;
        let scenarios: Vec<_> = suites.into_iter().flat_map(|suite| suite.scenarios).collect();
        let result = match &self.result {
            Some(path) => Some(read(path)?),
            None => match read(&last_path(&root)) {
                Err(StoreError::Missing(_)) => None,
                result => Some(result?),
            },
        };
        let mut report = Report::new(rules, &tests, &verdicts, &scenarios, result.as_ref());
        let all = report.rules.len();
        let filters: Vec<_> = self.filters.iter().map(|f| f.to_ascii_uppercase()).collect();
        report.rules.retain(|rule| matches(&filters, &rule.rule.id));
        ensure!(!report.rules.is_empty(), "none of {all} rules matches `{}`", filters.join("`, `"));
        self.print(&report, out)?;
        Ok(status(&report))
    }

    fn print(&self, report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        let listed = report.rules.iter().filter(|rule| !self.uncovered || !rule.is_covered());
        match self.format {
            Format::Table => {
                for rule in listed {
                    out.write_all(table::line(rule).as_bytes())?;
                }
                out.write_all(table::summary(report).as_bytes())?;
            }
            Format::Json => {
                let value = json!({
                    "rules": listed.collect::<Vec<_>>(),
                    "families": report.families(),
                    "unknown": report.unknown,
                });
                writeln!(out, "{value:#}")?;
            }
        }
        Ok(())
    }
}

/// An id that is no rule makes every figure doubtful: that is worse than a failed test.
fn status(report: &Report) -> Status {
    match report.worst() {
        _ if !report.unknown.is_empty() => Status::CouldNotRun,
        Last::CouldNotRun => Status::CouldNotRun,
        Last::Fail => Status::Differed,
        Last::Pass | Last::NotRun => Status::Held,
    }
}
