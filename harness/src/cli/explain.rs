//! `trapline explain`.

use super::rules::host_tests;
use super::{Arguments, Status};
use std::io::Write;
use trapline::claims;
use trapline::explain::Library;
use trapline::rules::book;
use trapline::rules::junit::TestVerdicts;
use trapline::rules::report::Report;
use trapline::suite;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline explain HV-213\n  \
    trapline explain CLM-29\n  \
    trapline explain avic_incomplete_ipi\n  \
    trapline explain 0x830")]
pub struct Explain {
    /// A rule's or claim's id, an exit's name or code, an MSR's name or number; case, hyphens and
    /// underscores do not matter.
    #[arg(value_name = "RULE|CLAIM|EXIT|MSR", required = true)]
    terms: Vec<String>,
}

impl Explain {
    pub fn explain(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let root = arguments.root()?;
        let suites = suite::load(&[root.join("suites")], &arguments.images()?.catalogue()?)?;
        let scenarios: Vec<_> = suites.into_iter().flat_map(|suite| suite.scenarios).collect();
        let rules = book::load(&root.join("rules"))?;
        let tests = host_tests(&root)?;
        let report = Report::new(rules, &tests, &TestVerdicts::default(), &scenarios, None);
        let claims = claims::book::load(&root.join("claims"))?.claims;
        let library = Library { rules: &report, claims: &claims, scenarios: &scenarios };
        // All of them before any is printed: half an answer looks like a whole one.
        let entries: Result<Vec<_>, _> =
            self.terms.iter().map(|term| library.explain(term)).collect();
        out.write_all(entries?.join("\n").as_bytes())?;
        Ok(Status::Held)
    }
}
