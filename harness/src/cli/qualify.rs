//! `trapline qualify`.

mod inputs;

use super::progress::Bar;
use super::run::{Accelerator, boots_folder};
use super::{Arguments, Status, rules};
use anyhow::Context;
use clap::ValueEnum;
use inputs::Inputs;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;
use trapline::claims::judge::judge;
use trapline::qualify::folder::{self, Raw};
use trapline::qualify::traced::{self, File};
use trapline::qualify::{self, Parts, host, host_tests};
use trapline::result::save_last;
use trapline::rules::junit;
use trapline::rules::report::Report as Rules;
use trapline::run::{self, Outcome};
use trapline::suite::Scenario;
use trapline::target::{Accel, Boot, Qemu, Start, probe_kvm};
use trapline_report::model::{self, HostTests, Standing};
use trapline_report::waivers;

/// How a time is written: RFC 3339, in UTC, to the second.
const TIME: &str = "%Y-%m-%dT%H:%M:%SZ";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    trapline qualify --out qualification\n  \
    trapline qualify tpr self-ipi --out part\n\n\
    Exit codes: 0 qualified, with waivers or without; 1 not qualified; 2 something \
    could not be run, read or written, and then a former report is as it was.")]
pub struct Qualify {
    /// Only scenarios whose `suite::name` contains one of these. A part of the suite never qualifies.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// The report's folder: empty, missing, or with a former report, which is replaced.
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,
    /// What executes hv-core: tcg is exact and needs no hardware, kvm needs AMD with nested SVM.
    #[arg(long, value_enum, default_value = "tcg")]
    target: Accelerator,
    /// Run everything that often; every run must give the same.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// hv-core's own tests, which are evidence for the rules: run them, or take the last report.
    #[arg(long, value_enum, default_value = "run")]
    host_tests: Tests,
    /// Failures that are known and accepted [default: waivers.toml of the workspace, if it is there].
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tests {
    Run,
    Last,
}

impl Qualify {
    pub fn qualify(&self, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Status> {
        let (started, clock) = (Timestamp::now(), Instant::now());
        // What can be refused is refused before anything takes time.
        folder::is_free(&self.out)?;
        let inputs = Inputs::read(self, arguments, started)?;
        let qemu = Qemu::find()?;
        let dir = boots_folder(&inputs.root)?;
        if self.target.accel() == Accel::Kvm {
            probe_kvm(&qemu, &inputs.images.core, &dir.path().join("probe"))?;
        }
        let host_tests = self.host_tests(&inputs)?;
        let (outcome, dir) = self.run(&inputs, &qemu, dir)?;
        // Whatever becomes of the report, `show` and `bless` have what was measured.
        save_last(&inputs.root, &outcome.result)?;
        let raw = folder::raw(&outcome.boots);
        let run = model::Run {
            started: started.strftime(TIME).to_string(),
            duration_ms: clock.elapsed().as_millis() as u64,
            repeats: self.repeat,
            filters: self.filters.clone(),
            chosen: inputs.chosen.len() as u64,
            total: inputs.all.len() as u64,
            host_tests,
        };
        let mut report = self.report(&inputs, &run, &qemu, &outcome, &raw)?;
        waivers::apply(&inputs.waivers, &mut report)?;
        let traced = self.trace(&inputs, &qemu, dir.path(), &mut report)?;
        folder::write(&self.out, &report, &raw, &outcome.result.to_json(), &traced)?;
        drop(dir);
        say(out, &report, &self.out)?;
        Ok(match report.verdict.standing {
            Standing::NotQualified => Status::Differed,
            Standing::Qualified | Standing::QualifiedWithWaivers => Status::Held,
        })
    }

    fn host_tests(&self, inputs: &Inputs) -> anyhow::Result<HostTests> {
        if self.host_tests == Tests::Run {
            host_tests::run(&inputs.root, &inputs.tests)?;
            return Ok(HostTests::Run);
        }
        let report = inputs.root.join(rules::JUNIT);
        Ok(match report.metadata().and_then(|about| about.modified()) {
            Err(_) => HostTests::NotRun(format!("there is no {}", rules::JUNIT)),
            Ok(time) => {
                let time = Timestamp::try_from(time).context("a file's time")?;
                HostTests::Earlier(time.strftime(TIME).to_string())
            }
        })
    }

    /// Runs the chosen scenarios. The boots' folder is given back: their records are still needed.
    fn run(
        &self,
        inputs: &Inputs,
        qemu: &Qemu,
        dir: TempDir,
    ) -> anyhow::Result<(Outcome, TempDir)> {
        let golden = inputs.root.join("golden");
        let run = run::Run {
            qemu,
            accel: self.target.accel(),
            images: &inputs.images,
            catalogue: &inputs.catalogue,
            root: &inputs.root,
            golden: Some(&golden),
            dir: dir.path().into(),
            repeats: self.repeat,
            oracle: false,
        };
        let names = inputs.chosen.iter().map(|scenario| scenario.full_name()).collect();
        let bar = Bar::new(names, self.repeat);
        let outcome = run.run(&inputs.chosen, &mut |_, step| bar.step(step));
        bar.clear();
        match outcome {
            Ok(outcome) => Ok((outcome, dir)),
            Err(error) => {
                // The message says what is kept there.
                let _ = dir.keep();
                Err(error.into())
            }
        }
    }

    /// Runs what the claims are about once more, every trap told, for pictures and traces. It changes no
    /// verdict.
    fn trace(
        &self,
        inputs: &Inputs,
        qemu: &Qemu,
        dir: &Path,
        report: &mut model::Report,
    ) -> anyhow::Result<Vec<File>> {
        let claims = &inputs.claims.claims;
        let named: BTreeSet<_> = claims.iter().flat_map(|claim| claim.scenarios.values()).collect();
        let is_named = |scenario: &&Scenario| named.contains(&scenario.full_name());
        let scenarios: Vec<_> = inputs.chosen.iter().filter(is_named).cloned().collect();
        let traced: Vec<_> =
            scenarios.into_iter().map(|scenario| Scenario { trace: true, ..scenario }).collect();
        if traced.is_empty() {
            return Ok(Vec::new());
        }
        let run = run::Run {
            qemu,
            accel: self.target.accel(),
            images: &inputs.images,
            catalogue: &inputs.catalogue,
            root: &inputs.root,
            golden: None,
            dir: dir.join("traced"),
            repeats: 1,
            oracle: false,
        };
        let outcome = run.run(&traced, &mut |_, _| {})?;
        let tsc_khz = outcome.result.environment.tsc_khz();
        let mut files = Vec::new();
        for (scenario, events) in traced.iter().zip(&outcome.events) {
            let name = scenario.full_name();
            if let Some(of) = report.scenarios.iter_mut().find(|of| of.full_name() == name) {
                files.extend(traced::add(of, tsc_khz, events));
            }
        }
        Ok(files)
    }

    fn report(
        &self,
        inputs: &Inputs,
        run: &model::Run,
        qemu: &Qemu,
        outcome: &Outcome,
        raw: &[Raw],
    ) -> anyhow::Result<model::Report> {
        let result = &outcome.result;
        let verdicts = junit::read_if_there(&inputs.root.join(rules::JUNIT))?;
        let rules = inputs.rules.clone();
        let rules = Rules::new(rules, &inputs.tests, &verdicts, &inputs.all, Some(result));
        let judged: Vec<_> = inputs
            .claims
            .claims
            .iter()
            .map(|claim| judge(claim, &inputs.claims, Some(result)))
            .collect();
        let boot = Boot {
            qemu,
            core: &inputs.images.core,
            accel: self.target.accel(),
            start: Start::Qboot,
            cores: 1,
            oracle: false,
            dir: PathBuf::new(),
        };
        Ok(qualify::report(Parts {
            run,
            host: &host::look(Path::new("/")),
            arguments: &boot.arguments(),
            scenarios: &inputs.chosen,
            result,
            golden: &inputs.root.join("golden"),
            rules: &rules,
            claims: &judged,
            artifacts: &folder::links(raw),
        }))
    }
}

/// The verdict in a few lines, and where to read on.
fn say(out: &mut dyn Write, report: &model::Report, folder: &Path) -> std::io::Result<()> {
    let verdict = &report.verdict;
    writeln!(out, "{}", verdict.standing.words())?;
    for (head, lines) in
        [("", &verdict.reasons), ("waived: ", &verdict.waived), ("limit: ", &verdict.limits)]
    {
        for line in lines {
            writeln!(out, "  {head}{line}")?;
        }
    }
    writeln!(out, "{}", folder.join(folder::PAGE).display())
}
